"""Curriculum Labeling: self-paced pseudo-labeling from a few labels and many unlabeled samples."""

from curriculum_labeling.classifier import CurriculumLabelingClassifier
from curriculum_labeling.curriculum import curriculum
from curriculum_labeling.labels import Labels, Learner, Model, Round, Scores, Split
from curriculum_labeling.pacing import BestPacing, PercentilePacing, ThresholdPacing

__version__ = "0.1.0"

__all__ = [
    "BestPacing",
    "CurriculumLabelingClassifier",
    "Labels",
    "Learner",
    "Model",
    "PercentilePacing",
    "Round",
    "Scores",
    "Split",
    "ThresholdPacing",
    "curriculum",
]
