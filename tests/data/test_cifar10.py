import io
import os
import pickle
import struct
import tarfile

import numpy as np
import pytest
from PIL import Image

from curriculum_labeling.data.cifar10 import CLASSES, load

ROWS = 3  # per batch
BATCHES = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]


def batch(number):
    """Rows (N×3072) and labels of one batch."""
    rng = np.random.default_rng(number)
    return rng.integers(0, 256, (ROWS, 3072), dtype=np.uint8), rng.integers(0, 10, ROWS).tolist()


def expected(part):
    batches = [batch(i) for i in (range(5) if part == "train" else [5])]
    pixels = np.concatenate([rows for rows, _ in batches]).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return pixels, [label for _, labels in batches for label in labels]


def binary(rows, labels):
    return b"".join(bytes([label]) + row.tobytes() for row, label in zip(rows, labels, strict=True))


def pickled_by_python_3(rows, labels):
    return pickle.dumps({b"data": rows, b"labels": labels, b"batch_label": b"x", b"filenames": [b"a"]}, protocol=2)


def pickled_by_python_2(rows, labels):
    """The opcodes of the published files: byte strings as Python 2 wrote them, numpy under its old name."""

    def short(text):
        return b"U" + bytes([len(text)]) + text

    shape = b"".join(b"M" + struct.pack("<H", n) for n in rows.shape)
    dtype = (
        b"cnumpy\ndtype\n("
        + short(b"u1")
        + b"K\x00K\x01tR(K\x03"
        + short(b"|")
        + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    )
    data = b"T" + struct.pack("<I", rows.size) + rows.tobytes()
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00t" + short(b"b") + b"tR(K\x01(" + shape + b"t"
    )
    array += dtype + b"\x89" + data + b"tb"
    items = (
        short(b"data") + array + short(b"labels") + b"](" + b"".join(b"K" + bytes([label]) for label in labels) + b"e"
    )
    return b"\x80\x02}(" + items + b"u."


def published(folder, layout):
    """A folder as it lies in the published archive."""
    name, suffix = ("cifar-10-batches-bin", ".bin") if layout == "binary" else ("cifar-10-batches-py", "")
    write = {"binary": binary, "python 2": pickled_by_python_2, "python 3": pickled_by_python_3}[layout]
    (folder / name).mkdir(parents=True)
    for i, batch_name in enumerate(BATCHES):
        (folder / name / f"{batch_name}{suffix}").write_bytes(write(*batch(i)))
    (folder / name / "batches.meta.txt").write_text("\n".join(CLASSES))
    return folder / name


LAYOUTS = ["binary", "python 2", "python 3"]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("part", ["train", "test"])
def test_published_folders_are_read_in_their_order(tmp_path, layout, part):
    inner = published(tmp_path, layout)
    for path in (inner, tmp_path):
        images = load(path, part=part)
        pixels, labels = expected(part)
        assert (images.pixels == pixels).all()
        assert images.labels.tolist() == labels
        assert images.classes[3] == "cat"
        assert images.flippable
        assert images.paths is None


@pytest.mark.parametrize("layout", LAYOUTS)
def test_archives_are_read_without_unpacking_them(tmp_path, layout):
    inner = published(tmp_path / "made", layout)
    name = "cifar-10-binary.tar.gz" if layout == "binary" else "cifar-10-python.tar.gz"
    (tmp_path / "data").mkdir()
    with tarfile.open(tmp_path / "data" / name, "w:gz") as archive:
        for file in sorted(inner.iterdir(), reverse=True):
            archive.add(file, f"{inner.name}/{file.name}")
    for path in (tmp_path / "data" / name, tmp_path / "data"):
        assert (load(path).pixels == expected("train")[0]).all()
        assert load(path, part="test").labels.tolist() == expected("test")[1]
    assert os.listdir(tmp_path / "data") == [name]


def test_an_archive_cannot_reach_outside_and_links_in_it_are_not_followed(tmp_path):
    with tarfile.open(tmp_path / "evil.tar.gz", "w:gz") as archive:
        for i, name in enumerate(BATCHES):
            data = binary(*batch(i))
            info = tarfile.TarInfo(f"../../{name}.bin")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    before = sorted(tmp_path.rglob("*"))
    assert len(load(tmp_path / "evil.tar.gz")) == 5 * ROWS
    assert sorted(tmp_path.rglob("*")) == before
    with tarfile.open(tmp_path / "link.tar.gz", "w:gz") as archive:
        info = tarfile.TarInfo("test_batch.bin")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(info)
    with pytest.raises(ValueError, match=r"must hold the batches of CIFAR-10, but test_batch is missing"):
        load(tmp_path / "link.tar.gz", part="test")


def test_folders_of_images_are_read_by_class(tmp_path):
    for part, count in (("train", 2), ("test", 1)):
        for c, name in enumerate(CLASSES):
            (tmp_path / part / name).mkdir(parents=True)
            for i in range(count):
                Image.new("RGB", (32, 32), (c, i, 7)).save(tmp_path / part / name / f"{i}.png")
    images = load(tmp_path)
    assert images.labels.tolist() == [c for c in range(10) for _ in range(2)]
    assert images.pixels[5, 0, 0].tolist() == [2, 1, 7]
    assert images.paths[5].endswith("train/bird/1.png")
    assert len(load(tmp_path, part="test")) == 10
    (tmp_path / "train" / "truck").rename(tmp_path / "train" / "lorry")
    with pytest.raises(ValueError, match=r"must hold one folder for each of airplane, .*, got .*lorry"):
        load(tmp_path)


class Evil:
    def __reduce__(self):
        return os.system, ("echo harm",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (Evil(), r"data_batch_1 is no CIFAR-10 batch and was refused: it asks for \w+\.system"),
        ({b"data": np.zeros((1, 3072)), b"labels": [0]}, "refused: it holds an array that is not of bytes"),
        ({b"data": np.array([Evil()]), b"labels": [0]}, "refused: it asks for"),
        ({b"data": np.zeros((1, 3), np.uint8), b"labels": [0]}, "must hold data of shape N×3072 and a list of labels"),
        ({b"data": np.zeros((1, 3072), np.uint8), b"labels": [0, 1]}, "must hold one whole number per row"),
        ({b"data": np.zeros((1, 3072), np.uint8), b"labels": ["a"]}, "must hold one whole number per row"),
        ({b"data": np.zeros((1, 3072), np.uint8), b"labels": [10]}, "must be from 0 to 9, got .* to 10"),
        ([1, 2], "must hold data of shape N×3072"),
    ],
)
def test_pickles_that_are_no_batches_are_refused(tmp_path, content, message):
    inner = published(tmp_path, "python 2")
    (inner / "data_batch_1").write_bytes(pickle.dumps(content, protocol=2))
    with pytest.raises(ValueError, match=message):
        load(inner)


def test_damaged_files_are_refused(tmp_path):
    python, bin_ = published(tmp_path / "a", "python 2"), published(tmp_path / "b", "binary")
    data = (python / "test_batch").read_bytes()
    (python / "test_batch").write_bytes(data[: len(data) // 2])
    with pytest.raises(ValueError, match=r"test_batch cannot be read as a pickle .*; download it again"):
        load(python, part="test")
    (bin_ / "test_batch.bin").write_bytes(b"x" * 3072)
    with pytest.raises(ValueError, match=r"test_batch\.bin must hold whole rows of 3073 bytes, got 3072 bytes"):
        load(bin_, part="test")
    (bin_ / "data_batch_3.bin").unlink()
    with pytest.raises(ValueError, match=r"must hold data_batch_3\.bin, which is missing"):
        load(bin_)
    (tmp_path / "c.tar.gz").write_bytes(b"no archive")
    with pytest.raises(ValueError, match=r"c\.tar\.gz cannot be read as a \.tar\.gz"):
        load(tmp_path / "c.tar.gz")


def test_a_truncated_archive_is_refused(tmp_path):
    inner = published(tmp_path, "binary")
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        archive.add(inner, inner.name)
    data = (tmp_path / "a.tar.gz").read_bytes()
    (tmp_path / "a.tar.gz").write_bytes(data[: len(data) // 2])
    with pytest.raises(ValueError, match=r"a\.tar\.gz cannot be read as a \.tar\.gz .*; download it again"):
        load(tmp_path / "a.tar.gz")


def test_places_and_parts_that_do_not_exist_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"path must hold CIFAR-10 .*got .*; download\.fetch_cifar10 gets it"):
        load(tmp_path)
    with pytest.raises(ValueError, match=r'part must be "train" or "test", got \'val\''):
        load(tmp_path, part="val")


def test_the_real_test_part_has_a_thousand_images_of_each_class(real_data):
    path = real_data / "cifar-10-binary.tar.gz"
    if not path.exists():
        pytest.skip("no real CIFAR-10")
    images = load(path, part="test")
    assert images.pixels.shape == (10_000, 32, 32, 3)
    assert np.bincount(images.labels).tolist() == [1000] * 10
    # The published test part begins with a cat and two ships.
    assert [images.classes[label] for label in images.labels[:3]] == ["cat", "ship", "ship"]
    assert images.pixels[0, 0, 0].tolist() == [158, 112, 49]
