"""The axis of confidences: even, or stretched toward 100 % where a network is sure of nearly everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from curriculum_labeling.labels import FloatArray, IntArray

BINS = 24
DECADES = 6
SURE = 0.95


@dataclass(frozen=True)
class Scale:
    """Where a confidence lies on the axis, and the highest bar of all figures that share it."""

    stretched: bool
    tallest: int = 0

    @property
    def end(self) -> float:
        """The place of 100 %."""
        return float(DECADES) if self.stretched else 1.0

    def place(self, confidence: FloatArray) -> FloatArray:
        """Confidences as places; stretched, each step is a tenth of the doubt before it."""
        if not self.stretched:
            return confidence
        return np.asarray(-np.log10(np.clip(1.0 - confidence, 10.0**-DECADES, 1.0)))

    def histogram(self, confidence: FloatArray) -> tuple[IntArray, FloatArray]:
        """Images per bin, and the edges of the bins."""
        counts, edges = np.histogram(self.place(confidence), BINS, (0.0, self.end))
        return counts, edges

    def ticks(self) -> tuple[list[float], list[str]]:
        """Places to mark, and what they read."""
        if self.stretched:
            return [0, 1, 2, 3, 4, 5], ["0", "90", "99", "99.9", "", "99.999 %"]
        return [0.0, 0.25, 0.5, 0.75, 1.0], ["0 %", "25 %", "50 %", "75 %", "100 %"]


def common_scale(confidences: Sequence[FloatArray]) -> Scale:
    """One scale for all rounds; stretched where at least half of all confidences are above 95 %."""
    some = [one for one in confidences if len(one)]
    if not some:
        return Scale(stretched=False)
    stretched = bool(np.median(np.concatenate(some)) > SURE)
    tallest = max(int(Scale(stretched).histogram(one)[0].max()) for one in some)
    return Scale(stretched, tallest)
