import numpy as np
import pytest
from scipy.io import savemat

from curriculum_labeling.data.svhn import load


def publish(folder, part, labels, **other):
    """A .mat file as published: X of shape 32×32×3×N, y of shape N×1 with 10 for the digit 0."""
    pixels = np.random.default_rng(0).integers(0, 256, (32, 32, 3, len(labels)), dtype=np.uint8)
    content = {"X": pixels, "y": np.array(labels, np.uint8)[:, None], **other}
    savemat(folder / f"{part}_32x32.mat", content, do_compression=True)
    return pixels


@pytest.mark.parametrize("part", ["train", "test", "extra"])
def test_published_files_are_read_and_ten_means_zero(tmp_path, part):
    pixels = publish(tmp_path, part, [1, 9, 10, 2])
    images = load(tmp_path, part=part)
    assert images.labels.tolist() == [1, 9, 0, 2]
    assert images.classes[0] == "0"
    assert images.pixels.shape == (4, 32, 32, 3)
    assert (images.pixels[2] == pixels[..., 2]).all()
    assert images.pixels.flags.c_contiguous
    assert not images.flippable


def test_files_that_are_missing_or_damaged_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"folder must hold train_32x32\.mat of SVHN, got .*fetch_svhn gets it"):
        load(tmp_path)
    (tmp_path / "train_32x32.mat").write_bytes(b"no matrix" * 40)
    with pytest.raises(ValueError, match=r"cannot be read as a MATLAB file"):
        load(tmp_path)
    publish(tmp_path, "train", [1, 0])
    with pytest.raises(ValueError, match=r"must hold one class from 1 to 10 per image"):
        load(tmp_path)
    publish(tmp_path, "train", [1], X=np.zeros((4, 32, 32, 3), np.uint8))
    with pytest.raises(ValueError, match=r"must hold X of shape 32×32×3×N and y"):
        load(tmp_path)
    with pytest.raises(ValueError, match=r'part must be "train", "test" or "extra", got .val.'):
        load(tmp_path, part="val")
