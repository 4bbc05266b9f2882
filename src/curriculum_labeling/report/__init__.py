"""The report of a run: one self-contained HTML file, read from the run directory alone."""

from curriculum_labeling.report.page import write_report

__all__ = ["write_report"]
