"""The image cache: what it holds, what it leaves out, and when it is made anew."""

import json
import logging
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from curriculum_labeling.data import cache, chunks, decode, partial
from curriculum_labeling.data.cache import UnreadableImages, load
from curriculum_labeling.data.decode import decode as decode_file
from curriculum_labeling.data.folders import list_images
from curriculum_labeling.data.listing import Listing, list_pairs
from curriculum_labeling.data.progress import Progress
from tests.data.photos import save_scenes, scene

SIZE = 16


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Three rows per chunk, so that a few images make many chunks."""
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 3)


@pytest.fixture
def photos(tmp_path):
    """Twenty photos of two classes."""
    paths = save_scenes(tmp_path / "photos", 20)
    return list_pairs([(path, "cat" if i % 2 else "dog") for i, path in enumerate(paths)])


def expected(listing):
    return np.stack([decode_file(path, SIZE) for path in listing.paths])


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(next(folder.glob("*px-*[!k]/")).iterdir())}


def test_images_are_decoded_in_their_order_and_memory_mapped(photos, tmp_path):
    cached = load(photos, tmp_path / "cache", resolution=SIZE, flippable=False)
    assert isinstance(cached.images.pixels, np.memmap)
    assert (cached.images.pixels == expected(photos)).all()
    assert cached.images.labels.tolist() == photos.labels.tolist()
    assert cached.images.paths == photos.paths
    assert cached.images.classes == ("cat", "dog")
    assert not cached.images.flippable
    assert cached.unreadable == ()


def test_a_finished_cache_is_plain_numpy_and_json(photos, tmp_path):
    load(photos, tmp_path / "cache", resolution=SIZE)
    (folder,) = (path for path in (tmp_path / "cache").iterdir() if path.is_dir())
    assert sorted(path.name for path in folder.iterdir()) == ["digests.npy", "index.json", "pixels.npy"]
    assert (np.load(folder / "pixels.npy") == expected(photos)).all()
    index = json.loads((folder / "index.json").read_text())
    assert (index["rows"], index["resolution"], index["unreadable"]) == (20, SIZE, [])


def test_the_second_time_nothing_is_decoded(photos, tmp_path, monkeypatch):
    first = load(photos, tmp_path, resolution=SIZE)
    monkeypatch.setattr(cache, "_build", None)
    again = load(photos, tmp_path, resolution=SIZE)
    assert (again.images.pixels == first.images.pixels).all()


def test_each_resolution_has_its_own_cache(photos, tmp_path):
    assert load(photos, tmp_path, resolution=8).images.pixels.shape == (20, 8, 8, 3)
    assert load(photos, tmp_path, resolution=9).images.pixels.shape == (20, 9, 9, 3)


def test_the_number_of_processes_does_not_change_a_byte(photos, tmp_path):
    load(photos, tmp_path / "one", resolution=SIZE, workers=1)
    load(photos, tmp_path / "two", resolution=SIZE, workers=2)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_progress_tells_how_far_and_how_long(photos, tmp_path):
    seen = []
    load(photos, tmp_path, resolution=SIZE, progress=seen.append)
    assert [state.done for state in seen] == [3, 6, 9, 12, 15, 18, 20]
    assert {state.total for state in seen} == {20}
    assert seen[-1].seconds_left == 0
    assert Progress(done=60, total=100, new=10, seconds=5).seconds_left == 20
    assert Progress(done=50, total=100, new=0, seconds=0).seconds_left is None


def test_a_changed_file_is_decoded_again_and_the_others_are_copied(photos, tmp_path, monkeypatch):
    load(photos, tmp_path / "cache", resolution=SIZE)
    scene(seed=99).save(photos.paths[4])
    extra = save_scenes(tmp_path / "more", 1, seed=50)[0]
    grown = Listing((extra, *photos.paths), np.append(photos.labels, 0), photos.classes)
    opened = []
    monkeypatch.setattr(chunks, "_read", lambda file: opened.append(file.path) or Path(file.path).read_bytes())
    images = load(grown, tmp_path / "cache", resolution=SIZE, workers=1).images
    assert opened == [extra, photos.paths[4]]
    assert (images.pixels == expected(grown)).all()


def test_another_decoder_is_another_cache(photos, tmp_path, monkeypatch):
    pytest.importorskip("simplejpeg")
    load(photos, tmp_path, resolution=SIZE)
    monkeypatch.setattr(decode, "simplejpeg", None)
    load(photos, tmp_path, resolution=SIZE)
    assert len([path for path in tmp_path.glob("*px-*") if path.is_dir()]) == 2


@pytest.fixture
def faulty(tmp_path):
    """Twelve photos of which the first, fifth, sixth and last cannot be read."""
    paths = save_scenes(tmp_path / "faulty", 12)
    data = Path(paths[0]).read_bytes()
    Path(paths[0]).write_bytes(data[: len(data) // 2])
    Path(paths[4]).write_text("not a photo")
    Path(paths[5]).unlink()
    Path(paths[11]).unlink()
    os.mkfifo(paths[11])
    return list_pairs([(path, "cat") for path in paths])


REASONS = [r"truncated or damaged", "not an image of a known format", "cannot be opened", "not a regular file"]


def test_unreadable_files_are_skipped_and_listed(faulty, tmp_path):
    cached = load(faulty, tmp_path / "cache", resolution=SIZE, unreadable="skip")
    good = [1, 2, 3, 6, 7, 8, 9, 10]
    assert (cached.images.pixels == np.stack([decode_file(faulty.paths[i], SIZE) for i in good])).all()
    assert cached.images.paths == tuple(faulty.paths[i] for i in good)
    assert len(cached.images.labels) == 8
    assert [one.path for one in cached.unreadable] == [faulty.paths[i] for i in (0, 4, 5, 11)]
    assert all(reason in one.reason for reason, one in zip(REASONS, cached.unreadable, strict=True))


def test_unreadable_files_fail_in_one_error_that_lists_them(faulty, tmp_path):
    message = r'(?s)4 of 12 files cannot be read .*unreadable="skip":.*000\.jpg is truncated.*011\.jpg is not a regular'
    for _ in range(2):  # the second time from the finished cache
        with pytest.raises(UnreadableImages, match=message) as caught:
            load(faulty, tmp_path / "cache", resolution=SIZE)
        assert len(caught.value.unreadable) == 4
    assert len(load(faulty, tmp_path / "cache", resolution=SIZE, unreadable="skip").images) == 8


def test_a_repaired_file_is_noticed(faulty, tmp_path):
    load(faulty, tmp_path / "cache", resolution=SIZE, unreadable="skip")
    os.unlink(faulty.paths[11])
    for i in (0, 4, 5, 11):
        scene(seed=i).save(faulty.paths[i])
    assert (load(faulty, tmp_path / "cache", resolution=SIZE).images.pixels == expected(faulty)).all()


def test_long_lists_of_unreadable_files_are_shortened(tmp_path):
    paths = [str(tmp_path / f"{i}.jpg") for i in range(9)]
    with pytest.raises(UnreadableImages, match=r"(?s)9 of 9 files .*repair or remove them:.*… and 4 more"):
        load(list_pairs([(path, "cat") for path in paths]), tmp_path, resolution=SIZE, unreadable="skip")


def test_names_that_are_no_text_can_be_cached(tmp_path):
    (tmp_path / "photos" / "cat").mkdir(parents=True)
    names = [os.path.join(os.fsencode(tmp_path), b"photos", b"cat", name) for name in (b"\xff.png", b"\xfe.png")]
    Image.new("RGB", (4, 4), "red").save(tmp_path / "red.png")
    os.rename(tmp_path / "red.png", names[0])
    with open(names[1], "wb"):
        pass
    cached = load(list_images(tmp_path / "photos"), tmp_path / "cache", resolution=4, unreadable="skip")
    assert os.fsencode(cached.images.paths[0]).endswith(b"\xff.png")
    assert os.fsencode(cached.unreadable[0].path).endswith(b"\xfe.png")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resolution": 0}, "resolution must be from 1 to 4096 pixels, got 0"),
        ({"unreadable": "ignore"}, 'unreadable must be "fail" or "skip", got .ignore.'),
        ({"workers": 0}, "workers must be a number of processes, at least 1, got 0"),
    ],
)
def test_options_that_make_no_sense_are_refused(photos, tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        load(photos, tmp_path, **{"resolution": SIZE, **options})


def test_an_empty_listing_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"listing must name at least one image file, got none"):
        load(list_pairs([]), tmp_path, resolution=SIZE)


def test_a_full_disk_is_noticed_before_the_work(photos, tmp_path, monkeypatch):
    monkeypatch.setattr(partial.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 100}))
    with pytest.raises(OSError, match=r"the image cache needs 0.00 GB in .*, where 0.00 GB are free; choose another"):
        load(photos, tmp_path, resolution=SIZE)


def test_a_damaged_cache_says_what_to_delete(photos, tmp_path):
    load(photos, tmp_path / "cache", resolution=SIZE)
    (pixels,) = (tmp_path / "cache").glob("*/pixels.npy")
    os.truncate(pixels, 1000)
    with pytest.raises(ValueError, match=r"the image cache .* is damaged .*; delete that folder and run again"):
        load(photos, tmp_path / "cache", resolution=SIZE)


def test_a_file_that_changes_meanwhile_stops_the_build(photos, tmp_path):
    def change(state):
        os.utime(photos.paths[state.done], ns=(0, 0))

    with pytest.raises(RuntimeError, match=r"003\.jpg changed while images were being decoded; run again"):
        load(photos, tmp_path, resolution=SIZE, workers=1, progress=change)
    assert (load(photos, tmp_path, resolution=SIZE).images.pixels == expected(photos)).all()


def test_workers_are_as_many_as_asked_or_as_pay():
    assert chunks.choose_workers(3, 10) == 3
    assert chunks.choose_workers(None, 10) == 1
    assert 1 <= chunks.choose_workers(None, 10**6) <= (os.cpu_count() or 1)


def test_chunks_hold_few_megabytes_at_any_resolution(monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 256)
    assert chunks.rows_per_chunk(32) == 256
    assert chunks.rows_per_chunk(224) == 55
    assert chunks.rows_per_chunk(4096) == 1


def test_real_photos_are_cached(real_data, tmp_path, caplog):
    if not (real_data / "trashnet" / "glass").is_dir():
        pytest.skip("no real TrashNet")
    caplog.set_level(logging.INFO)
    whole = list_images(real_data / "trashnet")
    assert len(whole) == 2527
    some = Listing(whole.paths[::20], whole.labels[::20], whole.classes)
    images = load(some, tmp_path, resolution=64).images
    assert (images.pixels == np.stack([decode_file(path, 64) for path in some.paths])).all()
    assert images.classes == ("cardboard", "glass", "metal", "paper", "plastic", "trash")
