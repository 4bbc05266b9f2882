import numpy as np
import pytest
import torch
from torch.nn import functional

from curriculum_labeling.labels import Labels
from curriculum_labeling.vision.objective import Batch, cross_entropy, targets_of, weights_of

LABELS = Labels(
    rows=np.arange(3),
    classes=np.array([0, 1, 2]),
    given=1,
    confidence=np.array([0.3, 0.6, 0.9]),
    runner_up=np.array([0, 3, 0]),
    runner_up_confidence=np.array([0.2, 0.3, 0.1]),
)


def batch_of(images, targets, weights=None, size=None):
    return Batch(images, targets, weights, len(images) if size is None else size)


def test_the_loss_is_torchs_cross_entropy():
    logits = torch.randn(5, 4)
    targets = torch.tensor([0, 1, 2, 3, 0])
    soft = functional.one_hot(targets, 4).float()
    loss = cross_entropy(lambda x: x, batch_of(logits, soft))
    assert loss == pytest.approx(float(functional.cross_entropy(logits, targets)), rel=1e-5)


def test_the_pieces_of_a_step_add_up_to_its_loss():
    logits, targets = torch.randn(7, 4), torch.rand(7, 4)
    whole = cross_entropy(lambda x: x, batch_of(logits, targets))
    parts = [cross_entropy(lambda x: x, batch_of(logits[p], targets[p], size=7)) for p in (slice(0, 5), slice(5, 7))]
    assert float(sum(parts)) == pytest.approx(float(whole), rel=1e-5)


def test_hard_labels_are_certain_and_smoothing_spreads_some():
    assert targets_of(LABELS, np.array([2, 0]), 4).tolist() == [[0, 0, 1, 0], [1, 0, 0, 0]]
    smooth = targets_of(LABELS, np.array([1]), 4, smoothing=0.2)
    assert smooth.numpy() == pytest.approx(np.array([[0.05, 0.85, 0.05, 0.05]]))


def test_soft_labels_hold_the_two_best_classes_and_given_labels_stay_certain():
    soft = targets_of(LABELS, np.array([0, 1, 2]), 4, kind="soft").numpy()
    assert soft[0] == pytest.approx([1, 0, 0, 0])
    assert soft[1] == pytest.approx([0.05, 0.6, 0.05, 0.3])
    assert soft[2] == pytest.approx([0.1, 0, 0.9, 0], abs=1e-7)


def test_inverse_weights_follow_the_authors_formula_with_a_mean_of_one():
    labels = Labels.of(np.arange(10), np.array([0] * 6 + [1] * 3 + [2]))
    weights = weights_of(labels, 4, "inverse")
    assert weights[:3] / weights[0] == pytest.approx(np.array([4 / 6, 7 / 3, 9]) / (4 / 6))
    assert weights[3] == 0
    assert weights @ np.array([6, 3, 1, 0]) == pytest.approx(10)
    assert weights_of(labels, 4, "none") is None


def test_weights_count_in_the_loss():
    logits, targets = torch.randn(4, 2), torch.eye(2)[[0, 1, 0, 1]]
    heavy = cross_entropy(lambda x: x, batch_of(logits, targets, torch.tensor([2.0, 0.0])))
    assert float(heavy) == pytest.approx(float(2 * -logits.log_softmax(1)[[0, 2], 0].sum() / 4), rel=1e-5)


def test_rows_of_one_class_are_not_weighted():
    labels = Labels.of(np.arange(3), np.array([1, 1, 1]))
    assert weights_of(labels, 2, "inverse").tolist() == [1, 1]
