import pytest
import torch
from torch import nn

from curriculum_labeling.vision.learner import ImageLearner
from curriculum_labeling.vision.optimizers import ITERATIONS, QUINTIC, build_optimizer, orthogonal, parameter_groups
from curriculum_labeling.vision.schedule import Budget
from tests.vision.small import colors, labels_of, same_weights, settings

SGD_PART = {"momentum": 0.9, "nesterov": True, "fused": False}


@pytest.mark.parametrize("shape", [(8, 72), (72, 8), (16, 16), (1, 9)])
def test_a_step_is_about_orthogonal(shape):
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    found = orthogonal(matrix)
    values = torch.linalg.svdvals(found)
    assert found.shape == matrix.shape
    assert float(values.min()) > 0.1
    assert float(values.max()) < 1.3
    assert float(values.max() / values.min()) < float(torch.linalg.cond(matrix)) + 0.1
    left, _, right = torch.linalg.svd(matrix, full_matrices=False)
    turned = torch.diagonal(left.T @ found @ right.T)
    assert float(turned.min()) > 0  # the directions are those of the gradient


def test_no_gradient_moves_nothing():
    assert not orthogonal(torch.zeros(4, 9)).any()


def moved(name, network, steps=3):
    groups = parameter_groups(network, 0.01, norms_and_biases=True)
    optimizer = build_optimizer(name, groups, momentum=0.9, nesterov=True, fused=False)
    for group in optimizer.param_groups:
        group["lr"] = 0.1
    inputs = torch.linspace(-1, 1, 20).view(4, 5)
    for _ in range(steps):
        optimizer.zero_grad()
        network(inputs).square().sum().backward()
        optimizer.step()
    return [parameter.detach() for parameter in network.parameters()]


def test_parameters_that_are_no_convolutions_have_sgd():
    def linear():
        torch.manual_seed(0)
        return nn.Linear(5, 3)

    for one, other in zip(moved("muon", linear()), moved("sgd", linear()), strict=True):
        torch.testing.assert_close(one, other)


def test_the_length_of_a_gradient_does_not_matter_to_a_convolution():
    def run(factor):
        torch.manual_seed(0)
        convolution = nn.Conv2d(2, 4, 3, bias=False)
        groups = parameter_groups(convolution, 0.0, norms_and_biases=True)
        optimizer = build_optimizer("muon", groups, momentum=0.9, nesterov=True, fused=False)
        optimizer.param_groups[0]["lr"] = 0.2
        images = torch.linspace(-1, 1, 2 * 36).view(1, 2, 6, 6)
        (factor * convolution(images).square().sum()).backward()
        optimizer.step()
        return convolution.weight.detach()

    torch.testing.assert_close(run(1.0), run(100.0))


def test_muon_learns_and_resumes_to_the_bit(tmp_path):
    images = colors()
    config = settings(optimizer="muon", learning_rate=0.2, budget=Budget(epochs=6))
    labels = labels_of(images, range(0, 60, 2))
    whole = ImageLearner(images, config).fit(labels, seed=0)
    rows = labels_of(images, range(1, 60, 2)).rows
    assert (whole.score(rows).classes == images.labels[rows]).mean() > 0.8
    asked = iter([False] * 5 + [True] + [False] * 100)
    with pytest.raises(KeyboardInterrupt):
        ImageLearner(images, config, checkpoints=tmp_path, stop=lambda: next(asked)).fit(labels, seed=0)
    resumed = ImageLearner(images, config, checkpoints=tmp_path).fit(labels, seed=0)
    assert same_weights(whole.state_dict(), resumed.state_dict())


@pytest.mark.parametrize("shape", [(8, 72), (72, 8), (16, 16)])
def test_products_of_small_squares_equal_the_iteration_as_it_is_written(shape):
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    a, b, c = QUINTIC
    x = matrix / matrix.norm()
    for _ in range(ITERATIONS):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    torch.testing.assert_close(orthogonal(matrix), x, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("decay", "longer"), [(0.0, True), (5e-4, False)])
def test_weight_decay_keeps_convolutions_from_growing(decay, longer):
    torch.manual_seed(0)
    convolution = nn.Conv2d(2, 4, 3, bias=False)
    optimizer = build_optimizer("muon", [{"params": [convolution.weight], "weight_decay": decay}], **SGD_PART)
    optimizer.param_groups[0]["lr"] = 0.1
    for _ in range(3000):
        convolution.weight.grad = torch.randn(convolution.weight.shape)
        optimizer.step()
    # Random steps of length 0.05 √4 add up to 0.1 √3000 = 5.5; against decay they end near √4.
    assert (float(convolution.weight.detach().norm()) > 4) == longer


def test_directions_in_bf16_are_nearly_those_in_fp32():
    weights = {}
    for bf16 in (False, True):
        torch.manual_seed(0)
        weight = torch.nn.Parameter(torch.zeros(16, 8, 3, 3))
        optimizer = build_optimizer("muon", [{"params": [weight], "weight_decay": 0.0}], **SGD_PART, bf16=bf16)
        optimizer.param_groups[0]["lr"] = 1.0
        weight.grad = torch.randn_like(weight)
        optimizer.step()
        weights[bf16] = weight.detach()
    apart = (weights[True] - weights[False]).norm() / weights[False].norm()
    assert weights[True].dtype is torch.float32
    assert 0 < apart < 0.05
