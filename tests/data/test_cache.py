import json
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from curriculum_labeling.data import cache, chunks, decode, partial
from curriculum_labeling.data.cache import Progress, UnreadableImages, load
from curriculum_labeling.data.decode import decode as decode_file
from curriculum_labeling.data.folders import list_images
from curriculum_labeling.data.listing import Listing, list_pairs
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
    assert Progress(done=60, total=100, decoded=10, seconds=5).seconds_left == 20
    assert Progress(done=50, total=100, decoded=0, seconds=0).seconds_left is None


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


BUILD = """
import logging, multiprocessing, os, sys, time
from curriculum_labeling.data import chunks
from curriculum_labeling.data.cache import load
from curriculum_labeling.data.folders import list_images

def main(photos, folder, workers, stop_after):
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="log %(message)s")
    chunks.CHUNK_ROWS = 3
    steps = 0

    def progress(state):
        nonlocal steps
        steps += 1
        if steps == int(stop_after):
            print("stopped", *(child.pid for child in multiprocessing.active_children()), flush=True)
            while not os.path.exists(folder + "/go"):
                time.sleep(0.01)

    print("ready", flush=True)
    load(list_images(photos), folder, resolution=16, workers=int(workers), progress=progress, unreadable="skip")
    print("finished", steps, flush=True)

if __name__ == "__main__":
    main(*sys.argv[1:])
"""


@pytest.fixture
def start(tmp_path):
    """Start a build in a process of its own; it stops after some chunks until a file `go` appears."""
    script = tmp_path / "build.py"
    script.write_text(BUILD)
    started = []

    def start_build(photos, folder, *, workers=1, stop_after=0):
        folder.mkdir(exist_ok=True)
        command = [sys.executable, script, photos, folder, str(workers), str(stop_after)]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield start_build
    for process in started:
        process.kill()
        process.communicate()


def read_until(process, word):
    for line in process.stdout:
        if line.startswith(word):
            return line.split()
    raise AssertionError(f"the process ended before it said {word!r}")


def wait_until_gone(pid):
    for _ in range(1000):
        if not os.path.exists(f"/proc/{pid}") or "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text():
            return
        time.sleep(0.01)
    raise AssertionError(f"process {pid} is still there")


@pytest.fixture
def mixed(tmp_path):
    """A folder of forty photos, some of which cannot be read."""
    paths = save_scenes(tmp_path / "mixed" / "cat", 40)
    for i in (3, 17, 39):
        Path(paths[i]).write_text("not a photo")
    return tmp_path / "mixed"


@pytest.mark.parametrize(("workers", "stop_after"), [(1, 1), (1, 7), (1, 14), (2, 5)])
def test_a_killed_build_continues_and_ends_bit_for_bit_as_one_that_was_not(mixed, start, tmp_path, workers, stop_after):
    load(list_images(mixed), tmp_path / "whole", resolution=SIZE, unreadable="skip")
    process = start(mixed, tmp_path / "killed", workers=workers, stop_after=stop_after)
    children = read_until(process, "stopped")[1:]
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not list((tmp_path / "killed").glob("*/index.json"))
    for pid in children:
        wait_until_gone(pid)

    seen = []
    load(list_images(mixed), tmp_path / "killed", resolution=SIZE, unreadable="skip", progress=seen.append)
    assert len(seen) == 14 - stop_after  # of 14 chunks only the missing ones were decoded
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


def test_a_build_killed_at_any_moment_continues(mixed, start, tmp_path):
    load(list_images(mixed), tmp_path / "whole", resolution=SIZE, unreadable="skip")
    for delay in (0.002, 0.01, 0.03):
        process = start(mixed, tmp_path / "killed")
        read_until(process, "ready")
        time.sleep(delay)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    load(list_images(mixed), tmp_path / "killed", resolution=SIZE, unreadable="skip")
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


def stopped_half_way(listing, folder, done=21):
    """Leave a partial cache, as a kill does."""

    class StoppedError(Exception):
        pass

    def stop(state):
        if state.done >= done:
            raise StoppedError

    with pytest.raises(StoppedError):
        load(listing, folder, resolution=SIZE, unreadable="skip", progress=stop)
    (left,) = folder.glob("*.partial")
    return left


def damage_pixels(left):
    with open(left / "pixels.npy", "r+b") as file:
        file.seek(128 + 4 * SIZE * SIZE * 3)
        file.write(b"damage")


def tear_journal(left):
    journal = left / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-9])


def lose_journal(left):
    (left / "journal.jsonl").unlink()


def lose_pixels(left):
    os.truncate(left / "pixels.npy", 2000)


@pytest.mark.parametrize(
    ("harm", "left_to_do"), [(damage_pixels, 8), (tear_journal, 8), (lose_journal, 14), (lose_pixels, 14)]
)
def test_only_what_is_proven_right_is_kept_of_a_partial_cache(mixed, tmp_path, harm, left_to_do):
    listing = list_images(mixed)
    load(listing, tmp_path / "whole", resolution=SIZE, unreadable="skip")
    harm(stopped_half_way(listing, tmp_path / "harmed"))
    seen = []
    load(listing, tmp_path / "harmed", resolution=SIZE, unreadable="skip", progress=seen.append)
    assert len(seen) == left_to_do
    assert contents(tmp_path / "harmed") == contents(tmp_path / "whole")


@pytest.mark.parametrize("where", ["_close_gaps", "_allocate", "rename"])
def test_a_kill_while_finishing_costs_nothing_but_time(mixed, tmp_path, monkeypatch, where):
    listing = list_images(mixed)
    load(listing, tmp_path / "whole", resolution=SIZE, unreadable="skip")

    class Killed(BaseException):
        pass

    def die_after(real):
        def die(*arguments):
            if where != "_allocate" or arguments[1] < 40:  # not the first allocation
                real(*arguments)
                raise Killed
            real(*arguments)

        return die

    owner = partial.os if where == "rename" else partial.Partial
    with monkeypatch.context() as patch:
        patch.setattr(owner, where, die_after(getattr(owner, where)))
        with pytest.raises(Killed):
            load(listing, tmp_path / "killed", resolution=SIZE, unreadable="skip")
    load(listing, tmp_path / "killed", resolution=SIZE, unreadable="skip")
    found = contents(tmp_path / "killed")
    found.pop("journal.jsonl", None)
    assert found == contents(tmp_path / "whole")


def test_a_second_process_waits_for_the_first_and_uses_its_work(mixed, start, tmp_path):
    first = start(mixed, tmp_path / "cache", stop_after=5)
    read_until(first, "stopped")
    second = start(mixed, tmp_path / "cache")
    read_until(second, "log waiting for another process")
    (tmp_path / "cache" / "go").touch()
    assert read_until(first, "finished") == ["finished", "14"]
    assert read_until(second, "finished") == ["finished", "0"]


def test_a_worker_that_dies_is_explained(tmp_path):
    script = tmp_path / "unguarded.py"
    save_scenes(tmp_path / "photos" / "cat", 4)
    script.write_text(
        "from curriculum_labeling.data.cache import load\n"
        "from curriculum_labeling.data.folders import list_images\n"
        f"load(list_images({str(tmp_path / 'photos')!r}), {str(tmp_path / 'cache')!r}, resolution=8, workers=2)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "RuntimeError: a decoding process ended by itself" in done.stderr
    assert 'if __name__ == "__main__":' in done.stderr


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
