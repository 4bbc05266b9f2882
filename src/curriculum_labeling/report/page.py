"""The page: everything the template shows, rendered into one file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from curriculum_labeling.data.atomic import write_atomically
from curriculum_labeling.report import galleries, wording
from curriculum_labeling.report.figures import accuracy_figure, heat_figure, moves_figure
from curriculum_labeling.report.panels import calibration_panel, confidence_panels, confusions
from curriculum_labeling.report.read import Run, read_run
from curriculum_labeling.report.scale import common_scale
from curriculum_labeling.report.sprites import draw_sprite, open_pixels
from curriculum_labeling.report.tables import MANY_CLASSES, balance

FOLDER = Path(__file__).parent
LISTED = 20


def write_report(run: Path) -> Path:
    """Write RUN/report.html from what the run directory holds, and return its path."""
    target = Path(run) / "report.html"
    # A path that is not UTF-8 on disk carries surrogates, which no page can hold: they become \udc80 and the like.
    write_atomically(target, render(read_run(Path(run))).encode("utf-8", "backslashreplace"))
    return target


def render(run: Run) -> str:
    """The whole page as text."""
    script = (FOLDER / "script.js").read_text(encoding="utf-8")
    prefix = wording.common_folder([run.rows.paths[row] for row in run.rows.unlabeled])
    return (
        _environment(prefix)
        .get_template("page.html.j2")
        .render(
            prefix=prefix,
            run=run,
            style=Markup((FOLDER / "style.css").read_text(encoding="utf-8")),
            script=Markup(script),
            policy=_policy(script),
            listed=LISTED,
            many=MANY_CLASSES,
            config_text=json.dumps(run.config, indent=2, ensure_ascii=False),
            **_numbers(run),
            **_pictures(run),
        )
    )


def _numbers(run: Run) -> dict[str, Any]:
    """Figures and tables about rounds and classes."""
    later = [one for one in run.rounds if one.number > 0]
    measured = any(one.held_out is not None or one.truth_accuracy is not None for one in run.rounds)
    return {
        "later": later,
        "accuracy": accuracy_figure(run.rounds, run.outcome.delivered) if measured else None,
        "moves": moves_figure(run.rounds) if later else None,
        "panels": confidence_panels(run),
        "stretched": common_scale([one.scores.confidence for one in run.rounds if one.scores]).stretched,
        "balance": balance(run.classes, run.rounds) if later else [],
        "confusions": confusions(run),
        "heat": heat_figure,
        "calibration": calibration_panel(run),
    }


def _pictures(run: Run) -> dict[str, Any]:
    """Galleries and the sprite that holds their thumbnails."""
    shown: dict[str, Any] = {"classes": (), "foreign": (0, ()), "twins": (0, ()), "sample": ()}
    if run.ledger is not None and len(run.ledger):
        shown = {
            "classes": galleries.class_galleries(run, run.ledger),
            "foreign": galleries.foreign_shots(run, run.ledger),
            "twins": galleries.twins(run, run.ledger),
            "sample": galleries.sample_shots(run, run.ledger),
        }
    suggested = galleries.suggested(run)
    shots = [shot for group in shown["classes"] for strip in group.strips for shot in strip.shots]
    wanted = [shot.row for shot in (*shots, *shown["foreign"][1])]
    wanted += [row for twin in shown["twins"][1] for row in (twin.shot.row, twin.row) if row is not None]
    wanted += [row for row, _ in suggested if row is not None]
    pixels = open_pixels(run.rows)
    sprite = draw_sprite(pixels, wanted)
    rounds = sorted({shot.first_round for shot in shots if shot.accepted})
    shown |= {"suggested": suggested, "sprite": sprite, "shot_count": len(shots), "shot_rounds": rounds}
    return shown | {"kinds": galleries.KINDS}


def _policy(script: str) -> str:
    """A content security policy: no network at all, and no script but ours."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )


def _environment(prefix: str) -> Environment:
    """Templates with our filters; `short` leaves the folder out that all unlabeled images share."""
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    names = ("percent", "interval", "signed", "count", "several", "duration", "typeset")
    environment.filters.update({name: getattr(wording, name) for name in names})
    environment.filters["short"] = lambda path: path.removeprefix(prefix)
    return environment
