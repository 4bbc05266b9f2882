"""Two processes in one place: the second waits or says so, and what a dead one locked is free."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.faults.conftest import ROOT
from tests.faults.scenes import differing


@pytest.fixture
def stopped(wholes, tmp_path):
    """A fit in a process of its own that was halted half way, with the lock in its hands."""
    whole, run = wholes["network"], tmp_path / "run"
    command = [sys.executable, "-m", "curriculum_labeling.cli", *whole.fit(run)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 300
        while not list(run.glob("checkpoints/*/progress.json")) and time.monotonic() < deadline:
            time.sleep(0.005)
        process.send_signal(signal.SIGSTOP)
        yield whole, run, process
        if process.poll() is None:
            process.kill()
            process.send_signal(signal.SIGCONT)


def test_every_command_says_that_the_run_is_in_use_until_its_process_is_dead(driver, stopped):
    whole, run, process = stopped
    assert f"{run} is in use by another process" in driver.refused(["resume", run])
    for command in (whole.fit(run), [*whole.fit(run), "--force"]):
        said = driver.refused(command)
        assert "in use by another process" in said or "already holds an unfinished run" in said
    for command in ("report", "suggest"):
        assert f"{run} is not finished" in driver.refused([command, run])
    process.kill()
    process.wait(300)
    assert os.path.exists(run / ".lock")  # of a dead process, and free
    assert driver(["resume", run]).ended == 0
    assert differing(run, whole.run) == []


@pytest.mark.soak
def test_two_resumes_at_once_leave_one_result(stopped):
    whole, run, process = stopped
    process.kill()
    process.wait(300)
    command = [sys.executable, "-m", "curriculum_labeling.cli", "resume", str(run)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    both = [subprocess.Popen(command, cwd=ROOT, **pipes) for _ in range(2)]
    told = [one.communicate(timeout=600) for one in both]
    assert 0 in [one.returncode for one in both]
    for one, (_, err) in zip(both, told, strict=True):
        assert one.returncode == 0 or (one.returncode == 2 and "is in use by another process" in err), err
    assert differing(run, whole.run) == []


BUILD = """
import sys
from curriculum_labeling.data.cache import load
from curriculum_labeling.data.folders import list_images
seen = []
print("ready", flush=True)
sys.stdin.readline()
load(list_images(sys.argv[1]), sys.argv[2], resolution=8, progress=seen.append)
print(len(seen), flush=True)
"""


def test_of_two_processes_one_builds_a_cache_and_the_other_uses_it(wholes, tmp_path):
    command = [sys.executable, "-c", BUILD, wholes["network"].photos / "labeled", tmp_path / "cache"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    both = [subprocess.Popen(command, **pipes) for _ in range(2)]
    for one in both:
        assert one.stdout.readline() == "ready\n"
    for one in both:
        print(file=one.stdin, flush=True)
    assert sorted(one.communicate(timeout=300)[0] for one in both) == ["0\n", "1\n"]
