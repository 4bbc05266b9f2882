"""Curriculum Labeling: self-paced pseudo-labeling from a few labels and many unlabeled samples."""

from typing import TYPE_CHECKING, Any

from curriculum_labeling.curriculum import curriculum
from curriculum_labeling.labels import Labels, Learner, Model, Round, Scores, Split
from curriculum_labeling.pacing import BestPacing, PercentilePacing, ThresholdPacing

if TYPE_CHECKING:
    from curriculum_labeling.classifier import CurriculumLabelingClassifier

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


def __getattr__(name: str) -> Any:
    """The classifier, imported when it is asked for: every process that decodes images would load scikit-learn."""
    if name != "CurriculumLabelingClassifier":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from curriculum_labeling.classifier import CurriculumLabelingClassifier

    return CurriculumLabelingClassifier


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
