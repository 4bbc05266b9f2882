"""The tables of a finished run."""

import numpy as np
import pytest

from curriculum_labeling.estimators.learner import softmax
from curriculum_labeling.labels import Scores
from curriculum_labeling.runs import tables


class Known:
    """A way whose logits are known for every row."""

    def __init__(self, logits):
        self.all = logits

    def logits(self, model, rows):
        return self.all[rows]


@pytest.mark.parametrize("chunk", [1, 7, 23, 100])
def test_calibrated_probabilities_do_not_depend_on_the_chunks(monkeypatch, chunk):
    monkeypatch.setattr(tables, "CHUNK", chunk)
    logits, rows = np.random.default_rng(0).normal(size=(40, 3)), np.arange(5, 28)
    scores = Scores.from_probabilities(rows, softmax(logits[rows]))
    expected = softmax(logits[rows] / 2.5).max(axis=1)
    assert tables.calibrated(Known(logits), None, scores, 2.5) == pytest.approx(expected)
