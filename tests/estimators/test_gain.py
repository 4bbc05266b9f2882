import numpy as np
import pytest

from curriculum_labeling.estimators.gain import paired_gain, unmeasured


def outcomes(both, better, worse, neither):
    labels_only = [True] * both + [False] * better + [True] * worse + [False] * neither
    curriculum = [True] * both + [True] * better + [False] * worse + [False] * neither
    return np.array(labels_only), np.array(curriculum)


def test_a_clear_gain_is_told_with_its_interval():
    gain = paired_gain(*outcomes(60, 30, 2, 8))
    assert gain.estimate == pytest.approx(0.28)
    assert gain.low < 0.28 < gain.high
    assert gain.helped is True
    assert str(gain).startswith("The curriculum helped: +28.0 points (95 % interval")
    assert (gain.labels_only, gain.curriculum, gain.n) == (0.62, 0.9, 100)


def test_a_clear_harm_is_told():
    gain = paired_gain(*outcomes(50, 2, 40, 8))
    assert gain.helped is False
    assert "harmed: -38.0 points" in str(gain)


def test_few_labels_cannot_tell():
    gain = paired_gain(*outcomes(8, 2, 1, 9))
    assert gain.helped is None
    assert "cannot be told from so few labels: +5.0 points" in str(gain)


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(0)
    truth, hits = 0.1, 0
    for _ in range(500):
        kind = rng.choice(4, size=60, p=[0.5, 0.2, 0.1, 0.2])
        gain = paired_gain(np.isin(kind, [0, 2]), np.isin(kind, [0, 1]))
        hits += gain.low <= truth <= gain.high
    assert 0.92 <= hits / 500 <= 0.99


def test_nothing_held_out_is_said():
    assert "was not measured: no label was held out" in str(paired_gain(np.array([], bool), np.array([], bool)))
    assert "was not measured: because" in str(unmeasured("because"))
