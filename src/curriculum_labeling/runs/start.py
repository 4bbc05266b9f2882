"""How a run begins, and how one that was stopped is taken up again: from arguments, or from config.json."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, fields, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import curriculum_labeling
from curriculum_labeling.data.listing import Listing
from curriculum_labeling.data.typed import brief, build, fits
from curriculum_labeling.pacing import PercentilePacing
from curriculum_labeling.runs.choices import Choices, Machine, choose, from_anywhere, pieces_for
from curriculum_labeling.runs.clock import Clock
from curriculum_labeling.runs.directory import CONFIG, FORMAT, Run, RunError, create_run, open_run
from curriculum_labeling.runs.fit import CACHE, Job
from curriculum_labeling.runs.options import FitOptions
from curriculum_labeling.runs.settings import measured_pace
from curriculum_labeling.runs.sources import apply_corrections, list_sources, read_truth
from curriculum_labeling.runs.stages import Show
from curriculum_labeling.runs.stopping import StopRequest
from curriculum_labeling.vision.devices import choose_device

LISTING = "listing.json"
PACKAGES = ("numpy", "scipy", "scikit-learn", "torch", "Pillow", "safetensors", "simplejpeg")


def machine_of(options: FitOptions) -> Machine:
    """The machine as this run will use it."""
    try:
        device = choose_device(options.device)
    except RuntimeError as error:
        raise ValueError(f"--device must be auto, cpu, cuda or mps, got {options.device}.") from error
    except ValueError as error:
        raise ValueError(f"--{error}") from error
    return Machine(str(device), options.threads or os.cpu_count() or 1)


def begin(
    labeled: Path,
    unlabeled: Path,
    out: Path,
    options: FitOptions,
    *,
    force: bool,
    show: Show,
    stop: StopRequest,
    started: float | None = None,
) -> AbstractContextManager[Job]:
    """A new run, locked while the block lasts: everything that can be refused is refused before any long work."""
    listing = list_sources(labeled, unlabeled)
    return _begin(listing, (labeled, unlabeled), out, options, force=force, show=show, stop=stop, started=started)


@contextmanager
def continue_run(
    before: Path,
    corrections: Path | None,
    sources: tuple[Path, Path] | None,
    out: Path,
    options: FitOptions,
    *,
    force: bool,
    show: Show,
    stop: StopRequest,
    started: float | None = None,
) -> Iterator[tuple[Job, int]]:
    """A new run, locked as any, that takes over the images and features of another, with new or corrected labels.

    Labels come from the folders as they are now, or from the run before where those are gone;
    corrections are put on top, and options left open are those of the run before. Every round starts
    from scratch, as always. The second value is how many labels differ from the run before.
    """
    old = open_run(before)
    if not old.finished:
        raise RunError(f"--continue must name a finished run, got {before}; `curriculum resume {before}` first.")
    if out.resolve() == before.resolve():
        raise RunError(f"--out must be another folder than the run that is continued, got {out}.")
    known = read_listing(old)
    config = old.read(CONFIG)
    if not fits([config.get("labeled"), config.get("unlabeled")], tuple[str, ...]):
        raise RunError(f"{old / CONFIG} is damaged (it names no sources); restore it, or fit again.")
    sources = sources or (Path(config["labeled"]), Path(config["unlabeled"]))
    listing = list_sources(*sources) if all(source.exists() for source in sources) else known
    if corrections is not None:
        listing, _ = apply_corrections(listing, corrections)
    changed = count_changes(known, listing)
    if not changed:
        raise ValueError(
            f"--continue needs new or corrected labels, got those of {before}; "
            "add images to the class folders, or give --corrections FILE (path,label)."
        )
    options = merge_options(options, _options_of(old, config))
    begun = _begin(
        listing, sources, out, options, force=force, show=show, stop=stop, started=started, before=before.resolve()
    )
    with begun as job:
        _link_cache(old / CACHE, job.run / CACHE)
        yield job, changed


def reopen(folder: Path, *, show: Show, stop: StopRequest) -> Job:
    """A run that was stopped, to be finished by the version that began it."""
    run = open_run(folder)
    begun = run.read(CONFIG).get("version")
    if begun != curriculum_labeling.__version__:
        raise RunError(
            f"{folder} was begun with version {begun}, and this is {curriculum_labeling.__version__}; "
            "finish it with that version, or fit again with another --out."
        )
    return read_job(run, show=show, stop=stop)


def read_job(run: Run, *, show: Show, stop: StopRequest) -> Job:
    """A run as it was when it began."""
    config = run.read(CONFIG)
    try:
        options = read_options(config["options"])
        choices = read_choices(config["choices"])
        truth = None if config["truth"] is None else np.array(config["truth"], dtype=np.int64)
        before = None if config["continued_from"] is None else Path(config["continued_from"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise RunError(
            f"{run / CONFIG} is damaged ({brief(error)}); restore it, or start a new run with --out."
        ) from error
    listing = read_listing(run)
    if truth is not None and truth.shape != (len(listing),):
        raise RunError(f"{run / CONFIG} is damaged (its truth is of other images); start a new run with --out.")
    return Job(run, options, choices, listing, truth, Clock(run, choices.minutes), show, stop, before)


def read_options(found: dict[str, Any]) -> FitOptions:
    """Options as config.json holds them; those that are newer than it have their defaults."""
    default = FitOptions()
    values = {one.name: getattr(default, one.name) for one in fields(default)} | dict(found)
    values["truth"] = None if values["truth"] is None else Path(values["truth"])
    values["percentiles"] = None if values["percentiles"] is None else tuple(values["percentiles"])
    return build(FitOptions, values)


def _options_of(run: Run, config: dict[str, Any]) -> FitOptions:
    try:
        return read_options(config["options"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise RunError(
            f"{run / CONFIG} is damaged ({brief(error)}); restore it, or start a new run with --out."
        ) from error


def merge_options(given: FitOptions, before: FitOptions) -> FitOptions:
    """The options given now, and those of a run before wherever they were left at their defaults."""
    default = FitOptions()
    values = {}
    for one in fields(default):
        now = getattr(given, one.name)
        values[one.name] = getattr(before, one.name) if now == getattr(default, one.name) else now
    for either, other in (("minutes", "passes"), ("step", "percentiles")):  # one of a pair drops the other
        if getattr(given, either) is not None or getattr(given, other) is not None:
            values |= {either: getattr(given, either), other: getattr(given, other)}
    return FitOptions(**values)


def read_choices(found: dict[str, Any]) -> Choices:
    """Choices as config.json holds them."""
    pacing = found["pacing"]
    return build(Choices, {**found, "pacing": PercentilePacing(tuple(pacing["percentiles"]), pacing["balance"])})


def read_listing(run: Run) -> Listing:
    """The images of a run as they were listed when it began."""
    record = run.read(LISTING)
    try:
        if not fits([record["paths"], record["classes"]], tuple[tuple[str, ...], ...]):
            raise ValueError("its paths and classes must be texts")
        labels = np.array(record["labels"], dtype=np.int64)
        return Listing(tuple(record["paths"]), labels, tuple(record["classes"]))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise RunError(f"{run / LISTING} is damaged ({brief(error)}); start a new run with --out.") from error


def count_changes(before: Listing, after: Listing) -> int:
    """How many images carry a label that they did not carry before."""

    def named(listing: Listing) -> set[tuple[str, str]]:
        pairs = zip(listing.paths, listing.labels, strict=True)
        return {(os.path.realpath(path), listing.classes[c]) for path, c in pairs if c >= 0}

    return len(named(after) - named(before))


@contextmanager
def _begin(
    listing: Listing,
    sources: tuple[Path, Path],
    out: Path,
    options: FitOptions,
    *,
    force: bool,
    show: Show,
    stop: StopRequest,
    started: float | None,
    before: Path | None = None,
) -> Iterator[Job]:
    options = replace(options, features=from_anywhere(options.features))
    machine = machine_of(options)
    truth = read_truth(options.truth, listing)
    pace = measured_pace(options, len(listing.classes), machine.device, pieces_for(machine, listing))
    choices = choose(options, listing, machine, pace)
    config = _config(sources, options, choices, machine, listing=listing, truth=truth)
    with create_run(out, force=force) as run:
        run.write(CONFIG, {**config, "continued_from": None if before is None else str(before)})
        run.write(LISTING, {"paths": listing.paths, "labels": listing.labels.tolist(), "classes": listing.classes})
        clock = Clock(run, choices.minutes, started)
        yield Job(run, options, choices, listing, truth, clock, show, stop, before)


def _config(
    sources: tuple[Path, Path],
    options: FitOptions,
    choices: Choices,
    machine: Machine,
    *,
    listing: Listing,
    truth: Any,
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": curriculum_labeling.__version__,
        "command": shlex.join(["curriculum", *sys.argv[1:]]),
        "seed": options.seed,
        "classes": listing.classes,
        "way": "network" if choices.backbone is None else "features",
        "backbone": choices.backbone,
        "network": choices.network,
        "resolution": choices.resolution,
        "pacing": asdict(choices.pacing),
        "labeled": str(sources[0].resolve()),
        "unlabeled": str(sources[1].resolve()),
        "minutes": choices.minutes,
        "machine": {"device": machine.device, "cores": machine.cores, "system": platform.platform()},
        "versions": {"python": platform.python_version()} | {name: _version(name) for name in PACKAGES},
        "options": {one.name: _plain(getattr(options, one.name)) for one in fields(options)},
        "choices": asdict(choices),
        "truth": None if truth is None else truth.tolist(),
    }


def _plain(value: Any) -> Any:
    return str(value.resolve()) if isinstance(value, Path) else value


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _link_cache(old: Path, new: Path) -> None:
    """Give a run the decoded images and features of another: links where the disk allows, else copies.

    Each file or folder gets its name when it is whole; what a kill leaves out is computed again.
    """
    new.mkdir(parents=True, exist_ok=True)
    for entry in sorted(old.iterdir()) if old.is_dir() else ():
        if entry.suffix in (".partial", ".lock", ".tmp"):
            continue
        temporary, target = new / f".{entry.name}.tmp", new / entry.name
        if entry.is_dir() and not target.exists():
            shutil.rmtree(temporary, ignore_errors=True)
            shutil.copytree(entry, temporary, copy_function=_link)
            os.rename(temporary, target)
        elif entry.is_file():
            temporary.unlink(missing_ok=True)
            _link(entry, temporary)
            os.replace(temporary, target)


def _link(source: str | Path, target: str | Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
