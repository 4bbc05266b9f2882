"""The ledger and the scores it is made of."""

import csv

import numpy as np
import pytest

from curriculum_labeling.labels import Labels, Scores
from curriculum_labeling.runs.kept import KeepingLearner, read_scores
from curriculum_labeling.runs.ledger import Ledger, history, write_ledger

SCORES = Scores(np.array([1, 3]), np.array([0, 1]), np.log([0.9, 0.6]), np.array([1, 0]), np.array([0.1, 0.4]))


def test_history_tells_first_round_and_flips():
    predicted = [np.array(p) for p in ([0, 1, 1], [0, 0, 1], [0, 1, 1])]
    selected = [np.array(s, dtype=bool) for s in ([0, 0, 0], [1, 0, 0], [1, 1, 0])]
    first, flips = history(predicted, selected)
    assert first.tolist() == [1, 2, 0]
    assert flips.tolist() == [0, 2, 0]


def test_no_cell_of_the_ledger_is_a_formula(tmp_path):
    zeros = np.zeros(2, dtype=np.int64)
    ledger = Ledger(SCORES, np.array([0.8, 0.5]), np.array([1, 0]), zeros, np.array([0.1, 1.0]), np.array([-1, 0]))
    write_ledger(tmp_path / "ledger.csv", ledger, ("=a", "@b,\n", "c", "-d"), ("=1+1", "+x"))
    with open(tmp_path / "ledger.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["label"] for line in lines] == ["'=1+1", "'+x"]
    assert [line["path"] for line in lines] == ["'@b,\n", "'-d"]
    assert [line["first_round"] for line in lines] == ["1", ""]
    assert [line["duplicate_of"] for line in lines] == ["", "'=a"]


class Counting:
    """A learner whose models count how often they score."""

    def __init__(self):
        self.scored = 0

    def fit(self, labels, *, seed):
        return self

    def score(self, rows):
        self.scored += 1
        return Scores(rows, SCORES.classes, SCORES.log_confidence, SCORES.runner_up, SCORES.runner_up_confidence)


def test_scores_are_computed_once_and_read_back(tmp_path):
    rows, counting = np.array([1, 3]), Counting()
    labels = Labels.of([0], [1]).with_pseudo(SCORES, np.array([False, True]))
    for _ in range(2):
        found = KeepingLearner(counting, rows, tmp_path).fit(labels, seed=0).score(rows)
        assert np.array_equal(found.log_confidence, SCORES.log_confidence)
    assert counting.scored == 1
    kept = read_scores(tmp_path / "0/scores.npz", rows)
    assert kept.selected.tolist() == [False, True]
    assert kept.selected_classes.tolist() == [-1, 1]


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.9])
def test_damaged_scores_are_computed_again_and_named_to_who_reads_them(tmp_path, keep):
    rows, counting = np.array([1, 3]), Counting()
    KeepingLearner(counting, rows, tmp_path).fit(Labels.of([0], [1]), seed=0).score(rows)
    path = tmp_path / "0/scores.npz"
    whole = path.read_bytes()
    path.write_bytes(whole[: int(keep * len(whole))])
    with pytest.raises(ValueError, match=r"scores\.npz is missing or damaged"):
        read_scores(path, rows)
    KeepingLearner(counting, rows, tmp_path).fit(Labels.of([0], [1]), seed=0).score(rows)
    assert counting.scored == 2
    assert path.read_bytes() == whole
