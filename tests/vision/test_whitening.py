import numpy as np
import pytest
import torch

from curriculum_labeling.vision import whitening
from curriculum_labeling.vision.augment import augment
from curriculum_labeling.vision.recipe import build_recipe
from curriculum_labeling.vision.whitening import fit_standardization, fit_whitening, preprocessing_of
from tests.vision.pictures import pictures

torch.set_num_threads(1)


def test_standardized_channels_have_mean_0_and_deviation_1():
    batch = pictures(100, 3, 8, 8)
    standardized = fit_standardization(batch.numpy(), np.arange(100))(batch)
    assert torch.allclose(standardized.mean(dim=(0, 2, 3)), torch.zeros(3), atol=1e-5)
    assert torch.allclose(standardized.std(dim=(0, 2, 3), correction=0), torch.ones(3), atol=1e-4)


def test_a_constant_channel_becomes_zero():
    batch = torch.full((4, 1, 8, 8), 9, dtype=torch.uint8)
    assert torch.allclose(fit_standardization(batch, np.arange(4))(batch), torch.zeros(4, 1, 8, 8), atol=1e-6)


def test_filling_with_the_mean_color_is_filling_with_zeros():
    batch = pictures(50, 3, 16, 16)
    standardization = fit_standardization(batch, np.arange(50))
    recipe = build_recipe("heavy", steps=0, border="fill", fill=standardization.fill, cutout=32)
    blank = standardization(augment(batch[:1], torch.tensor([3]), recipe, key=0))
    assert blank.abs().max() < 0.51 / 255 / standardization.deviation.min()


def test_whitened_pixels_are_uncorrelated():
    batch = pictures(3000, 1, 8, 8)
    whitened = fit_whitening(batch, np.arange(3000), epsilon=1e-7)(batch).flatten(1).double()
    assert torch.allclose(torch.cov(whitened.T), torch.eye(64, dtype=torch.float64), atol=0.02)


def test_whitening_is_the_inverse_square_root_of_the_covariance():
    batch = pictures(500, 3, 8, 8)
    found = fit_whitening(batch, np.arange(500), epsilon=0.1)
    pixels = batch.flatten(1).double() / 255
    covariance = torch.cov(pixels.T, correction=0) + 0.1 * torch.eye(192, dtype=torch.float64)
    product = found.matrix.double() @ covariance @ found.matrix.double()
    assert torch.allclose(product, torch.eye(192, dtype=torch.float64), atol=1e-4)
    assert torch.allclose(found.matrix, found.matrix.T, atol=1e-6)
    expected = (pixels - pixels.mean(dim=0)) @ found.matrix.double()
    assert torch.allclose(found(batch).flatten(1).double(), expected, atol=1e-4)


def test_chunks_and_rows_do_not_change_the_fit(monkeypatch):
    batch = pictures(60, 3, 8, 8)
    whole = fit_whitening(batch[::2].numpy(), np.arange(30)), fit_standardization(batch[::2], np.arange(30))
    monkeypatch.setattr(whitening, "CHUNK", 7)
    rows = np.arange(0, 60, 2)
    parts = fit_whitening(batch.numpy(), rows), fit_standardization(batch.numpy(), rows)
    for one, other in zip(whole, parts, strict=True):
        for name, tensor in one.tensors().items():
            assert torch.allclose(tensor, other.tensors()[name], atol=1e-5)


def test_saved_tensors_come_back_as_the_same_preprocessing():
    batch = pictures(40, 1, 8, 8)
    for fitted in (fit_whitening(batch, np.arange(40)), fit_standardization(batch, np.arange(40))):
        again = preprocessing_of(fitted.tensors())
        assert type(again) is type(fitted)
        assert torch.equal(again(batch), fitted(batch))


def test_faults_are_named():
    batch = pictures(4, 1, 8, 8)
    with pytest.raises(ValueError, match=r"epsilon must be above 0, got 0"):
        fit_whitening(batch, np.arange(4), epsilon=0)
    with pytest.raises(ValueError, match=r"rows must name at least one training row"):
        fit_standardization(batch, np.arange(0))
    with pytest.raises(ValueError, match=r"images must be uint8 of shape \(N, C, H, W\), got torch.float32"):
        fit_standardization(batch.float(), np.arange(4))
    with pytest.raises(ValueError, match=r"images must have 64 values as when fitted, got 256"):
        fit_whitening(batch, np.arange(4))(pictures(1, 1, 16, 16))
    with pytest.raises(ValueError, match=r"as mean and deviation, or as mean and matrix, got \['mean'\]"):
        preprocessing_of({"mean": torch.zeros(1)})
