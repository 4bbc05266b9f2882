"""How long a run will take, from a few images decoded and a few steps done on this very machine."""

from __future__ import annotations

import time

import numpy as np

from curriculum_labeling.data.decode import UnreadableImage, decode
from curriculum_labeling.data.listing import Listing
from curriculum_labeling.runs.budgets import Images
from curriculum_labeling.runs.choices import Choices
from curriculum_labeling.runs.clock import LAST_SECONDS
from curriculum_labeling.runs.pace import images_per_second
from curriculum_labeling.runs.settings import steps_for, training_config
from curriculum_labeling.vision.backbones import open_backbone
from curriculum_labeling.vision.devices import scoring_speedup

DECODED, EMBEDDED = 8, 16
# Fitting a probe to 1,280 features, per row and class: some 100 iterations at a few billion operations a second.
SECONDS_PER_PROBE = 1e-4


def estimate_seconds(choices: Choices, listing: Listing) -> float | None:
    """Seconds for the whole run; None where the user has said how long it may take."""
    if choices.minutes is not None and choices.backbone is None:
        return None
    decoding = seconds_per_decode(choices, listing) * len(listing)
    if choices.backbone is not None:
        probes = (1 + choices.folds) * (choices.pacing.rounds + 1) * len(listing) * len(listing.classes)
        return decoding + seconds_per_embedding(choices) * len(listing) + probes * SECONDS_PER_PROBE + LAST_SECONDS
    assert choices.passes is not None
    rounds = choices.pacing.rounds
    trainings = (rounds + 1) * (1 + choices.folds) + bool(choices.turns)
    pace = images_per_second(training_config(choices), choices.resolution, len(listing.classes), choices.device)
    labeled, speedup = int((listing.labels >= 0).sum()), scoring_speedup(choices.device)
    images = Images(len(listing), labeled, choices.folds, choices.flip, speedup)
    scoring = images.scored(rounds) / pace
    steps = steps_for(choices.passes, len(listing), choices.batch)
    return decoding + trainings * steps * choices.batch / pace + scoring + LAST_SECONDS


def seconds_per_decode(choices: Choices, listing: Listing) -> float:
    """Seconds to read one image, from a few of them."""
    rows = np.unique(np.linspace(0, len(listing) - 1, DECODED).astype(int))
    start = time.monotonic()
    for row in rows:
        try:
            decode(listing.paths[row], choices.resolution)
        except UnreadableImage:
            continue
    return (time.monotonic() - start) / len(rows)


def seconds_per_embedding(choices: Choices) -> float:
    """Seconds to embed one image, from a batch of noise after one to warm up."""
    assert choices.backbone is not None
    backbone = open_backbone(choices.backbone, device=choices.device)
    noise = np.random.default_rng(0).integers(0, 256, (EMBEDDED, *[backbone.resolution] * 2, 3), dtype=np.uint8)
    backbone.embed(noise[:2])
    start = time.monotonic()
    backbone.embed(noise)
    return (time.monotonic() - start) / EMBEDDED
