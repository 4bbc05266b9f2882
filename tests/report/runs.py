"""Run directories for the tests, written as `curriculum fit` writes them."""

import csv
import json

import numpy as np
from PIL import Image
from sklearn.ensemble import RandomForestClassifier

from curriculum_labeling.curriculum import curriculum
from curriculum_labeling.data import cache
from curriculum_labeling.data.listing import Listing
from curriculum_labeling.data.toys import digits_images
from curriculum_labeling.estimators.learner import EstimatorLearner
from curriculum_labeling.labels import Labels
from curriculum_labeling.pacing import PercentilePacing

LEDGER = "path,label,confidence,runner_up,runner_up_confidence,probability,first_round,flips,foreign,duplicate_of"
HOSTILE = "<script>alert(1)</script>"
NAMES = (
    "zero",
    HOSTILE,
    'two" onload="x',
    "three's & co",
    "四",
    "five $x^2$",
    "six",
    "seven",
    "eight </style>",
    "nine",
)


def digits_run(folder, *, names=NAMES, given=100, held=60, unlabeled=400, percentiles=(80.0, 60.0, 40.0, 20.0, 0.0)):
    """A run of random forests on handwritten digits, with truth, twins, a foreign image and a broken file."""
    digits = digits_images()
    rows = np.random.default_rng(0).permutation(len(digits))[: given + held + unlabeled]
    rows[-1] = rows[0]  # the last unlabeled image repeats the first labeled one
    truth = digits.labels[rows]
    paths = _save(folder.parent / f"{folder.name}-images", digits.pixels[rows])
    known = np.where(np.arange(len(rows)) < given + held, truth, -1)
    cached = cache.load(Listing(paths, known, names), folder / "cache", resolution=16, workers=1)
    X = cached.images.pixels[..., 0].reshape(len(rows), -1) / 255.0
    labels, rest = Labels.of(np.arange(given), truth[:given]), np.arange(given + held, len(rows))
    forest = RandomForestClassifier(10, max_depth=4)  # unlike a linear model, it changes its mind between rounds
    learner = EstimatorLearner(forest, X, np.arange(len(names)), seeded=True)
    pacing = PercentilePacing(percentiles, "labeled")
    rounds = list(curriculum(learner, labels, rest, pacing=pacing, classes=len(names)))
    check = np.arange(given, given + held)
    _write_rounds(folder, rounds, rest, truth, check, len(names))
    _write_json(folder / "config.json", config(names, pacing.percentiles))
    _write_json(
        folder / "images.json",
        {
            "paths": list(paths),
            "labels": known.tolist(),
            "truth": truth.tolist(),
            "labeled": list(range(given + held)),
            "unlabeled": rest.tolist(),
            "unreadable": [{"path": "photos/<b>broken</b>.jpg", "reason": "truncated file"}],
            "cache": "cache",
            "resolution": 16,
        },
    )
    _write_ends(folder, rounds, rest, truth, check, paths, names)
    return folder


def config(names, percentiles=(80.0, 0.0)):
    return {
        "format": 1,
        "version": "0.4.0",
        "command": "curriculum fit labeled 'un labeled' --out run",
        "seed": 0,
        "classes": list(names),
        "way": "features",
        "backbone": "efficientnet-lite0",
        "resolution": 16,
        "network": None,
        "pacing": {"percentiles": list(percentiles), "balance": "labeled"},
        "labeled": "labeled",
        "unlabeled": "un labeled",
        "minutes": None,
        "machine": {"cores": 2},
        "versions": {"python": "3.11.7", "numpy": "2.0.0"},
        "options": {},
    }


def change(file, **fields):
    """Overwrite fields of a JSON file."""
    _write_json(file, json.loads(file.read_text()) | fields)


def _save(folder, pixels):
    folder.mkdir(parents=True)
    paths = tuple(str(folder / f"{i:04d}.png") for i in range(len(pixels)))
    for path, image in zip(paths, pixels, strict=True):
        Image.fromarray(image).save(path)
    return paths


def _write_json(path, values):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values))


def _write_rounds(folder, rounds, rest, truth, check, classes):
    for one in rounds:
        scores = one.model.score(rest)
        chosen = np.full(len(truth), -1)
        chosen[one.labels.pseudo_rows] = one.labels.pseudo_classes
        picked = chosen[rest]
        right = int((one.model.score(check).classes == truth[check]).sum())
        share, n = right / len(check), len(check)
        reach = 1.96 * np.sqrt(max(share * (1 - share), 0.01) / n)
        where = folder / "rounds" / str(one.number)
        pseudo = picked >= 0
        metrics = {
            "round": one.number,
            "percentile": one.percentile,
            "threshold": one.threshold,
            "selected": one.selected,
            "entered": one.entered,
            "left": one.left,
            "flipped": one.flipped,
            "class_counts": np.bincount(one.labels.pseudo_classes, minlength=classes).tolist(),
            "labeled_counts": np.bincount(one.labels.classes[: one.labels.given], minlength=classes).tolist(),
            "held_out": {
                "correct": right,
                "n": n,
                "accuracy": share,
                "low": max(0.0, share - reach),
                "high": min(1.0, share + reach),
            },
            "truth_accuracy": float((scores.classes == truth[rest]).mean()),
            "pseudo_accuracy": float((picked == truth[rest])[pseudo].mean()) if pseudo.any() else None,
            "seconds": 12.3 + 40 * one.number,
            "passes": None,
        }
        _write_json(where / "metrics.json", metrics)
        np.savez(
            where / "scores.npz",
            classes=scores.classes.astype(np.int32),
            log_confidence=scores.log_confidence,
            runner_up=scores.runner_up.astype(np.int32),
            runner_up_confidence=scores.runner_up_confidence,
            selected=pseudo,
            selected_classes=picked.astype(np.int32),
        )


def _write_ends(folder, rounds, rest, truth, check, paths, names):
    held = [one.model.score(check) for one in rounds]
    _write_json(
        folder / "held_out.json",
        {
            "rows": check.tolist(),
            "classes": truth[check].tolist(),
            "predicted": [one.classes.tolist() for one in held],
            "confidence": [one.confidence.tolist() for one in held],
            "how": "60 labels held out",
        },
    )
    first, last = ((one.classes == truth[check]).mean() for one in (held[0], held[-1]))
    gain = float(last - first)
    _write_json(
        folder / "outcome.json",
        {
            "delivered": len(rounds) - 1,
            "why": "The last round is the best on held-out labels, and no earlier one is surely as good.",
            "verdict": "Whether the curriculum helped cannot be told from so few labels.",
            "gain": {
                "estimate": gain,
                "low": gain - 0.08,
                "high": gain + 0.09,
                "labels_only": float(first),
                "curriculum": float(last),
                "n": len(check),
            },
            "last": len(rounds) - 1,
            "calibration": {"temperature": 0.6, "how": "fitted on held-out labels"},
            "seconds": 862.0,
            "finished": True,
        },
    )
    _write_json(
        folder / "check.json",
        {
            "format": 1,
            "errors": [],
            "warnings": [f"Class {names[1]} has 7 labels, fewer than 10.", "1 unlabeled image repeats a labeled one."],
        },
    )
    _write_ledger(folder, rounds, rest, paths, names)


def _write_ledger(folder, rounds, rest, paths, names):
    scores = rounds[-1].model.score(rest)
    history = np.full((len(rounds), len(paths)), -1)
    for one in rounds:
        history[one.number, one.labels.pseudo_rows] = one.labels.pseudo_classes
    with open(folder / "ledger.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(LEDGER.split(","))
        for i, row in enumerate(rest):
            taken = history[:, row][history[:, row] >= 0]
            first = int(np.argmax(history[:, row] >= 0)) if len(taken) else ""
            sure = float(scores.confidence[i])
            mild = sure**1.6 / (sure**1.6 + (1 - sure) ** 1.6)
            label, second = names[scores.classes[i]], names[scores.runner_up[i]]
            flips, foreign = int((np.diff(taken) != 0).sum()), i / (len(rest) - 1)
            twin = paths[0] if i == len(rest) - 1 else ""
            pair = (sure, second, float(scores.runner_up_confidence[i]))
            writer.writerow([paths[row], label, *pair, mild, first, flips, foreign, twin])
    with open(folder / "suggestions.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["path", "label", "confidence", "reason"])
        for i in np.argsort(scores.confidence)[:30]:
            reason = "the model cannot decide between two classes"
            writer.writerow([paths[rest[i]], names[scores.classes[i]], float(scores.confidence[i]), reason])
