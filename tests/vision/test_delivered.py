from dataclasses import replace

import numpy as np
import pytest
import torch

from curriculum_labeling.vision.delivered import network_name
from tests.vision.deliveries import CLASSES, network, own_probe, pixels
from tests.vision.small import with_norm


@pytest.mark.parametrize("model", [network(), network(flip=True), own_probe()], ids=["network", "flip", "probe"])
def test_probabilities_are_the_softmax_of_logits_over_the_temperature(model):
    images = pixels(70)
    logits = model.logits(images)
    assert (logits.shape, logits.dtype) == ((70, 3), np.float64)
    wanted = torch.from_numpy(logits / model.temperature).softmax(dim=1).numpy()
    assert np.allclose(model.probabilities(images), wanted)
    assert model.probabilities(images[:0]).shape == (0, 3)


def test_a_flipped_model_sees_no_difference_between_an_image_and_its_mirror_image():
    model, images = network(flip=True), pixels()
    assert np.allclose(model.logits(images), model.logits(images[:, :, ::-1]))
    assert not np.allclose(network().logits(images), network().logits(images[:, :, ::-1]))


def test_a_probe_is_linear_in_standardized_features():
    model, images = own_probe(), pixels()
    part = model.part
    features = part.backbone.embed(images)
    assert np.allclose(model.logits(images), (features - part.mean) / part.scale @ part.weight.T + part.bias)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"classes": ("a",)}, r"classes must be two or more names, got \('a',\)"),
        ({"classes": ("a", 1)}, r"classes must be two or more names, got \('a', 1\)"),
        ({"classes": ("a", "b", "a")}, r"classes must be different names, got 'a' more than once"),
        ({"classes": ("a", "b", "\ud800")}, r"classes must be names that can be written as text"),
        ({"classes": ("a", "b")}, r"bias must have one entry per class, got 3 for 2"),
        ({"temperature": 0.0}, r"temperature must be a finite number above 0, got 0"),
        ({"temperature": float("nan")}, r"temperature must be a finite number above 0, got nan"),
        ({"resolution": 9}, r"resolution must be the backbone's, 8, got 9 pixels"),
        ({"resolution": 0}, r"resolution must be from 1 to 4096 pixels, got 0"),
    ],
)
def test_a_model_that_does_not_fit_together_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(own_probe(), **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weight": np.zeros((3, 4))}, r"weight must be float64 of shape \(3, 5\), got float64 of shape \(3, 4\)"),
        ({"mean": np.zeros(5, np.float32)}, r"mean must be float64 of shape \(5,\), got float32"),
        ({"bias": np.full(3, np.nan)}, r"bias must be finite, got NaN or infinity"),
        ({"scale": np.zeros(5)}, r"scale must be above 0, got 0"),
    ],
)
def test_a_probe_that_does_not_fit_its_backbone_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(own_probe().part, **changes)


def test_images_of_another_size_are_refused():
    with pytest.raises(ValueError, match=r"pixels must be uint8 of shape \(n, 8, 8, 3\), got uint8 of shape"):
        network().logits(pixels(size=9))


def test_a_network_of_too_few_classes_is_found_out():
    with pytest.raises(ValueError, match=r"the model must give 4 logits per image, got 3"):
        replace(network(), classes=(*CLASSES, "d")).logits(pixels())


def test_weights_that_are_no_numbers_are_found_out():
    model = network()
    model.part.network.linear.bias.data[0] = float("inf")
    with pytest.raises(ValueError, match=r"the model must give finite logits, got NaN or infinity"):
        model.logits(pixels())


def test_networks_are_named_by_what_makes_them():
    assert network_name("wrn-28-2") == "wrn-28-2"
    assert network_name(with_norm) == "tests.vision.small:with_norm"
