"""Ctrl-C and SIGTERM: an orderly stop with a message and exit code 130, and a run that goes on."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

from curriculum_labeling.data.chunks import choose_workers
from tests.faults import scenes
from tests.faults.conftest import ROOT
from tests.faults.scenes import differing, names

STOPS = (signal.SIGINT, signal.SIGTERM)


def stop_and_go_on(driver, whole, run, event, number):
    """Signal a run at an event; where it stopped there, it has said how to go on, and does."""
    answer = driver(whole.fit(run), signal_at=event, signal=number)
    assert answer.err == ""
    assert answer.ended in (0, 130), answer
    if answer.ended == 130:
        assert f"Stopped, nothing is lost. Go on with: curriculum resume {run}" in answer.out
        assert driver(["resume", run]).ended == 0
    assert differing(run, whole.run) == []
    assert names(run) == names(whole.run)
    return answer.ended


@pytest.mark.parametrize(("kind", "number"), [("network", signal.SIGTERM), ("features", signal.SIGINT)])
def test_a_run_that_is_asked_to_stop_saves_and_says_how_to_go_on(driver, wholes, tmp_path, kind, number):
    work = [i for i, name in enumerate(wholes[kind].events) if name in ("training step", "probe")]
    assert stop_and_go_on(driver, wholes[kind], tmp_path / "run", work[len(work) // 2], number) == 130


@pytest.mark.soak
@pytest.mark.parametrize("number", STOPS)
def test_a_stop_at_any_event_is_orderly(driver, whole, tmp_path, number):
    rng, ends = random.Random(5), []
    for event in rng.sample(range(len(whole.events)), 12):
        ends.append(stop_and_go_on(driver, whole, tmp_path / "run", event, number))
        shutil.rmtree(tmp_path / "run")
    assert 130 in ends


@pytest.mark.skipif(choose_workers(None, 10**6) < 2, reason="one core decodes in one process")
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.soak)])
def test_a_signal_to_all_processes_while_several_decode_is_an_orderly_stop(tmp_path, number):
    photos = scenes.lay_out(tmp_path / "photos", scenes.Kind("many", 500, ()), side=8)
    command = [sys.executable, "-m", "curriculum_labeling.cli"]
    command += scenes.fit(
        photos, scenes.Kind("many", 500, ("--passes", "0.1", "--validation", "none")), tmp_path / "run"
    )
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True, **pipes) as process:
        deadline = time.monotonic() + 300
        while len(children(process.pid)) < 2 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.5)
        os.killpg(process.pid, number)
        out, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert "Stopped, nothing is lost." in out
    assert "Traceback" not in err, err


def children(pid):
    """Processes that this one started."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return file.read().split()
    except OSError:
        return []
