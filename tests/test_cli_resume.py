"""Runs that are stopped, taken up again, damaged or met by a second process."""

import csv
import json
import re
import signal
import subprocess
import sys
import time

import pytest

from curriculum_labeling.cli import main
from curriculum_labeling.runs.directory import Run
from curriculum_labeling.runs.fit import Job
from tests.test_cli import QUICK, fit, lay_out, read_csv, refused


@pytest.fixture
def photos(tmp_path):
    return lay_out(tmp_path)


SLOW = ["--passes", "8", "--validation", "2", "--step", "100", "--threads", "1"]


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    """A run that nobody stops, and its photos."""
    folder = lay_out(tmp_path_factory.mktemp("undisturbed"))
    assert main(fit(folder, *SLOW)) == 0
    return folder


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_run_resumes_to_the_very_same_result(undisturbed, tmp_path, number):
    command = fit(undisturbed, *SLOW)
    command[4] = str(tmp_path / "run")
    arguments = [sys.executable, "-m", "curriculum_labeling.cli", *command]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        deadline = time.monotonic() + 300
        while not list(tmp_path.glob("run/checkpoints/*/progress.json")) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(number)
        said = process.communicate(timeout=300)[0]
    assert process.returncode == (-9 if number == signal.SIGKILL else 130)
    if number != signal.SIGKILL:
        assert "curriculum resume" in said
    assert main(["resume", str(tmp_path / "run")]) == 0
    for name in ("ledger.csv", "rounds/1/model.safetensors", "model/weights.safetensors", "suggestions.csv"):
        assert (tmp_path / "run" / name).read_bytes() == (undisturbed / "run" / name).read_bytes(), name


def test_a_stop_while_images_are_scored_is_heeded_at_once(undisturbed, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("curriculum_labeling.data.progress.TELL_SECONDS", 0.0)
    seen, update = [], Job.update

    def stop_at_scoring(job, name, *rest):
        seen.append(name)
        job.stop.asked = job.stop.asked or name == "main, round 0, scoring"
        update(job, name, *rest)

    command = fit(undisturbed, *SLOW)
    command[4] = str(tmp_path / "run")
    with monkeypatch.context() as patched:
        patched.setattr(Job, "update", stop_at_scoring)
        assert main(command) == 130
    assert "curriculum resume" in capsys.readouterr().out
    assert "main, round 0" in seen
    assert seen[-1] == "main, round 0, scoring"
    assert main(["resume", str(tmp_path / "run")]) == 0
    assert (tmp_path / "run/ledger.csv").read_bytes() == (undisturbed / "run/ledger.csv").read_bytes()


def test_damaged_weights_of_a_round_are_repaired_on_resume(photos):
    assert main(fit(photos, *QUICK)) == 0
    weights = photos / "run/rounds/0/model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:100])
    (photos / "run/outcome.json").unlink()
    assert main(["resume", str(photos / "run")]) == 0
    assert weights.read_bytes() == whole


def test_a_full_disk_is_told_and_the_run_resumes(photos):
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000));"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "from curriculum_labeling.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    full = subprocess.run([sys.executable, "-c", code, *fit(photos, *QUICK)], capture_output=True, text=True)
    assert full.returncode == 2, full.stderr
    assert "Traceback" not in full.stderr
    assert "File too large" in full.stderr
    assert main(["resume", str(photos / "run")]) == 0
    assert (photos / "run/report.html").is_file()


def test_a_run_of_another_version_is_not_resumed(photos, capsys):
    assert main(fit(photos, *QUICK)) == 0
    (photos / "run/outcome.json").unlink()
    config = json.loads((photos / "run/config.json").read_text())
    (photos / "run/config.json").write_text(json.dumps({**config, "version": "0.0.0"}))
    assert "was begun with version 0.0.0" in refused(capsys, "resume", str(photos / "run"))


def test_a_finished_run_of_another_version_still_suggests(photos, tmp_path):
    assert main(fit(photos, *QUICK)) == 0
    config = json.loads((photos / "run/config.json").read_text())
    (photos / "run/config.json").write_text(json.dumps({**config, "version": "0.0.0"}))
    assert main(["suggest", str(photos / "run"), "-n", "2", "--out", str(tmp_path / "next.csv")]) == 0
    assert len(read_csv(tmp_path / "next.csv")) == 2


def test_relative_paths_work_from_any_folder(photos, monkeypatch, tmp_path_factory):
    monkeypatch.chdir(photos)
    assert main(["fit", "labeled", "unlabeled", "--out", "run", *QUICK]) == 0
    suggestions = read_csv("run/suggestions.csv")
    with open("run/suggestions.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, suggestions[0])
        writer.writeheader()
        writer.writerows(suggestions[:3])
    assert main(["fit", "--continue", "run", "--corrections", "run/suggestions.csv", "--out", "run-2", *QUICK]) == 0
    (photos / "run/outcome.json").unlink()
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert main(["resume", str(photos / "run")]) == 0
    assert main(["suggest", str(photos / "run"), "-n", "2"]) == 0


def test_images_that_vanished_are_named_and_nothing_is_rewritten(photos, capsys):
    assert main(fit(photos, *QUICK)) == 0
    before = (photos / "run/images.json").read_bytes()
    (photos / "unlabeled/0-0.png").unlink()
    assert "the images have changed since this run began" in refused(capsys, "suggest", str(photos / "run"))
    (photos / "run/outcome.json").unlink()
    assert "0-0.png cannot be read any more" in refused(capsys, "resume", str(photos / "run"))
    assert (photos / "run/images.json").read_bytes() == before


def test_a_report_that_is_missing_is_written_on_resume(photos):
    assert main(fit(photos, *QUICK)) == 0
    (photos / "run/report.html").unlink()
    assert main(["resume", str(photos / "run")]) == 0
    assert (photos / "run/report.html").is_file()


def test_a_run_directory_that_another_process_has_taken_is_left_as_it_is(photos, capsys):
    (photos / "run").mkdir()
    with Run(photos / "run").locked():
        assert "run is in use by another process" in refused(capsys, *fit(photos, *QUICK))
        assert [path.name for path in (photos / "run").iterdir()] == [".lock"]


def test_of_two_processes_that_begin_at_once_one_ends_well_and_one_is_refused(photos):
    command = [sys.executable, "-m", "curriculum_labeling.cli", *fit(photos, *QUICK)]
    both = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = {process.communicate(timeout=300)[1].strip(): process.returncode for process in both}
    assert said.pop("") == 0
    ((sentence, code),) = said.items()
    assert code == 2
    assert re.search("run (is in use by another process|already holds a)", sentence)
    assert (photos / "run/report.html").is_file()
