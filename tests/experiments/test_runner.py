"""Cells from files to results: finished, interrupted, failed, shared."""

import json
import os
import socket
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from curriculum_labeling.data.locks import exclusive
from curriculum_labeling.experiments import runner
from curriculum_labeling.experiments.ablations import table_6, table_7
from curriculum_labeling.experiments.catalog import EXPERIMENTS
from curriculum_labeling.experiments.cells import name_of
from curriculum_labeling.experiments.comparisons import CL_RA_MIXUP, IMAGENET, figure_3, on_svhn
from curriculum_labeling.experiments.gallery import read
from curriculum_labeling.experiments.points import Experiment, Point
from curriculum_labeling.experiments.results import Results
from curriculum_labeling.experiments.runner import GALLERY, Job, run
from curriculum_labeling.experiments.sources import Sources
from curriculum_labeling.experiments.workers import STEPS_BETWEEN_QUESTIONS, Worker, agreed
from curriculum_labeling.vision.distributed import Group
from curriculum_labeling.vision.training import DivergedError
from tests.experiments.layouts import PLAIN, TINY

ROOT = Path(__file__).parents[2]


def job_of(*cells, out, data, **options):
    points = tuple(Point(name_of(cell), "error", cell) for cell in cells)
    chosen = {"seeds": 1, "device": "cpu", **options}
    experiment = Experiment("table-0", "Some cells", "cell", points)
    return Job(experiment, TINY, out=out, sources=Sources(data, out / "images"), **chosen)


def results_of(job):
    return [Results(job.out).read(task) for task in job.tasks]


def rounds_of(job):
    """What came out, but for the time it took."""
    return [[replace(one, seconds=0.0) for one in result.rounds] for result in results_of(job)]


def test_a_cell_leaves_a_file_with_everything_about_its_rounds(data, tmp_path):
    job = job_of(PLAIN, out=tmp_path, data=data)
    run(job)
    (result,) = results_of(job)
    assert result.finished
    assert [one.selected for one in result.rounds] == [0, 5, 10, 14, 19, 24]
    assert [one.percentile for one in result.rounds] == [None, 80, 60, 40, 20, 0]
    assert [one.passes for one in result.rounds] == [48, 45, 42, 46, 44, 48]
    for one in result.rounds:
        assert 0 <= one.test_error <= 1
        assert one.seconds > 0
        assert one.foreign == 0
        assert (one.pseudo_accuracy is None) == (one.number == 0)
    content = json.loads((tmp_path / "cells" / f"{name_of(PLAIN)}-seed0.json").read_text())
    assert content["settings"]["batch"] == "8"
    assert not list((tmp_path / "checkpoints").iterdir())


def test_finished_cells_are_not_run_again(data, tmp_path):
    job = job_of(PLAIN, out=tmp_path, data=data)
    run(job)
    before = Results(tmp_path).path(job.tasks[0]).stat().st_mtime_ns
    run(replace(job, sources=Sources(None, tmp_path)))
    assert Results(tmp_path).path(job.tasks[0]).stat().st_mtime_ns == before


def test_an_interrupted_cell_goes_on_and_ends_as_if_it_had_not_been(data, tmp_path):
    whole = job_of(replace(CL_RA_MIXUP, fine_tuned=True), out=tmp_path / "whole", data=data)
    run(whole)
    steps = 0

    def stop():
        nonlocal steps
        steps += 1
        return steps % 5 == 0

    broken = job_of(replace(CL_RA_MIXUP, fine_tuned=True), out=tmp_path / "broken", data=data, stop=stop)
    stops = 0
    while True:
        try:
            run(broken)
            break
        except KeyboardInterrupt:
            stops += 1
            assert not Results(broken.out).finished(broken.tasks[0])
    assert stops >= 3
    assert rounds_of(whole) == rounds_of(broken)


def test_a_failed_cell_is_written_down_loses_no_other_and_is_tried_again(data, tmp_path, monkeypatch):
    def diverge(*_):
        raise DivergedError("training diverged in round 0.\nMore about it.")

    job = job_of(on_svhn(PLAIN), PLAIN, out=tmp_path, data=data / "cifar10")
    with monkeypatch.context() as broken:
        broken.setattr(runner, "measure", diverge)
        run(job)
    missing, diverged = results_of(job)
    assert "--data must hold SVHN as published" in missing.reason
    assert (diverged.state, diverged.reason, diverged.rounds) == ("failed", "training diverged in round 0.", ())
    run(job)
    assert [result.state for result in results_of(job)] == ["failed", "finished"]
    run(replace(job, sources=Sources(data, tmp_path)))
    assert [result.state for result in results_of(job)] == ["finished", "finished"]


def test_errors_that_are_ours_are_not_swallowed(data, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "measure", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run(job_of(PLAIN, out=tmp_path, data=data))


def test_fine_tuning_differs_from_round_1_on(data, tmp_path):
    job = job_of(*table_7.cells, out=tmp_path, data=data)
    run(job)
    scratch, tuned = ([one.threshold for one in rounds] for rounds in rounds_of(job))
    assert scratch[1] == tuned[1]
    assert scratch[2:] != tuned[2:]


def test_imagenet_has_top_5_and_a_gallery(data, tmp_path):
    job = job_of(IMAGENET, out=tmp_path, data=data)
    run(job)
    (result,) = results_of(job)
    assert result.finished, result.reason
    assert [one.top5_error for one in result.rounds] == [0.0] * 6  # there are two classes
    gallery = read(Results(tmp_path).path(job.tasks[0], GALLERY))
    assert gallery.pixels.shape[1:] == (16, 16, 3)
    assert set(gallery.classes) <= {0, 1}


def test_foreign_rows_are_counted_and_never_right(data, tmp_path):
    cells = [replace(cell, whitening=False) for cell in figure_3.cells if cell.foreign in (0.0, 1.0)]
    job = job_of(*cells, out=tmp_path, data=data)
    run(job)
    for cell, result in zip(cells, results_of(job), strict=True):
        last = result.rounds[-1]
        assert last.foreign == (last.selected if cell.foreign else 0)
        assert (last.pseudo_accuracy == 0) == bool(cell.foreign)


def test_a_threshold_that_nobody_reaches_selects_nothing(data, tmp_path):
    job = job_of(replace(table_6.cells[1], whitening=False), out=tmp_path, data=data)
    run(job)
    (result,) = results_of(job)
    assert [one.selected for one in result.rounds] == [0] * 6
    assert [one.threshold for one in result.rounds] == [None] * 6


def test_results_of_another_scale_are_refused(data, tmp_path):
    job = job_of(PLAIN, out=tmp_path, data=data)
    run(job)
    with pytest.raises(ValueError, match=r"seed0.json was made with other settings, or at another scale; choose"):
        run(replace(job, scale=replace(TINY, passes=24)))


def test_a_damaged_result_is_named(data, tmp_path):
    job = job_of(PLAIN, out=tmp_path, data=data)
    (tmp_path / "cells").mkdir()
    Results(tmp_path).path(job.tasks[0]).write_text("{}")
    with pytest.raises(ValueError, match=r"seed0.json is damaged .* delete it, and its cell runs again"):
        run(job)


def test_two_moons_are_cells_like_others(tmp_path):
    experiment = EXPERIMENTS["figure-4"]
    job = Job(experiment, TINY, 1, tmp_path, Sources(None, tmp_path))
    run(job)
    pseudo, paced = results_of(job)
    assert [one.selected for one in pseudo.rounds] == [0, 592, 592, 592, 592, 592]
    assert paced.rounds[-1].selected == 592


def test_workers_begin_with_their_own_cells_and_then_help():
    tasks = job_of(*table_6.cells, *table_7.cells, out=Path(), data=None).tasks
    assert Worker(0, 2).order(tasks) == [*tasks[::2], *tasks[1::2]]
    assert Worker(1, 2).order(tasks) == [*tasks[1::2], *tasks[::2]]
    assert Worker.parse("1/2") == Worker(1, 2)


@pytest.mark.parametrize("text", ["2/2", "1", "a/b", "-1/2", "0/0"])
def test_a_worker_is_i_of_n(text):
    with pytest.raises(ValueError, match=f"--worker must be i/n with i from 0 to n-1, such as 0/2, got {text}"):
        Worker.parse(text)


def test_a_cell_that_another_process_runs_is_left_to_it(data, tmp_path):
    job = job_of(PLAIN, on_svhn(PLAIN), out=tmp_path, data=data)
    (tmp_path / "cells").mkdir()
    code = (
        "import sys, pathlib; from curriculum_labeling.data.locks import exclusive\n"
        "with exclusive(pathlib.Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    lock = tmp_path / "cells" / f".{job.tasks[0].stem}.lock"
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout.readline() == "held\n"
    run(job)
    other.communicate("")
    assert [result is not None for result in results_of(job)] == [False, True]
    run(job)
    assert all(result.finished for result in results_of(job))


def test_two_workers_at_once_run_every_cell_once(data, tmp_path, monkeypatch):
    ran, whole = [], runner.run_task

    def counted(job, task, *others):
        ran.append(task)
        whole(job, task, *others)

    monkeypatch.setattr(runner, "run_task", counted)
    cells = [replace(cell, whitening=False) for cell in table_6.cells]
    jobs = [job_of(*cells, out=tmp_path, data=data, worker=Worker(i, 2)) for i in (0, 1)]
    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(task.stem for task in ran) == sorted(task.stem for task in jobs[0].tasks)


def test_progress_says_cell_round_and_time_left(data, tmp_path):
    stages = []
    run(job_of(PLAIN, on_svhn(PLAIN), out=tmp_path, data=data, show=stages.append))
    assert stages[0].name == f"cell 1 of 2: {name_of(PLAIN)}-seed0"
    assert stages[1].name.endswith("-seed0, round 0")
    assert stages[1].total == 2
    assert stages[-1].name.startswith("cell 2 of 2")
    assert stages[1].run_seconds_left > stages[1].seconds_left
    assert stages[-1].run_seconds_left == 0


def test_processes_under_torchrun_share_a_cell(data, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tests.experiments.together", str(data), str(tmp_path)]
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"}
    ranks = [{**os.environ, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in (0, 1)]
    running = [subprocess.Popen(command, cwd=ROOT, env=environment) for environment in ranks]
    assert [one.wait(timeout=120) for one in running] == [0, 0]
    job = job_of(PLAIN, IMAGENET, out=tmp_path, data=data)
    for result in results_of(job):
        assert result.finished, result.reason
        assert "2 processes" in result.machine


def test_a_lock_is_free_again_after_the_run(data, tmp_path):
    job = job_of(PLAIN, out=tmp_path, data=data)
    run(job)
    with exclusive(tmp_path / "cells" / f".{job.tasks[0].stem}.lock"):
        pass


def test_a_group_stops_at_one_step_whoever_was_asked():
    class Two(Group):
        def add_counts(self, counts):
            asked.append(int(counts[0]))
            return counts + 1  # the other process was asked

    asked = []
    stop = agreed(lambda: False, Two(0, 2))
    assert [stop() for _ in range(STEPS_BETWEEN_QUESTIONS)] == [False] * (STEPS_BETWEEN_QUESTIONS - 1) + [True]
    assert asked == [0]
    assert agreed(bool, Group()) is bool
