"""Optional packages: imported when needed, quietly, and asked for in one sentence where they are missing."""

from __future__ import annotations

import importlib
import warnings
from types import ModuleType


def require(package: str, purpose: str, remedy: str) -> ModuleType:
    """Import a package, or say in one sentence what it is needed for and how to get it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a package says about its own imports is not the user's business
        try:
            return importlib.import_module(package)
        except ImportError as error:
            raise ValueError(f"{purpose} needs the package {package} ({error}); {remedy}.") from error
        except Exception as error:  # a package built against another version may raise anything
            raise ValueError(
                f"{purpose} needs the package {package}, which is installed but cannot be imported "
                f"({type(error).__name__}: {_first_line(error)}); repair it, or {remedy}."
            ) from error


def extra(name: str) -> str:
    """The remedy that one of our extras is."""
    return f"pip install 'curriculum-labeling[{name}]'"


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [""])[0].rstrip(".")
