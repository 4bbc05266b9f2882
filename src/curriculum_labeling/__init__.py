"""Curriculum Labeling: self-paced pseudo-labeling from a few labels and many unlabeled samples."""

__version__ = "0.1.0"
