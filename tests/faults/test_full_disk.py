"""Full and read-only disks: one sentence and exit code 2 at every write, and a run that goes on once there is room."""

import errno
import os
import random
import shutil
import subprocess

import pytest

from tests.faults.scenes import differing, names
from tests.faults.test_kills import go_on

FAULTS = {
    errno.ENOSPC: "No space left on device",
    errno.EROFS: "Read-only file system",
    errno.EIO: "Input/output error",
}


def fail_and_go_on(driver, whole, run, event, number):
    """Let every write fail from an event on; the run says so, and ends as it would have once writes succeed."""
    answer = driver(whole.fit(run), fails_from=event, errno=number)
    assert answer.ended == 2, (whole.events[event], answer)
    assert "Traceback" not in answer.err, (whole.events[event], answer.err)
    assert FAULTS[number] in answer.err, (whole.events[event], answer.err)
    assert len(answer.err.strip().splitlines()) == 1, answer.err
    answer = driver(go_on(whole, run))
    assert answer.ended == 0, (whole.events[event], answer)
    assert differing(run, whole.run) == []
    assert names(run) == names(whole.run)


def writes(whole):
    """Events that a full disk refuses."""
    return [i for i, name in enumerate(whole.events) if name.startswith(("open", "os.rename", "fsync"))]


@pytest.mark.parametrize(
    ("stage", "number"),
    [
        ("open ..writable", errno.EROFS),
        ("open pixels.npy", errno.ENOSPC),
        ("open .step-", errno.EROFS),
        ("open .ledger.csv", errno.ENOSPC),
    ],
)
def test_a_write_that_fails_is_told_and_the_run_goes_on(driver, wholes, tmp_path, stage, number):
    whole = wholes["network"]
    event = next(i for i, name in enumerate(whole.events) if name.startswith(stage))
    fail_and_go_on(driver, whole, tmp_path / "run", event, number)


@pytest.mark.soak
@pytest.mark.parametrize("number", FAULTS)
def test_whatever_write_fails_it_is_told_and_the_run_goes_on(driver, whole, tmp_path, number):
    for event in random.Random(number).sample(writes(whole), 10):
        fail_and_go_on(driver, whole, tmp_path / "run", event, number)
        shutil.rmtree(tmp_path / "run")


def grow_until_it_fits(driver, whole, run, sizes, fault):
    """Begin where there is too little room, then try with more and more; how often it was refused."""
    refusals = 0
    for size in sizes:
        answer = driver(go_on(whole, run), **fault(size))
        if answer.ended == 0:
            break
        assert answer.ended == 2, answer
        assert "Traceback" not in answer.err, answer.err
        assert len(answer.err.strip().splitlines()) == 1, answer.err
        refusals += 1
    assert driver(go_on(whole, run)).ended == 0
    assert differing(run, whole.run) == []
    return refusals


def test_files_that_may_not_grow_are_told_until_they_may(driver, wholes, tmp_path):
    whole = wholes["features"]
    sizes = sorted({path.stat().st_size for path in whole.run.rglob("*") if path.is_file()})
    some = [100, *[size for size in sizes if size > 4096][-6:]]
    refusals = grow_until_it_fits(driver, whole, tmp_path / "run", some, lambda size: {"file_size": size - 1})
    assert refusals >= 3


@pytest.fixture
def small_disk(tmp_path):
    """A file system of a few pages that can grow."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def resize(size):
        options = f"size={size}" if not os.path.ismount(folder) else f"remount,size={size}"
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True)
        if done.returncode:
            pytest.skip("a file system can be mounted by root only")

    resize(8192)
    yield folder, resize
    subprocess.run(["umount", folder], check=True)


def test_a_disk_that_is_full_is_told_until_there_is_room(driver, wholes, small_disk):
    whole = wholes["network"]
    folder, resize = small_disk
    used = sum(path.stat().st_size for path in whole.run.rglob("*") if path.is_file())
    sizes = [8192, used // 8, used // 3, used // 2, used, 1 << 26]

    def give_room(size):
        resize(size)
        return {}

    assert grow_until_it_fits(driver, whole, folder / "run", sizes, give_room) >= 3
