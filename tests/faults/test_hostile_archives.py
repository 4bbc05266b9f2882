"""Pickles, archives, arrays and images made to do harm: nothing is run, nothing written, no memory taken."""

import contextlib
import gzip
import io
import os
import pickle
import struct
import tarfile
import zipfile
import zlib

import numpy as np
import pytest
from PIL import Image

from curriculum_labeling.data import cifar10, imagenet, svhn
from curriculum_labeling.data.decode import UnreadableImage, decode, decode_bytes
from curriculum_labeling.data.npz import read_npz
from curriculum_labeling.runs.kept import read_scores
from tests.faults.data_files import batch_rows, binary_batch
from tests.faults.fuzzing import bounded

# Pickles


class Runs:
    """A pickle that runs a command when it is loaded."""

    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_runs_nothing(tmp_path, protocol):
    mark = tmp_path / "mark"
    planes, labels = batch_rows()
    content = {b"data": planes, b"labels": labels.tolist(), b"x": Runs(f"touch {mark}")}
    (tmp_path / "test_batch").write_bytes(pickle.dumps(content, protocol=protocol))
    with pytest.raises(
        ValueError, match=r"test_batch is no CIFAR-10 batch and was refused: it asks for (posix|nt)\.system"
    ):
        cifar10.load(tmp_path, part="test")
    assert not mark.exists()


# A tuple of two tuples of two tuples …: small, but walking through it takes for ever.
NESTED = b"K\x01\x85q\x000" + b"".join(b"h%ch%c\x86q%c0" % (i, i, i + 1) for i in range(60)) + b"h\x3c"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x80\x02]r\xff\xff\xff\x7f.", r"must hold data of shape"),
        (b"\x80\x02}" + NESTED + b"K\x01s.", r"keys are no text"),
        (b"\x80\x02c_codecs\nencode\n" + NESTED + b"\x85R.", r"it encodes what is no text"),
        (b"\x80\x02cnumpy\ndtype\n" + NESTED + b"\x85R.", r"whose kind has no name"),
        (b"\x80\x02c_codecs\nencode\n}X\x01\x00\x00\x00aK\x01sb.", r"not its own"),
        (b"\x80\x04\x8e" + b"\xff" * 7 + b"\x7f.", r"cannot be read as a pickle"),
        (b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".", r"must hold data of shape"),
        (b"\x80\x02cbuiltins\neval\n.", r"asks for builtins.eval"),
        (b"\x80\x02cnumpy\ndtype.__init__\n.", r"asks for numpy.dtype.__init__"),
        (b"\x80\x02Pos.system\n.", r"cannot be read as a pickle"),
    ],
    ids=["memo", "nested key", "nested text", "nested kind", "our own function", "size", "deep", "eval", "path", "id"],
)
def test_a_pickle_that_is_a_trap_takes_neither_memory_nor_time(tmp_path, data, message):
    (tmp_path / "test_batch").write_bytes(data)
    with bounded(), pytest.raises(ValueError, match=message):
        cifar10.load(tmp_path, part="test")


def test_labels_beyond_64_bits_are_refused(tmp_path):
    planes, _ = batch_rows()
    (tmp_path / "test_batch").write_bytes(pickle.dumps({b"data": planes, b"labels": [2**70] * 6}, protocol=2))
    with pytest.raises(
        ValueError, match="must be from 0 to 9, got 9223372036854775808 to 9223372036854775808; download"
    ):
        cifar10.load(tmp_path, part="test")


# Archives


def archive(path, *members):
    with tarfile.open(path, "w:gz") as file:
        for info, data in members:
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))


@pytest.mark.parametrize("name", ["../../test_batch.bin", "/tmp/test_batch.bin", "a/../../../test_batch.bin"])
def test_an_archive_writes_nothing_anywhere(tmp_path, name):
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    archive(inside / "c.tar.gz", (tarfile.TarInfo(name), binary_batch()))
    before = sorted(tmp_path.rglob("*"))
    assert len(cifar10.load(inside / "c.tar.gz", part="test")) == 6
    assert sorted(tmp_path.rglob("*")) == before
    assert not os.path.exists("/tmp/test_batch.bin")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_an_archive_cannot_point_elsewhere(tmp_path, kind):
    info = tarfile.TarInfo("test_batch.bin")
    info.type, info.linkname = kind, "/etc/passwd"
    archive(tmp_path / "c.tar.gz", (info, b""))
    with pytest.raises(ValueError, match="test_batch is missing"):
        cifar10.load(tmp_path / "c.tar.gz", part="test")


def zeros(size, head=b"", block=1 << 20):
    """A gzip file of many zeros, made without ever holding them."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=9, mtime=0) as file:
        file.write(head)
        for _ in range(size // block):
            file.write(bytes(block))
    return packed.getvalue()


@pytest.mark.parametrize(
    "kind", [b"0", b"L", b"x", b"g", b"K"], ids=["file", "long name", "pax", "pax for all", "link"]
)
def test_an_archive_that_unpacks_to_gigabytes_is_refused(tmp_path, kind):
    info = tarfile.TarInfo("bomb")
    info.size, info.type = 6 << 30, kind
    (tmp_path / "c.tar.gz").write_bytes(zeros(16 << 20, info.tobuf(tarfile.GNU_FORMAT)))
    with (
        bounded(most_bytes=256 << 20),
        pytest.raises(ValueError, match=r"c.tar.gz cannot be read .*; download it again"),
    ):
        cifar10.load(tmp_path / "c.tar.gz", part="test")


def test_a_matlab_file_that_unpacks_to_gigabytes_is_refused(tmp_path, monkeypatch):
    monkeypatch.setitem(svhn.MOST_ROWS, "test", 4000)  # 12 MB
    packer, parts = zlib.compressobj(9), []
    parts.append(packer.compress(struct.pack("<II", 14, 3 << 30)))
    parts += [packer.compress(bytes(1 << 20)) for _ in range(64)]
    packed = b"".join(parts) + packer.flush()
    head = b"MATLAB 5.0".ljust(124) + b"\x00\x01IM"
    (tmp_path / "test_32x32.mat").write_bytes(head + struct.pack("<II", 15, len(packed)) + packed)
    with bounded(most_bytes=48 << 20), pytest.raises(ValueError, match="unpacks to more bytes than allowed"):
        svhn.load(tmp_path, part="test")


@pytest.mark.parametrize("kind", [1, 2, 6], ids=["cells", "structs", "numbers"])
def test_a_matlab_file_that_claims_to_be_huge_takes_no_memory(tmp_path, kind):
    name = struct.pack("<HHI", 1, 1, ord("X"))
    flags = struct.pack("<IIII", 6, 8, kind, 0)
    body = flags + struct.pack("<IIii", 5, 8, 2**31 - 1, 2**31 - 1) + name + struct.pack("<HHI", 5, 4, 32) + bytes(64)
    head = b"MATLAB 5.0".ljust(124) + b"\x00\x01IM"
    (tmp_path / "test_32x32.mat").write_bytes(head + struct.pack("<II", 14, len(body)) + body)
    with bounded(most_bytes=128 << 20), pytest.raises(ValueError, match=r"test_32x32.mat (cannot be read|must hold X)"):
        svhn.load(tmp_path, part="test")


def test_a_matlab_file_of_another_version_is_named(tmp_path):
    (tmp_path / "test_32x32.mat").write_bytes(b"MATLAB 7.3 MAT-file".ljust(512))
    with pytest.raises(ValueError, match="it is of another version than 5"):
        svhn.load(tmp_path, part="test")


@pytest.mark.parametrize("shape", ["(1000000000,)", "(30, 30)", "(-1,)", "((((", "(1e9,)"])
def test_scores_that_unpack_to_gigabytes_are_refused(tmp_path, shape):
    head = f"{{'descr': '<i8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    with (
        zipfile.ZipFile(tmp_path / "scores.npz", "w", zipfile.ZIP_DEFLATED) as file,
        file.open("classes.npy", "w") as one,
    ):
        one.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
        for _ in range(64):
            one.write(bytes(1 << 20))
    with bounded(most_bytes=32 << 20), pytest.raises(ValueError, match=r"scores.npz is missing or damaged .*fit again"):
        read_scores(tmp_path / "scores.npz", np.arange(30))


def test_objects_in_an_npz_file_are_not_unpickled(tmp_path):
    np.savez(tmp_path / "a.npz", rows=np.array([Runs(f"touch {tmp_path / 'mark'}")], dtype=object))
    with pytest.raises(ValueError, match="rows must be of kind i or u"):
        read_npz(tmp_path / "a.npz", {"rows": "iu"}, most_bytes=1000)
    assert not (tmp_path / "mark").exists()


# Images


def test_an_image_that_unpacks_to_gigabytes_is_refused():
    file = io.BytesIO()
    Image.new("1", (16, 16)).save(file, "PNG")
    data = bytearray(file.getvalue())
    data[16:24] = struct.pack(">II", 60_000, 60_000)
    data[29:33] = struct.pack(">I", zlib.crc32(data[12:29]))
    with bounded(most_bytes=64 << 20), pytest.raises(UnreadableImage, match=r"pixels allowed|pixels, more than"):
        decode_bytes(bytes(data), 32, name="bomb.png")


def test_text_inside_an_image_does_not_unpack_to_gigabytes():
    file = io.BytesIO()
    Image.new("RGB", (16, 16)).save(file, "PNG")
    data, text = file.getvalue(), b"zTXtcomment\0\0" + zlib.compress(bytes(64 << 20), 1)
    chunk = struct.pack(">I", len(text) - 4) + text + struct.pack(">I", zlib.crc32(text))
    with bounded(most_bytes=32 << 20), contextlib.suppress(UnreadableImage):
        assert decode_bytes(data[:33] + chunk + data[33:], 32, name="a.png").shape == (32, 32, 3)


def test_an_image_too_large_for_the_memory_left_is_told_as_such(monkeypatch):
    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr("curriculum_labeling.data.decode._decode", fail)
    with pytest.raises(OSError, match=r"Cannot allocate memory: 'a\.png'"):
        decode_bytes(b"x", 32, name="a.png")


def test_what_is_no_regular_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "test_batch.bin")
    with pytest.raises(ValueError, match="path must hold CIFAR-10"):
        cifar10.load(tmp_path, part="test")
    with pytest.raises(UnreadableImage, match="is empty"):
        decode(tmp_path / "test_batch.bin", 16)


def test_folders_with_loops_and_broken_links_are_walked_to_their_end(tmp_path):
    for wnid in ("n01440764", "n01443537"):
        (tmp_path / "train" / wnid).mkdir(parents=True)
        (tmp_path / "train" / wnid / "loop").symlink_to(tmp_path / "train")
        (tmp_path / "train" / wnid / "self").symlink_to("self")
    (tmp_path / "train" / "n01440764" / b"a\xff\n.JPEG".decode("utf-8", "surrogateescape")).write_bytes(b"x")
    assert 1 <= len(imagenet.list_images(tmp_path)) <= 6
