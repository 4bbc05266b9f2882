"""The YAML file of `--config`, checked before anything else reads it: options by name, with plain values."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import yaml

MOST_BYTES = 1 << 20
# PyYAML's constructors raise these on tags that do not fit what they are put before, such as !!bool maybe.
FAULTS = (yaml.YAMLError, ValueError, RecursionError, KeyError, IndexError, AttributeError, TypeError, OverflowError)


def check_config(file: Path) -> None:
    """Refuse what is no YAML file of options."""
    if not file.is_file():
        raise ValueError(f"--config must be a YAML file, got {file}, where there is none.")
    if (size := file.stat().st_size) > MOST_BYTES:
        raise ValueError(f"--config must be a YAML file of at most {MOST_BYTES} bytes, got {file} with {size}.")
    try:
        found = yaml.safe_load(file.read_bytes())
    except FAULTS as error:
        first = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise ValueError(f"--config must be a YAML file, got {file}, which cannot be parsed ({first}).") from error
    if found is not None and not isinstance(found, dict):
        raise ValueError(f'--config must hold lines such as "minutes: 30", got {type(found).__name__} in {file}.')
    for name, value in (found or {}).items():
        if not isinstance(name, str) or not name.isprintable():
            raise ValueError(f"--config must hold options by name, got {ascii(name)[:60]} in {file}.")
        if wrong := [one for one in (value if isinstance(value, list) else [value]) if not _plain(one)]:
            got = type(wrong[0]).__name__ if isinstance(wrong[0], list | dict) else ascii(wrong[0])[:60]
            raise ValueError(
                f"--config must give {name[:60]} a number, a text, true, false or a list of these, got {got} in {file}."
            )


def _plain(value: Any) -> bool:
    """What a command line could say as well."""
    if isinstance(value, str):
        return "\0" not in value
    if isinstance(value, int):
        return abs(value) < 2**63
    return value is None or (isinstance(value, float) and math.isfinite(value))
