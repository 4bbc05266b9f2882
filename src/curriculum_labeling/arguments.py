"""What each command takes: arguments, options and their help. `curriculum --help` shows it; wiring only."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, CycloptsError, Parameter, UnusedCliTokensError
from cyclopts.config import Yaml
from rich.console import Console

import curriculum_labeling
from curriculum_labeling.experiments.options import ReproduceOptions
from curriculum_labeling.runs.config_file import check_config
from curriculum_labeling.runs.options import FitOptions

app = App(
    name="curriculum",
    help="A few labels and many unlabeled images in; a model, a label for every image and a report out.",
    version=curriculum_labeling.__version__,
    help_format="markdown",
    default_parameter=Parameter(negative_iterable=(), consume_multiple=True),
)
Options = Annotated[FitOptions, Parameter(name="*")]
Flag = Annotated[bool, Parameter(negative="")]
DEFAULTS = FitOptions()
REPRODUCE_DEFAULTS = ReproduceOptions()
# What a parser says of a word that should be a number, and what a person would.
UNLIKE = re.compile(r'unable to convert (".*") into (float|int)(?=\W|$)')
# And how it names an option that stands in a YAML file.
FROM_FILE = re.compile(r'"?\[([^\]"]*)\]"? from')
KINDS = {"float": "not a number", "int": "not a whole number"}


@app.command
def fit(
    labeled: Path | None = None,
    unlabeled: Path | None = None,
    /,
    *,
    out: Path = Path("run"),
    options: Options = DEFAULTS,
    force: Flag = False,
    continue_: Annotated[Path | None, Parameter(name="--continue")] = None,
    corrections: Path | None = None,
    config: Path | None = None,  # noqa: ARG001 (read by run, so that the command line has the last word)
) -> int:
    """Learn from LABELED and UNLABELED images: a model, labels for every image, and a report.

    Parameters
    ----------
    labeled
        A folder with one folder of images per class, or a CSV file with the columns path and label.
    unlabeled
        A folder with images anywhere below it.
    out
        The run directory, which must be new or empty.
    options
        Everything else.
    force
        Replace a run that is already there.
    continue_
        A finished run whose images, features and options are used again, with new or corrected labels.
    corrections
        With --continue: a CSV file (path,label) with labels that are new or were wrong.
    config
        A YAML file with any of these options; what is given on the command line comes first.
    """
    started = time.monotonic()  # a time budget counts from here, before the slow imports
    from curriculum_labeling.runs.directory import check_out
    from curriculum_labeling.runs.sources import check_sources, check_truth

    check_sources(labeled, unlabeled, continue_, corrections)
    check_truth(options.truth)
    check_out(out, force=force)
    from curriculum_labeling.commands import run_fit

    return run_fit(
        Console(),
        labeled,
        unlabeled,
        out,
        options,
        force=force,
        before=continue_,
        corrections=corrections,
        started=started,
    )


@app.command
def resume(run: Path, /) -> int:
    """Go on with a RUN that was stopped; it ends as if it had not been.

    Parameters
    ----------
    run
        The run directory.
    """
    _check_run(run)
    from curriculum_labeling.commands import run_resume

    return run_resume(Console(), run)


@app.command
def predict(run: Path, /, *images: Path, out: Path | None = None, features: str | None = None) -> int:
    """Classify IMAGES with the model of a RUN.

    Parameters
    ----------
    run
        The run directory, or a model folder.
    images
        Image files, or folders of them.
    out
        A CSV file for the predictions; printed without it.
    features
        Only for a model on features of your own code: package.module:function, which a model folder cannot bring.
    """
    if not images:
        raise ValueError("curriculum predict needs image files or folders, got none; name them after the run.")
    if not (run / "model").is_dir() and not (run / "model.json").is_file():  # a model needs no run around it
        _check_run(run)
    missing = [path for path in images if not path.exists()]
    if missing:
        raise ValueError(f"IMAGES must be files or folders, got {missing[0]}, which is not there.")
    from curriculum_labeling.commands import run_predict

    return run_predict(Console(), run, images, out, features)


@app.command
def report(run: Path, /) -> int:
    """Write the report of a RUN anew.

    Parameters
    ----------
    run
        The run directory.
    """
    _check_run(run)
    from curriculum_labeling.commands import run_report

    return run_report(Console(), run)


@app.command
def export(
    run: Path,
    /,
    *,
    format_: Annotated[Literal["onnx", "safetensors"] | None, Parameter(name="--format")] = None,
    out: Path | None = None,
    features: str | None = None,
) -> int:
    """Write the model of a RUN for other programs: preprocessing and class names are inside.

    Parameters
    ----------
    run
        The run directory, or a model folder.
    format_
        What to write, always needed; onnx is checked against torch before the file gets its name.
    out
        The file; model.onnx or model.safetensors in the run directory by default.
    features
        Only for a model on features of your own code: package.module:function.
    """
    if format_ is None:
        raise ValueError(f"--format must be onnx or safetensors, got none; `curriculum export {run} --format onnx`.")
    from curriculum_labeling.commands import run_export

    return run_export(Console(), run, format_, out, features)


@app.command
def suggest(
    run: Path, /, *, number: Annotated[int, Parameter(name=["--number", "-n"])] = 50, out: Path | None = None
) -> int:
    """The images of a RUN most worth labeling next: uncertain, and unlike each other.

    Parameters
    ----------
    run
        The run directory.
    number
        How many.
    out
        A CSV file; suggestions.csv of the run by default, and the report shows them.
    """
    if number < 1:
        raise ValueError(f"--number must be 1 or more, got {number}.")
    _check_run(run)
    from curriculum_labeling.commands import run_suggest

    return run_suggest(Console(), run, number, out)


@app.command
def demo(*, out: Path = Path("demo-output"), force: Flag = False) -> int:
    """The main job on embedded data: digits as image files, 5 labels each. A minute or two.

    Parameters
    ----------
    out
        Where images, run and report go.
    force
        Replace an earlier demo.
    """
    from curriculum_labeling.demo import run_demo

    return run_demo(Console(), out, force)


@app.command
def reproduce(
    key: str | None = None,
    /,
    *,
    options: Annotated[ReproduceOptions, Parameter(name="*")] = REPRODUCE_DEFAULTS,
    list_: Annotated[bool, Parameter(name="--list", negative="")] = False,
) -> int:
    """Run an experiment of the paper, such as table-6, and draw it with the paper's numbers beside ours.

    Parameters
    ----------
    key
        The table or figure; --list has all of them.
    options
        Everything else.
    list_
        List all experiments, and what they cost.
    """
    from curriculum_labeling.reproduce import list_experiments, run_reproduce

    if list_:
        return list_experiments(Console())
    if key is None:
        raise ValueError("curriculum reproduce needs a KEY, such as table-6; `curriculum reproduce --list` has all.")
    return run_reproduce(Console(), key, options)


def _check_run(folder: Path) -> None:
    """Refuse a folder that is no run, before the slow imports."""
    from curriculum_labeling.runs.directory import open_run

    open_run(folder)


def run(tokens: list[str]) -> int:
    """Run the command that these words name; words that make no command are a ValueError."""
    _read_config(tokens)
    try:
        return int(app(tokens, exit_on_error=False, print_error=False, result_action="return_value") or 0)
    except UnusedCliTokensError as error:
        command, more = (" ".join(words or ()) for words in (error.command_chain, error.unused_tokens))
        raise ValueError(
            f"curriculum {command} cannot take {more!r} as well; a path with spaces needs quotes, see "
            f"`curriculum {command} --help`."
        ) from error
    except CycloptsError as error:
        text = str(error).strip() or type(error).__name__
        text = FROM_FILE.sub(r"\1 in", text)
        raise ValueError(UNLIKE.sub(lambda found: f"{found[1]} is {KINDS[found[2]]}", text)) from error


def _read_config(tokens: list[str]) -> None:
    """Put the options of a YAML file behind those of the command line."""
    app.config = ()
    for place, token in enumerate(tokens):
        name, _, value = token.partition("=")
        if name != "--config":
            continue
        file = Path(value or (tokens[place + 1] if place + 1 < len(tokens) else ""))
        check_config(file)
        app.config = (Yaml(file, use_commands_as_keys=False, search_parents=False),)
