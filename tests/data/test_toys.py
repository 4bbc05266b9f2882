import numpy as np

from curriculum_labeling.data.toys import digits_images


def test_digits_are_small_grey_images_that_must_not_be_mirrored():
    images = digits_images()
    assert images.pixels.shape == (1797, 16, 16, 3)
    assert images.pixels.dtype == np.uint8
    assert images.pixels.max() == 255
    assert (images.pixels[..., 0] == images.pixels[..., 2]).all()
    assert (images.pixels[:, ::2, ::2] == images.pixels[:, 1::2, 1::2]).all()
    assert np.bincount(images.labels).min() > 170
    assert not images.flippable
