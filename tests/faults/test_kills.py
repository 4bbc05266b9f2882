"""Killed anywhere, nothing lost: weights, pseudo-labels and ledger end bit-identical to a run that nobody killed."""

import random
import shutil
import signal
import time

import pytest

from tests.faults.scenes import differing, names

# What the run is about to do when it is killed, one kill after the other.
STAGES = {
    "network": (
        "open ..writable",
        "open .config.json",
        "open .listing.json",
        "open journal.jsonl",
        "os.rename 16px-",
        "open .images.json",
        "open .check.json",
        "training step",
        "trained",
        "scores",
        "os.rename .scores.npz",
        "os.rename .model.safetensors",
        "open .metrics.json",
        "os.rename .model.new.tmp",
        "open .held_out.json",
        "open .ledger.csv",
        "os.rename .ledger.csv",
        "os.rename .outcome.json",
        "os.rmdir checkpoints",
        "os.rename .report.html",
    ),
    "features": (
        "embedded batch",
        "os.rename embeddings.npy",
        "os.rename embeddings.json",
        "probe",
        "os.rename .probe.safetensors",
        "scores",
        "fsync",
        "os.rename .model.new.tmp",
        "os.rename .suggestions.csv",
        "os.rename .report.html",
    ),
}


def go_on(whole, run):
    """The command that a user gives after a kill: resume, or fit once more where the run had not even begun."""
    begun = (run / "config.json").exists() and (run / "listing.json").exists()
    return ["resume", str(run)] if begun else whole.fit(run)


def finish(driver, whole, run):
    """Finish a run that was killed, and compare it with the one that was not."""
    answer = driver(go_on(whole, run))
    assert answer.ended == 0, answer
    assert differing(run, whole.run) == []
    assert names(run) == names(whole.run)


def test_a_run_killed_in_every_stage_ends_as_if_it_had_not_been(driver, whole, tmp_path):
    for stage in STAGES[whole.kind.name]:
        answer = driver(go_on(whole, tmp_path / "run"), kill_on=stage)
        assert answer.ended == -signal.SIGKILL, (stage, answer)
    finish(driver, whole, tmp_path / "run")


@pytest.mark.soak
def test_a_run_killed_again_and_again_ends_as_if_it_had_not_been(driver, whole, tmp_path):
    rng, kills = random.Random(2), 0
    while kills < 12:
        answer = driver(go_on(whole, tmp_path / "run"), kill_at=rng.randrange(len(whole.events) // 5))
        if answer.ended == 0:
            break
        assert answer.ended == -signal.SIGKILL, answer
        kills += 1
    assert kills >= 3
    finish(driver, whole, tmp_path / "run")


@pytest.mark.soak
def test_runs_killed_at_random_events_end_as_if_they_had_not_been(driver, whole, tmp_path):
    rng = random.Random(3)
    for event in rng.sample(range(len(whole.events)), 30):
        assert driver(whole.fit(tmp_path / "run"), kill_at=event).ended == -signal.SIGKILL
        finish(driver, whole, tmp_path / "run")
        shutil.rmtree(tmp_path / "run")


@pytest.mark.soak
def test_runs_killed_by_the_clock_end_as_if_they_had_not_been(driver, whole, tmp_path):
    rng, kills = random.Random(4), 0
    start = time.monotonic()
    assert driver(whole.fit(tmp_path / "first")).ended == 0
    longest = time.monotonic() - start
    for _ in range(15):
        kills += driver(whole.fit(tmp_path / "run"), seconds=rng.uniform(0, longest)).ended == -signal.SIGKILL
        finish(driver, whole, tmp_path / "run")
        shutil.rmtree(tmp_path / "run")
    assert kills >= 5


def test_a_kill_while_an_earlier_run_is_taken_over_costs_nothing_but_time(driver, wholes, tmp_path):
    whole = wholes["features"]
    (tmp_path / "fixed.csv").write_text(f"path,label\n{whole.photos / 'unlabeled' / '0-4.png'},blue\n")
    command = ["fit", "--continue", whole.run, "--corrections", tmp_path / "fixed.csv", *whole.kind.options, "--out"]
    undisturbed = driver([*command, tmp_path / "undisturbed"])
    assert undisturbed.ended == 0, undisturbed
    assert driver([*command, tmp_path / "run"], kill_on="os.rename .12px-").ended == -signal.SIGKILL
    assert driver(["resume", tmp_path / "run"]).ended == 0
    assert differing(tmp_path / "run", tmp_path / "undisturbed") == []
