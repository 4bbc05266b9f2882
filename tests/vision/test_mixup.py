import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from curriculum_labeling.vision import draws
from curriculum_labeling.vision.mixup import draw_mixup, soft_targets

CLASSES = torch.tensor([0, 2, 1, 2])


def keys(count):
    return [draws.key(0, "mixup", 1, 2, step) for step in range(count)]


@pytest.mark.parametrize("alpha", [0.2, 1.0, 8.0])
def test_weights_follow_the_beta_distribution(alpha):
    weights = [draw_mixup(2, key=key, alpha=alpha).weight for key in keys(800)]
    assert stats.kstest(weights, stats.beta(alpha, alpha).cdf).pvalue > 1e-3


def test_the_same_key_mixes_alike_and_another_key_otherwise():
    first, second, other = draw_mixup(9, key=5), draw_mixup(9, key=5), draw_mixup(9, key=-6)
    assert first.weight == second.weight != other.weight
    assert torch.equal(first.partners, second.partners)
    assert not torch.equal(first.partners, other.partners)


@settings(deadline=None)
@given(size=st.integers(1, 40), key=st.integers(-(2**63), 2**63 - 1))
def test_every_image_is_someones_partner(size, key):
    drawn = draw_mixup(size, key=key)
    assert sorted(drawn.partners.tolist()) == list(range(size))
    assert 0 <= drawn.weight <= 1


def test_smoothed_targets_keep_their_sum():
    found = soft_targets(CLASSES, 3, smoothing=0.3)
    assert torch.allclose(found[0], torch.tensor([0.8, 0.1, 0.1]))
    assert torch.allclose(soft_targets(found, 3, smoothing=0.5).sum(dim=1), torch.ones(4))
    assert torch.equal(soft_targets(CLASSES, 3).argmax(dim=1), CLASSES)


def test_faults_are_named():
    with pytest.raises(ValueError, match=r"alpha must be above 0, got 0; leave mixup out"):
        draw_mixup(3, key=0, alpha=0)
    with pytest.raises(ValueError, match=r"smoothing must be from 0 to 1, got 2"):
        soft_targets(CLASSES, 3, smoothing=2)
