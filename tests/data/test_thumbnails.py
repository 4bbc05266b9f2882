import numpy as np
import pytest

from curriculum_labeling.data import thumbnails
from curriculum_labeling.data.thumbnails import area_weights, take_thumbnails


@pytest.mark.parametrize(("source", "target"), [(32, 16), (33, 16), (16, 16), (7, 3), (1, 1)])
def test_area_weights_average_every_pixel_equally(source, target):
    weights = area_weights(source, target)
    assert weights.sum(axis=1) == pytest.approx(np.ones(target), abs=1e-5)
    assert weights.sum(axis=0) == pytest.approx(np.full(source, target / source), abs=1e-5)


def test_a_thumbnail_is_the_mean_of_its_areas():
    pixels = np.random.default_rng(0).integers(0, 256, (3, 32, 48, 1), dtype=np.uint8)
    expected = pixels[..., 0].reshape(3, 16, 2, 16, 3).mean(axis=(2, 4))
    found = take_thumbnails(pixels)
    assert found.luma.astype(float) == pytest.approx(expected, abs=0.1)
    assert np.abs(found.chroma).max() < 0.1


def test_thumbnails_do_not_depend_on_the_chunks(monkeypatch):
    pixels = np.random.default_rng(0).integers(0, 256, (9, 20, 20, 3), dtype=np.uint8)
    whole = take_thumbnails(pixels)
    monkeypatch.setattr(thumbnails, "CHUNK_BYTES", 2 * pixels[0].nbytes)
    parts = take_thumbnails(pixels)
    assert parts.luma == pytest.approx(whole.luma, abs=0.13)
    assert parts.chroma == pytest.approx(whole.chroma, abs=0.13)
