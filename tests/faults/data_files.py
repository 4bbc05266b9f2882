"""Small real files of data, and how they are read: data sets, images, manifests, options."""

import contextlib
import gzip
import io
import pickle
import tarfile
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.io import savemat

from curriculum_labeling import cli
from curriculum_labeling.data import cifar10, imagenet, manifests, svhn
from curriculum_labeling.data.decode import decode
from curriculum_labeling.data.sizes import read_sizes
from curriculum_labeling.runs.sources import apply_corrections
from tests.data.photos import save_scenes, scene
from tests.experiments.layouts import WNIDS, pictures

POLICY = [[["Posterize", 0.4, 8], ["Rotate", 0.6, 9]], [["ShearX", 0.9, 4], ["AutoContrast", 0.8, None]]]


# CIFAR-10


def batch_rows(rows=6):
    labels = np.arange(rows) % 10
    return pictures(labels).transpose(0, 3, 1, 2).reshape(rows, -1), labels


def binary_batch():
    planes, labels = batch_rows()
    return np.concatenate([labels.astype(np.uint8)[:, None], planes], axis=1).tobytes()


def pickled_batch(protocol=2):
    planes, labels = batch_rows()
    content = {b"batch_label": b"testing", b"data": planes, b"labels": labels.tolist(), b"filenames": [b"a.png"] * 6}
    return pickle.dumps(content, protocol=protocol)


def archived_batch():
    inside = io.BytesIO()
    with tarfile.open(fileobj=inside, mode="w") as archive:
        info = tarfile.TarInfo("cifar-10-batches-bin/test_batch.bin")
        info.size = len(binary_batch())
        archive.addfile(info, io.BytesIO(binary_batch()))
    return inside.getvalue()


def read_archive(folder: Path):
    """The damage is done to the archive inside, which compression would hide."""
    (folder / "cifar-10-binary.tar.gz").write_bytes(gzip.compress((folder / "inside.tar").read_bytes(), 1))
    return cifar10.load(folder / "cifar-10-binary.tar.gz", part="test")


def read_batches(folder: Path):
    return cifar10.load(folder, part="test")


# SVHN and ImageNet


def save_svhn(folder: Path, compressed: bool = False):
    labels = np.arange(6) % 10
    y = np.where(labels == 0, 10, labels).astype(np.uint8)[:, None]
    content = {"X": pictures(labels).transpose(1, 2, 3, 0), "y": y}
    savemat(folder / "test_32x32.mat", content, do_compression=compressed)


def save_packed(folder: Path):
    save_svhn(folder, compressed=True)


def read_svhn(folder: Path):
    return svhn.load(folder, part="test")


def save_imagenet(folder: Path):
    for wnid in WNIDS:
        (folder / "train" / wnid).mkdir(parents=True)
        scene().save(folder / "train" / wnid / "a.JPEG")
    (folder / "val").mkdir()
    for i in range(1, 5):
        scene().save(folder / "val" / f"ILSVRC2012_val_{i:08d}.JPEG")
    synsets = np.zeros(3, dtype=[("ILSVRC2012_ID", object), ("WNID", object), ("words", object)])
    for i, wnid in enumerate(WNIDS):
        synsets[i] = (i + 1, wnid, "a fish")
    savemat(folder / "meta.mat", {"synsets": synsets}, do_compression=False)
    (folder / "truth.txt").write_text("1\n3\n2\n1\n")
    lines = (f"ILSVRC2012_val_{i:08d}.JPEG {i % 3}\n" for i in range(1, 5))
    (folder / "named.txt").write_text("".join(lines))


def read_imagenet(name: str):
    return lambda folder: imagenet.list_images(folder, part="val", truth=folder / name)


# Images


def save_image(kind: str, mode: str = "RGB", **options):
    def make(folder: Path):
        image = (
            scene(40, 30).convert(mode)
            if mode != "I;16"
            else Image.fromarray(np.arange(1200, dtype=np.uint16).reshape(30, 40))
        )
        image.save(folder / "image", kind, **options)

    return make


def read_image(folder: Path):
    read_sizes([str(folder / "image")])
    return decode(folder / "image", 16)


# Manifests, corrections, options


def save_manifest(folder: Path):
    save_scenes(folder, 4)
    lines = ["path,label", "000.jpg,cat", '"001.jpg","a, b"', "002.jpg,", "003.jpg,dog", ""]
    (folder / "manifest.csv").write_text("\n".join(lines))


def save_corrections(folder: Path):
    save_manifest(folder)
    (folder / "fixed.csv").write_text("path,label,confidence\n000.jpg,dog,0.5\n001.jpg,'=x,0.5\n002.jpg,,0.5\n")


def read_corrections(folder: Path):
    return apply_corrections(manifests.list_images(folder / "manifest.csv"), folder / "fixed.csv")


def read_options(folder: Path):
    """The command line refuses what is missing, so nothing is written whatever the file asks for."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        code = cli.main(["fit", "--config", str(folder / "options.yaml")])
    assert code == 2
    if "needs LABELED and UNLABELED" not in said.getvalue():
        raise ValueError(said.getvalue().strip())


OPTIONS = b"minutes: 30\npercentiles: [80, 50, 0]\nbalance: none\nseed: 3\nflip: false\nnetwork: compact\n"
IMAGES = {
    "jpeg": save_image("JPEG", quality=80),
    "jpeg progressive": save_image("JPEG", progressive=True),
    "jpeg cmyk": save_image("JPEG", "CMYK"),
    "png": save_image("PNG"),
    "png palette": save_image("PNG", "P", transparency=3),
    "png 16 bits": save_image("PNG", "I;16"),
    "gif": save_image("GIF", "P"),
    "bmp": save_image("BMP"),
    "tiff": save_image("TIFF"),
    "tiff lzw": save_image("TIFF", compression="tiff_lzw"),
    "webp": save_image("WEBP"),
    "ppm": save_image("PPM"),
    "jpeg 2000": save_image("JPEG2000"),
    "avif": save_image("AVIF"),
}
