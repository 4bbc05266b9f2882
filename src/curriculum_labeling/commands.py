"""What each command does, between the command line and the run directory."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from curriculum_labeling import screen
from curriculum_labeling.data import folders
from curriculum_labeling.data.atomic import remove_leavings
from curriculum_labeling.report.page import write_report
from curriculum_labeling.runs import again
from curriculum_labeling.runs.directory import CONFIG, MODEL, Run, RunError, open_run
from curriculum_labeling.runs.estimate import estimate_seconds
from curriculum_labeling.runs.finished import check_tables, check_weights, has_whole_report, tidy
from curriculum_labeling.runs.fit import Job, fit
from curriculum_labeling.runs.options import FitOptions
from curriculum_labeling.runs.predictions_csv import write_predictions
from curriculum_labeling.runs.start import begin, continue_run, reopen
from curriculum_labeling.runs.stopping import stop_request
from curriculum_labeling.vision.backbones import open_backbone
from curriculum_labeling.vision.delivered import Delivered
from curriculum_labeling.vision.model_folder import read_model
from curriculum_labeling.vision.predict import Prediction, predict_files

INTERRUPTED = 130
_NOTHING = "IMAGES must hold images that can be read, got none{}."


def run_fit(
    console: Console,
    labeled: Path | None,
    unlabeled: Path | None,
    out: Path,
    options: FitOptions,
    *,
    force: bool = False,
    before: Path | None = None,
    corrections: Path | None = None,
    started: float | None = None,
) -> int:
    """`curriculum fit` with sources that `check_sources` lets pass; the time of the run counts from `started`."""
    allow_own_modules(options.features)
    with stop_request() as stop, screen.progress_of(console) as show:
        if before is None:
            assert labeled is not None
            assert unlabeled is not None
            with begin(labeled, unlabeled, out, options, force=force, show=show, stop=stop, started=started) as job:
                return plan_and_finish(console, job)
        sources = None if labeled is None or unlabeled is None else (labeled, unlabeled)
        with continue_run(
            before, corrections, sources, out, options, force=force, show=show, stop=stop, started=started
        ) as (job, changed):
            console.print(f"New or corrected labels since {escape(str(before))}: {changed:,}.", soft_wrap=True)
            return plan_and_finish(console, job)


def plan_and_finish(console: Console, job: Job) -> int:
    """Show what will be done, then do it."""
    screen.show_plan(console, job, estimate_seconds(job.choices, job.listing))
    return finish(console, job)


def run_resume(console: Console, folder: Path) -> int:
    """`curriculum resume`."""
    run = open_run(folder)
    if run.finished:
        return _look_again(console, run)
    allow_own_modules(run.read(CONFIG).get("backbone"))
    with run.locked(), stop_request() as stop, screen.progress_of(console) as show:
        return finish(console, reopen(folder, show=show, stop=stop))


def finish(console: Console, job: Job) -> int:
    """Run a fit, whose run is locked, to its end or to an orderly stop."""
    job = replace(job, announce=screen.announce_to(console))
    if job.run.finished:  # by the process that had the lock until now
        return _say_finished(console, job.run)
    remove_leavings(job.run.folder)
    try:
        outcome = fit(job)
        report = write_report(job.run.folder)
    except KeyboardInterrupt:
        job.clock.save()
        again = shlex.join(["curriculum", "resume", str(job.run.folder)])
        console.print(f"Stopped, nothing is lost. Go on with: {escape(again)}", soft_wrap=True)
        return INTERRUPTED
    screen.show_outcome(console, job, outcome, report)
    return 0


def run_predict(
    console: Console, folder: Path, images: tuple[Path, ...], out: Path | None, features: str | None
) -> int:
    """`curriculum predict`."""
    found = predict_files(delivered(folder, features), _files(images))
    if out is not None:
        count, unreadable = write_predictions(out, found)
        if not count:
            raise ValueError(
                _NOTHING.format(f"; {unreadable:,} could not, see the column error of {out}" if unreadable else "")
            )
        left_out = f"; files that could not be read: {unreadable:,}, see its column error" if unreadable else ""
        console.print(f"{count:,} predictions in {escape(str(out))}{left_out}", soft_wrap=True)
        return 0
    count = 0
    for one in found:
        count += one.error is None
        console.print(escape(_line(one)), soft_wrap=True, highlight=False)
    if not count:
        raise ValueError(_NOTHING.format(""))
    return 0


def run_report(console: Console, folder: Path) -> int:
    """`curriculum report`."""
    run = _finished(folder)
    with run.locked():
        check_tables(run)
        console.print(f"report: {escape(str(write_report(run.folder)))}", soft_wrap=True)
    return 0


def run_export(console: Console, folder: Path, kind: str, out: Path | None, features: str | None) -> int:
    """`curriculum export`."""
    from curriculum_labeling.vision.export import export_onnx, export_safetensors

    export = export_onnx if kind == "onnx" else export_safetensors
    target = out or folder / f"model.{kind}"
    if not target.parent.is_dir():
        raise ValueError(f"--out must lie in a folder that exists, got {target}; make {target.parent} first.")
    console.print(f"model: {escape(str(export(delivered(folder, features), target)))}", soft_wrap=True)
    return 0


def run_suggest(console: Console, folder: Path, number: int, out: Path | None) -> int:
    """`curriculum suggest`."""
    run = _finished(folder)
    allow_own_modules(run.read(CONFIG).get("backbone"))
    with run.locked():
        path, count = again.suggest_again(run, number, out)
        if out is None:
            check_tables(run)
            write_report(run.folder)
    console.print(f"{count} images to label next: {escape(str(path))}", soft_wrap=True)
    return 0


def delivered(folder: Path, features: str | None) -> Delivered:
    """The model of a run, or of a model folder; code of the user's runs only where the user names it."""
    allow_own_modules(features)
    backbone = None if features is None else open_backbone(features)
    if (folder / MODEL).is_dir():
        return read_model(folder / MODEL, backbone=backbone)
    if (folder / "model.json").is_file():
        return read_model(folder, backbone=backbone)
    open_run(folder)
    raise RunError(f"{folder} has no model yet; finish it with `curriculum resume {folder}`.")


def allow_own_modules(features: str | None) -> None:
    """Let package.module:function be found in the current folder, as `python -m` would."""
    if features is not None and ":" in features and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())


def _look_again(console: Console, run: Run) -> int:
    """A finished run: what a kill at its very end left open is done, and what is damaged is named."""
    with run.locked():
        tidy(run)
        check_tables(run)
        check_weights(run)
        if not has_whole_report(run):
            console.print(f"report: {escape(str(write_report(run.folder)))}", soft_wrap=True)
    return _say_finished(console, run)


def _say_finished(console: Console, run: Run) -> int:
    console.print(f"{escape(str(run.folder))} is finished; there is nothing to resume.", soft_wrap=True)
    return 0


def _finished(folder: Path) -> Run:
    run = open_run(folder)
    if not run.finished:
        raise RunError(f"{folder} is not finished; go on with `curriculum resume {folder}`.")
    return run


def _files(images: tuple[Path, ...]) -> Iterator[str]:
    for path in images:
        if path.is_dir():
            yield from folders.walk(path, set())
        else:
            yield os.fspath(path)


def _line(one: Prediction) -> str:
    if one.error is not None:
        return f"{one.path}\tunreadable: {one.error}"
    return f"{one.path}\t{one.label}\t{one.confidence:.3f}"
