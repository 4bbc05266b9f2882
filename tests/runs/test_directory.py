"""Run directories: made, opened, locked, never overwritten."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from curriculum_labeling.runs.directory import (
    CHECK,
    CONFIG,
    LOCK,
    OUTCOME,
    Run,
    RunError,
    check_out,
    create_run,
    open_run,
)


def made(folder, **options):
    """A run directory that was made and let go."""
    with create_run(folder, **options) as run:
        return run


def test_a_new_folder_becomes_a_run(tmp_path):
    run = made(tmp_path / "a" / "run")
    run.write(CONFIG, {"format": 1})
    assert open_run(run.folder).read(CONFIG) == {"format": 1}


def test_a_run_that_never_passed_its_data_check_gives_way_but_for_its_cache(tmp_path):
    made(tmp_path).write(CONFIG, {"format": 1})
    (tmp_path / "cache").mkdir()
    made(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {".lock", "cache"}


def test_an_existing_run_is_not_overwritten(tmp_path):
    made(tmp_path).write(CONFIG, {"format": 1})
    Run(tmp_path).write(CHECK, {})
    with pytest.raises(RunError, match=r"already holds an unfinished run; go on with `curriculum resume .*--force"):
        made(tmp_path)
    Run(tmp_path).write(OUTCOME, {})
    with pytest.raises(
        RunError, match=r"already holds a finished run; choose another --out, or replace it with --force"
    ):
        made(tmp_path)
    made(tmp_path, force=True)
    assert [path.name for path in tmp_path.iterdir()] == [LOCK]


def test_what_is_there_is_refused_before_anything_is_begun(tmp_path):
    check_out(tmp_path / "new", force=False)
    assert not (tmp_path / "new").exists()
    run = made(tmp_path / "run")
    check_out(run.folder, force=False)
    run.write(CONFIG, {"format": 1})
    run.write(CHECK, {})
    with pytest.raises(RunError, match=r"already holds an unfinished run"):
        check_out(run.folder, force=False)
    check_out(run.folder, force=True)
    assert run.has(CHECK)
    with run.locked(), pytest.raises(RunError, match=r"in use by another process"):
        check_out(run.folder, force=True)
    for taken in (tmp_path, run / CONFIG):
        with pytest.raises(RunError, match=r"--out must be"):
            check_out(taken, force=True)


def test_a_folder_with_other_files_is_never_replaced(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(RunError, match=r"--out must be a new or empty folder, got .*which holds other files"):
        made(tmp_path, force=True)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


@pytest.mark.parametrize("name", ["config.json", ".lock"])
def test_a_folder_with_a_file_named_like_one_of_ours_is_not_taken_for_a_run(tmp_path, name):
    (tmp_path / name).write_text("{}")
    (tmp_path / "thesis.tex").write_text("years of work")
    for force in (False, True):
        with pytest.raises(RunError, match=r"--out must be a new or empty folder, got .*which holds other files"):
            made(tmp_path, force=force)
    assert {path.name for path in tmp_path.iterdir()} == {name, "thesis.tex"}


def test_a_folder_that_was_only_locked_is_as_good_as_new(tmp_path):
    (tmp_path / LOCK).touch()
    (tmp_path / ".config.json.123.tmp").touch()
    made(tmp_path).write(CONFIG, {"format": 1})
    assert open_run(tmp_path).has(CONFIG)


@pytest.mark.parametrize("removals", range(4))
def test_a_replacement_that_is_stopped_anywhere_can_be_made_again(tmp_path, monkeypatch, removals):
    run = made(tmp_path)
    for name in (CONFIG, CHECK, OUTCOME, "rounds/0/metrics.json"):
        run.write(name, {})
    left = iter(range(removals))

    def stopping(remove):
        def removing(path, **options):
            if next(left, None) is None:
                raise KeyboardInterrupt
            remove(path, **options)

        return removing

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", stopping(shutil.rmtree))
        patched.setattr(Path, "unlink", stopping(Path.unlink))
        with pytest.raises(KeyboardInterrupt):
            made(tmp_path, force=True)
    made(tmp_path, force=True)
    assert [path.name for path in tmp_path.iterdir()] == [LOCK]


def test_a_file_is_no_run_directory(tmp_path):
    (tmp_path / "run").write_text("")
    with pytest.raises(RunError, match=r"--out must be a folder, got .*which is a file"):
        made(tmp_path / "run")


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff\xfe", b"[" * 100_000])
def test_a_damaged_file_is_named(tmp_path, content):
    run = made(tmp_path)
    (tmp_path / CONFIG).write_bytes(content)
    with pytest.raises(RunError, match=r"config\.json is damaged \(.*\); restore it"):
        run.read(CONFIG)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(RunError, match=r"images\.json is missing, so .* is no complete run"):
        made(tmp_path).read("images.json")


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(RunError, match=r"RUN must be the folder of a run, got .*where there is none"):
        open_run(tmp_path / "nowhere")
    with pytest.raises(RunError, match=r"RUN must be the folder of a run, got .*which has no config\.json"):
        open_run(tmp_path)


def test_a_run_of_another_format_is_refused(tmp_path):
    made(tmp_path).write(CONFIG, {"format": 99})
    with pytest.raises(RunError, match=r"was written in format 99, and this version reads format 1"):
        open_run(tmp_path)


def test_a_second_process_is_told_that_the_run_is_in_use(tmp_path):
    run = made(tmp_path)
    code = (
        "from pathlib import Path; from curriculum_labeling.runs.directory import Run\n"
        f"with Run(Path({str(tmp_path)!r})).locked(): pass"
    )
    with run.locked():
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "is in use by another process" in other.stderr
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_of_two_that_begin_at_once_the_second_is_told_and_writes_nothing(tmp_path):
    with create_run(tmp_path / "run"):
        with pytest.raises(RunError, match=r"run is in use by another process; wait for it, or choose another"):
            made(tmp_path / "run", force=True)
        assert [path.name for path in (tmp_path / "run").iterdir()] == [LOCK]
    made(tmp_path / "run")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(RunError, match=r"--out must be a folder that can be written to, got .*Permission denied"):
        made(tmp_path / "run")
