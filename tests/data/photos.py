"""Small image files for the tests."""

import numpy as np
from PIL import Image


def scene(width=40, height=30, seed=0):
    """A smooth color image without symmetry, so that every turn of it looks different."""
    coarse = np.random.default_rng(seed).integers(0, 256, (5, 6, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)


def save_scenes(folder, count, *, suffix=".jpg", seed=0):
    """Files 000.jpg, 001.jpg, … of varying size; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{i:03d}{suffix}" for i in range(count)]
    for i, path in enumerate(paths):
        scene(24 + i % 7, 20 + i % 5, seed + i).save(path)
    return [str(path) for path in paths]
