"""Builds of the image cache that are killed, torn, or met by a second process."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from curriculum_labeling.data import chunks, partial
from curriculum_labeling.data.cache import load
from curriculum_labeling.data.folders import list_images
from tests.data.photos import save_scenes
from tests.data.test_cache import SIZE, contents


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Three rows per chunk, so that a few images make many chunks."""
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 3)


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
