"""Small data sets in exactly the layouts they are published in, and a scale at which a cell takes a second."""

from dataclasses import replace

import numpy as np
from PIL import Image
from scipy.io import savemat

from curriculum_labeling.experiments.comparisons import CL
from curriculum_labeling.experiments.scales import Scale
from tests.vision.small import with_norm

TINY = Scale(
    "tiny",
    seeds=2,
    network=with_norm,
    fewer_labels=100,
    validation=1,
    unlabeled=24,
    test=16,
    classes=2,
    resolution=16,
    batches=(8, 16),
    passes=48,
)
# Without ZCA, whose 3,072 dimensions take longer than everything else.
PLAIN = replace(CL, whitening=False)
WNIDS = ("n01440764", "n01443537", "n02110341")


def pictures(labels, seed=0, side=32):
    """Noise around one color per class."""
    rng = np.random.default_rng(seed)
    colors = np.random.default_rng(99).integers(40, 216, (10, 3))[labels]
    noise = rng.normal(scale=25, size=(len(labels), side, side, 3))
    return (colors[:, None, None] + noise).clip(0, 255).astype(np.uint8)


def write_cifar10(folder, per_batch=30):
    """cifar-10-batches-bin: a label byte, then planes of red, green and blue."""
    target = folder / "cifar-10-batches-bin"
    target.mkdir(parents=True)
    for number, name in enumerate((*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")):
        labels = np.arange(per_batch) % 10
        planes = pictures(labels, number).transpose(0, 3, 1, 2).reshape(per_batch, -1)
        rows = np.concatenate([labels.astype(np.uint8)[:, None], planes], axis=1)
        (target / f"{name}.bin").write_bytes(rows.tobytes())
    return folder


def write_svhn(folder, rows=60):
    """train_32x32.mat and test_32x32.mat: X of 32×32×3×N, y of N×1 with 10 for the digit 0."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, part in enumerate(("train", "test")):
        labels = np.arange(rows) % 10
        y = np.where(labels == 0, 10, labels).astype(np.uint8)[:, None]
        content = {"X": pictures(labels, number).transpose(1, 2, 3, 0), "y": y}
        savemat(folder / f"{part}_32x32.mat", content, do_compression=True)
    return folder


def write_imagenet(folder, training=8, validation=4):
    """train/<wnid>/*.JPEG and val/<wnid>/*.JPEG, of uneven sizes."""
    for part, count in (("train", training), ("val", validation)):
        for c, wnid in enumerate(WNIDS):
            (folder / part / wnid).mkdir(parents=True)
            for i, pixels in enumerate(pictures(np.full(count, c), seed=c, side=40)):
                Image.fromarray(pixels[:, : 30 + i]).save(folder / part / wnid / f"{wnid}_{i}.JPEG")
    return folder
