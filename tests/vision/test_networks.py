import pytest
import torch
from torch import nn

from curriculum_labeling.vision.networks import CNN13, build_network

torch.set_num_threads(1)


def parameters(network):
    return sum(weights.numel() for weights in network.parameters())


@pytest.mark.parametrize(
    ("name", "classes", "count"),
    [
        ("wrn-28-2", 10, 1_467_610),
        ("wrn-16-4", 10, 2_748_890),
        ("wrn-28-10", 10, 36_479_194),
        ("cnn-13", 10, 3_121_802),
        ("resnet-18", 1000, 11_689_512),
        ("resnet-50", 1000, 25_557_032),
        ("compact", 10, 295_082),
        ("compact-16", 10, 76_266),
    ],
)
def test_networks_have_as_many_parameters_as_published(name, classes, count):
    with torch.device("meta"):
        assert parameters(build_network(name, classes)) == count


@pytest.mark.parametrize(
    ("name", "size"),
    [("wrn-10-1", 16), ("wrn-28-2", 32), ("cnn-13", 12), ("resnet-18", 64), ("resnet-50", 64), ("compact", 8)],
)
@pytest.mark.parametrize("channels", [1, 3])
def test_every_parameter_gets_a_gradient(name, size, channels):
    network = build_network(name, 7, channels, size).to(memory_format=torch.channels_last)
    logits = network(torch.randn(2, channels, size, size).to(memory_format=torch.channels_last))
    assert logits.shape == (2, 7)
    logits.square().sum().backward()
    frozen = {"whitening.weight"} if name == "compact" else set()
    assert {part for part, weights in network.named_parameters() if not weights.requires_grad} == frozen
    for part, weights in network.named_parameters():
        if part in frozen:
            continue
        assert weights.grad is not None, part
        assert weights.grad.isfinite().all(), part
        assert weights.grad.abs().sum() > 0, part


@pytest.mark.parametrize("size", [8, 9, 13, 28, 40])
def test_the_compact_network_takes_any_size_from_8_pixels(size):
    assert build_network("compact", 3, 1, size).eval()(torch.randn(2, 1, size, size + 3)).shape == (2, 3)


@pytest.mark.parametrize("channels", [1, 2, 3])
def test_the_compact_network_begins_by_whitening_patches(channels):
    network = build_network("compact", 3, channels, 16)
    # Neighboring pixels and channels go together, as in photographs.
    noise = torch.randn(400, 1, 17, 17, generator=torch.Generator().manual_seed(0))
    images = (noise + noise.roll(1, 2) + noise.roll(1, 3)).expand(-1, channels, -1, -1)
    images = images + torch.randn(images.shape, generator=torch.Generator().manual_seed(1))
    network.adapt(images)
    filters = network.whitening.weight.flatten(1)
    half = len(filters) // 2
    assert torch.equal(filters[:half], -filters[half:])
    directions = network.whitening(images)[:, :half].detach().transpose(0, 1).flatten(1)
    torch.testing.assert_close(directions @ directions.T / directions.shape[1], torch.eye(half), atol=5e-3, rtol=0)
    before = filters.clone()
    network.adapt(torch.cat([images[200:], images[:200]]))
    assert torch.equal(network.whitening.weight.flatten(1), before)


def test_the_compact_network_adapts_to_images_without_any_variance():
    network = build_network("compact", 3)
    network.adapt(torch.zeros(2, 3, 32, 32))
    assert network.whitening.weight.isfinite().all()
    assert network.eval()(torch.zeros(2, 3, 32, 32)).isfinite().all()


def test_resnet_18_speaks_torchvisions_names():
    names = set(build_network("resnet-18", 1000).state_dict())
    assert len(names) == 122
    assert {"conv1.weight", "bn1.running_mean", "layer1.1.conv2.weight", "fc.bias"} <= names
    assert {"layer2.0.downsample.0.weight", "layer2.0.downsample.1.num_batches_tracked"} <= names


def test_resnet_50_speaks_torchvisions_names_and_has_its_stride_in_the_middle():
    network = build_network("resnet-50", 1000)
    names = set(network.state_dict())
    assert len(names) == 320
    assert {"layer1.0.downsample.0.weight", "layer3.5.conv3.weight", "layer4.2.bn3.running_var", "fc.weight"} <= names
    assert network.layer2[0].conv2.stride == (2, 2)
    assert network.layer2[0].conv1.stride == (1, 1)


def test_the_same_seed_gives_the_same_weights_and_another_seed_others():
    first, second, other = (build_network("wrn-10-1", 4, seed=seed).state_dict() for seed in (5, 5, 6))
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["conv.weight"], other["conv.weight"])


def test_building_leaves_the_global_generator_alone():
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    build_network("compact", 4, seed=9)
    assert torch.equal(torch.rand(2), expected)


def test_the_global_generator_does_not_change_the_weights():
    first = build_network("compact", 4, seed=9)
    torch.rand(1)
    second = build_network("compact", 4, seed=9)
    assert torch.equal(first.linear.weight, second.linear.weight)


class Own(nn.Module):
    def __init__(self, classes, channels=1):
        super().__init__()
        self.linear = nn.Linear(channels, classes)


def own_with_keywords(**options):
    return nn.Linear(4, options["num_classes"])


@pytest.mark.parametrize(
    "factory",
    [
        Own,
        lambda classes: nn.Linear(3, classes),
        lambda num_classes: nn.Linear(3, num_classes),
        lambda how_many: nn.Linear(3, how_many),
        lambda: nn.Linear(3, 5),
        own_with_keywords,
    ],
)
def test_any_function_that_makes_a_module_is_a_network(factory):
    network = build_network(factory, 5, 2, seed=1)
    assert next(reversed(list(network.parameters()))).shape == (5,)
    again = build_network(factory, 5, 2, seed=1)
    assert all(torch.equal(a, b) for a, b in zip(network.parameters(), again.parameters(), strict=True))


def test_a_users_network_learns_channels_and_image_size():
    network = build_network(lambda classes, channels, image_size: nn.Linear(channels * image_size**2, classes), 5, 1, 9)
    assert network.weight.shape == (5, 81)


@pytest.mark.parametrize(
    ("name", "hint"),
    [("wrn28-2", "Did you mean 'wrn-28-2'"), ("ResNet_18", "Did you mean 'resnet-18'"), ("compakt", "'compact'")],
)
def test_a_misspelled_network_is_guessed(name, hint):
    with pytest.raises(ValueError, match=rf"network must be one of .* got '{name}'.*{hint}"):
        build_network(name, 10)


def test_an_unknown_network_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"one of cnn-13, resnet-18, resnet-50, compact, wrn-28-2 .* got 'zzz'\.$"):
        build_network("zzz", 10)


def test_faulty_requests_say_what_to_do():
    with pytest.raises(ValueError, match=r"depth must be 6 n \+ 4 .* got WRN-27-2; the paper uses WRN-28-2"):
        build_network("wrn-27-2", 10)
    with pytest.raises(ValueError, match=r"classes must be 2 or more, got 1"):
        build_network("compact", 1)
    with pytest.raises(ValueError, match=r"channels must be 1 or more, got 0"):
        build_network("compact", 2, 0)
    with pytest.raises(ValueError, match=r"image_size must be at least 12 pixels for 'cnn-13', got 8"):
        build_network("cnn-13", 2, image_size=8)
    with pytest.raises(ValueError, match=r"dropout must be at least 0 and below 1, got 1"):
        CNN13(10, dropout=1)
    with pytest.raises(TypeError, match=r"got Linear; wrap a module as `lambda: ...`, so that every round"):
        build_network(nn.Linear(2, 2), 2)
    with pytest.raises(TypeError, match=r"a function that returns a torch.nn.Module, got one that returns 3"):
        build_network(lambda: 3, 2)


@pytest.mark.parametrize("name", ["compact-513", "compact-7000", "wrn-28-65", "wrn-1006-2"])
def test_a_network_that_no_memory_could_hold_is_refused(name):
    with pytest.raises(ValueError, match=rf"network must be .* with at most .*, got '{name}'"):
        build_network(name, 10)
