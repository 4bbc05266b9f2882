import tracemalloc

import numpy as np
import pytest
import torch
from torch import nn

from curriculum_labeling.vision.distributed import Group
from curriculum_labeling.vision.scoring import Scorer
from curriculum_labeling.vision.whitening import Standardization

ROWS, CLASSES = 3000, 2000
PREPROCESSING = Standardization(torch.zeros(3), torch.ones(3))
PIXELS = np.random.default_rng(0).integers(0, 256, size=(ROWS, 8, 8, 3), dtype=np.uint8)


def scorer(classes, **options):
    torch.manual_seed(0)
    network = nn.Sequential(nn.AvgPool2d(4), nn.Flatten(), nn.Linear(12, classes)).eval()
    return Scorer(network, PREPROCESSING, torch.device("cpu"), **options)


def test_memory_does_not_grow_with_rows_times_classes():
    tracemalloc.start()
    scores = scorer(CLASSES, batch=50).score(PIXELS, np.arange(ROWS), Group())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(scores) == ROWS
    assert peak < ROWS * CLASSES * 8 / 6


@pytest.mark.parametrize("flip", [False, True])
def test_the_size_of_batches_does_not_matter(flip):
    one, other = (scorer(5, batch=batch, flip=flip).score(PIXELS, np.arange(90), Group()) for batch in (7, 1000))
    assert (one.classes == other.classes).all()
    assert (one.runner_up == other.runner_up).all()
    assert one.log_confidence == pytest.approx(other.log_confidence, rel=1e-5)


@pytest.mark.parametrize(
    ("side", "batch", "sizes"),
    [(8, 512, [60]), (64, 512, [32, 28]), (64, 20, [20, 20, 20]), (128, 512, [16] * 3 + [12])],
)
def test_a_cpu_scores_as_many_images_at_once_as_its_cache_is_good_for(side, batch, sizes):
    seen = []
    network = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()).eval()
    network.register_forward_pre_hook(lambda _, inputs: seen.append(len(inputs[0])))
    pixels = np.zeros((60, side, side, 3), dtype=np.uint8)
    Scorer(network, PREPROCESSING, torch.device("cpu"), batch).score(pixels, np.arange(60), Group())
    assert seen == sizes


def test_flips_average_probabilities():
    plain, both = scorer(5), scorer(5, flip=True)
    mirrored = PIXELS[:20, :, ::-1]
    expected = (np.exp(_logs(plain.logits(PIXELS[:20]))) + np.exp(_logs(plain.logits(mirrored)))) / 2
    assert np.exp(both.logits(PIXELS[:20])) == pytest.approx(expected, rel=1e-5)


def test_broken_logits_are_refused():
    broken = scorer(5)
    with torch.no_grad():
        broken.network[2].bias.fill_(torch.nan)
    with pytest.raises(ValueError, match="logits must be finite, got NaN or infinity in 3 of 3 rows"):
        broken.score(PIXELS, np.arange(3), Group())


def _logs(logits):
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
