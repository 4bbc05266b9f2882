"""The rows a run works on, once its images are decoded and checked."""

from __future__ import annotations

from dataclasses import dataclass

from curriculum_labeling.data.check import DataCheck
from curriculum_labeling.data.images import Images
from curriculum_labeling.labels import FloatArray, IntArray, Labels


@dataclass(frozen=True, eq=False)
class Rows:
    """The images of a run in one index space, their features, and which of them carry labels."""

    images: Images
    labels: Labels
    unlabeled: IntArray
    check: DataCheck
    features: FloatArray
    truth: IntArray | None
