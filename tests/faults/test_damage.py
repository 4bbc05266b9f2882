"""Files cut short or lost, as a power cut may do: repaired with the identical result, or named in one sentence."""

import os
import shutil
import signal

import pytest

from tests.faults.scenes import differing


def halve(path):
    """Cut a file in two; suggestions.csv not at the end of a line, which nobody can tell from an edit of the user's."""
    size = path.stat().st_size // 2
    at_line_end = path.read_bytes()[:size].endswith(b"\n")
    os.truncate(path, size - 1 if at_line_end and path.name == "suggestions.csv" else size)


HARMS = {
    "emptied": lambda path: os.truncate(path, 0),
    "halved": halve,
    "cut by a byte": lambda path: os.truncate(path, max(0, path.stat().st_size - 1)),
    "deleted": lambda path: path.unlink(),
}
LOST = ("ledger.csv", "check.json", "rounds/1/scores.npz", "rounds/0/metrics.json", "model/model.json")
NO_PICTURES = "The image cache of this run is gone"


def files(run):
    return sorted(str(path.relative_to(run)) for path in run.rglob("*") if path.is_file() and path.suffix != ".lock")


def commands(whole, run, out):
    """The commands that read a run, and the file each of them writes."""
    backbone = ["--features", "tests.faults.scenes:colors"] if whole.kind.name == "features" else []
    return {
        "predict": (["predict", run, whole.photos / "unlabeled", "--out", out / "p.csv", *backbone], out / "p.csv"),
        "suggest": (["suggest", run, "--number", "7", "--out", out / "s.csv"], out / "s.csv"),
        "report": (["report", run], run / "report.html"),
        "resume": (["resume", run], None),
    }


@pytest.fixture(scope="session")
def answers(driver, wholes, tmp_path_factory):
    """What each command writes for each undisturbed run."""
    found = {}
    for name, whole in wholes.items():
        out = tmp_path_factory.mktemp("answers")
        run = shutil.copytree(whole.run, out / "run")
        for command, (arguments, written) in commands(whole, run, out).items():
            assert driver(arguments).ended == 0
            found[name, command] = written and written.read_bytes()
    return found


def stop_at(driver, whole, run, stage):
    """An interrupted run, killed at the last event of a stage."""
    event = max(i for i, name in enumerate(whole.events) if name.startswith(stage))
    assert driver(whole.fit(run), kill_at=event).ended == -signal.SIGKILL
    return run


def try_all(driver, whole, answers, source, name, harm, folder, given=("predict", "suggest", "report", "resume")):
    """Damage a file in copies of a run, give each command, and check that it did what is promised."""
    for command in given:
        run = shutil.copytree(source, folder / f"{command}-run")
        HARMS[harm](run / name)
        arguments, written = commands(whole, run, folder)[command]
        answer = driver(arguments)
        told = f"{harm} {name}: {command} {answer.ended} {answer.err.strip()}"
        assert "Traceback" not in answer.err, told
        if answer.ended == 2:
            assert len(answer.err.strip().splitlines()) == 1, told
            assert is_named(name, run, answer.err), told
        else:
            assert answer.ended == 0, told
            assert_right(command, whole, answers, run, written, told)
        shutil.rmtree(run)
        if written:
            written.unlink(missing_ok=True)


def is_named(name, run, said):
    """Whether a sentence names the damaged file, or its folder where that is to be deleted, or asks to resume first."""
    if not (run / "outcome.json").exists() and ("is not finished" in said or "has no model yet" in said):
        return True
    return os.path.basename(name) in said or (name.startswith(("cache", "checkpoints")) and str(run) in said)


def assert_right(command, whole, answers, run, written, told):
    """What the command came to is what it comes to without any damage."""
    if command == "resume":
        assert differing(run, whole.run) == [], told
        return
    found = written.read_bytes()
    # A report may do without pictures, and says so itself.
    if command == "report" and NO_PICTURES in found.decode():
        assert "cache" in told, told
        return
    assert found == answers[whole.kind.name, command], told


@pytest.fixture
def interrupted(driver, wholes, tmp_path):
    """A run that was killed right before it would have been finished, so that it has every file a run can have."""
    return stop_at(driver, wholes["network"], tmp_path / "interrupted", "os.rename .outcome.json")


def test_no_damaged_file_of_a_finished_run_changes_a_result(driver, wholes, answers, tmp_path):
    whole = wholes["network"]
    for number, name in enumerate(files(whole.run)):
        harm = list(HARMS)[number % len(HARMS)]
        # Drawing a report takes longest, so only some are tried.
        given = ("predict", "suggest", "resume", *(["report"] if number % 4 == 0 else []))
        try_all(driver, whole, answers, whole.run, name, harm, tmp_path, given)


def test_no_damaged_file_of_an_interrupted_run_changes_a_result(driver, wholes, answers, interrupted, tmp_path):
    for name, harm in (("rounds/1/model.safetensors", "halved"), ("rounds/0/scores.npz", "emptied")):
        try_all(driver, wholes["network"], answers, interrupted, name, harm, tmp_path, ("resume",))


@pytest.mark.parametrize(
    "harm", ["emptied", *(pytest.param(h, marks=pytest.mark.soak) for h in ("halved", "cut by a byte"))]
)
def test_a_checkpoint_or_cache_that_is_damaged_can_be_deleted_as_the_message_says(driver, wholes, tmp_path, harm):
    whole = wholes["network"]
    run = stop_at(driver, whole, tmp_path / "run", "trained")
    for place in (next(run.glob("checkpoints/*/*.safetensors")), next(run.glob("cache/*/pixels.npy"))):
        HARMS[harm](place)
        said = driver.refused(["resume", run])
        assert f"{place.parent}" in said
        assert "delete" in said
        shutil.rmtree(place.parent)
    assert driver(["resume", run]).ended == 0
    assert differing(run, whole.run) == []


def test_a_lost_file_comes_back_as_the_message_says(driver, wholes, tmp_path):
    whole = wholes["network"]
    run = shutil.copytree(whole.run, tmp_path / "run")
    for name in LOST:
        whole_file = (run / name).read_bytes()
        HARMS["halved"](run / name)
        assert str(run / name) in driver.refused(["resume", run])
        (run / name).write_bytes(whole_file)
    for name in (*LOST, "outcome.json"):
        (run / name).unlink()
    assert driver(["resume", run]).ended == 0
    assert differing(run, whole.run) == []


def test_a_report_that_was_cut_short_is_written_anew(driver, wholes, answers, tmp_path):
    run = shutil.copytree(wholes["network"].run, tmp_path / "run")
    HARMS["halved"](run / "report.html")
    assert driver(["resume", run]).ended == 0
    assert (run / "report.html").read_bytes() == answers["network", "report"]


@pytest.mark.soak
@pytest.mark.parametrize("harm", HARMS)
def test_every_damage_of_a_finished_run(driver, whole, answers, tmp_path, harm):
    for name in files(whole.run):
        try_all(driver, whole, answers, whole.run, name, harm, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("stage", ["scores", "os.rename .outcome.json"])
@pytest.mark.parametrize("turn", range(2))
def test_every_file_of_an_interrupted_run_damaged(driver, whole, answers, tmp_path, stage, turn):
    source = stop_at(driver, whole, tmp_path / "interrupted", stage)
    for number, name in enumerate(files(source)):
        harm = list(HARMS)[(number + turn) % len(HARMS)]
        try_all(driver, whole, answers, source, name, harm, tmp_path)
