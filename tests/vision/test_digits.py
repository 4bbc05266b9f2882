"""The whole path on real images in seconds: handwritten digits, the compact network, six rounds."""

import numpy as np

from curriculum_labeling import Labels, PercentilePacing, curriculum
from curriculum_labeling.data.splits import draw_split
from curriculum_labeling.data.toys import digits_images
from curriculum_labeling.vision.config import TrainingConfig
from curriculum_labeling.vision.learner import ImageLearner
from curriculum_labeling.vision.recipe import Recipe
from curriculum_labeling.vision.schedule import Budget


def test_the_curriculum_ends_above_labels_only():
    images = digits_images()
    test = np.sort(np.random.default_rng(0).permutation(len(images))[:500])
    split = draw_split(images.labels, labeled=3, validation=0, seed=1, test=test)
    labeled, unlabeled = Labels.of(split.labeled, images.labels[split.labeled]), split.unlabeled[:500]
    shifts = Recipe(flip=False, border="reflect")
    config = TrainingConfig(network="compact", budget=Budget(steps=50), batch_size=48, augmentation=shifts)
    learner = ImageLearner(images, config, device="cpu", preprocess_rows=unlabeled)
    # With three labels per class, one cut over all rows would drop the classes that are hard at first.
    rounds = list(curriculum(learner, labeled, unlabeled, pacing=PercentilePacing.by(20, balance="labeled"), seed=1))

    def accuracy(one):
        return (one.model.score(test).classes == images.labels[test]).mean()

    assert [one.percentile for one in rounds] == [None, 80, 60, 40, 20, 0]
    assert rounds[-1].selected == len(unlabeled)
    before, after = accuracy(rounds[0]), accuracy(rounds[-1])
    assert after > before + 0.05, f"labels only {before:.3f}, after the curriculum {after:.3f}"
