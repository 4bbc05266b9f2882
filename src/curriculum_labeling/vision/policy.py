"""Augmentation policies read from a file, in the form AutoAugment and Fast AutoAugment publish them.

A policy is a JSON list of sub-policies; a sub-policy is a list of [operation, probability,
magnitude]. Every image draws one sub-policy and applies each of its operations with its probability.
Magnitudes that are whole numbers from 0 to 10 are AutoAugment's levels; fractions from 0 to 1 are
Fast AutoAugment's.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from curriculum_labeling.labels import FloatArray, IntArray
from curriculum_labeling.vision.operations import TOPS, Operation, Scale

_FORM = "[[[operation, probability, magnitude], …], …]"
SHOWN = 20
LARGEST = 1e9  # NaN is not below it either
Step = tuple[Operation, float, float]


@dataclass(frozen=True)
class Policy:
    """S sub-policies of up to k operations: three arrays of shape (S, k), and the magnitudes' scale."""

    operations: IntArray
    probabilities: FloatArray
    magnitudes: FloatArray
    scale: Scale


def load_policy(path: str | Path, *, scale: Scale | None = None) -> Policy:
    """Read a policy from a JSON file; `scale` overrides what the magnitudes look like."""
    path = Path(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"policy must be an existing JSON file, got {str(path)!r}, which is not there.") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"policy must be a JSON file, got {path.name!r}, which is not JSON: {error}.") from None
    return parse_policy(content, scale=scale)


def parse_policy(content: Any, *, scale: Scale | None = None) -> Policy:
    """A policy from nested lists; all its faults are reported at once."""
    if not isinstance(content, list) or not content or not all(isinstance(part, list) and part for part in content):
        raise ValueError(f"policy must be a list of sub-policies {_FORM}, got {_short(content)}.")
    faults: list[str] = []
    steps = [[_step(step, f"[{i}][{j}]", faults) for j, step in enumerate(part)] for i, part in enumerate(content)]
    if not faults:
        scale = scale or _guess_scale([step for part in steps for step in part])
        top = TOPS[scale]
        faults = [
            f"[{i}][{j}]: magnitude must be from 0 to {top:g} on the scale {scale!r}, got {step[2]:g}"
            for i, part in enumerate(steps)
            for j, step in enumerate(part)
            if not 0 <= step[2] <= top
        ]
    if faults:
        more = [f"and {len(faults) - SHOWN} more"] if len(faults) > SHOWN else []
        raise ValueError("policy has faults:\n  " + "\n  ".join(faults[:SHOWN] + more) + ".")
    assert scale is not None
    return _arrays(steps, scale)


def _step(step: Any, where: str, faults: list[str]) -> Step:
    """One [operation, probability, magnitude], its faults added to the list."""
    nothing = (Operation.Identity, 0.0, 0.0)
    if not isinstance(step, (list, tuple)) or len(step) != 3:
        faults.append(f"{where}: must be [operation, probability, magnitude], got {_short(step)}")
        return nothing
    name, probability, magnitude = step
    if not isinstance(name, str) or name not in Operation.__members__:
        close = get_close_matches(str(name)[:60], Operation.__members__, n=1, cutoff=0.5)
        hint = f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(Operation.__members__)}"
        faults.append(f"{where}: unknown operation {_short(name)}{hint}")
        return nothing
    if not _is_number(probability) or not 0 <= probability <= 1:
        faults.append(f"{where}: probability must be from 0 to 1, got {_short(probability)}")
        return nothing
    if magnitude is not None and not _is_number(magnitude):
        faults.append(
            f"{where}: magnitude must be a number, or null where the operation has none, got {_short(magnitude)}"
        )
        return nothing
    return Operation[name], float(probability), float(magnitude or 0)


def _guess_scale(steps: list[Step]) -> Scale:
    """Unit where every magnitude is at most 1 and some are fractions; levels otherwise."""
    magnitudes = [magnitude for _, _, magnitude in steps]
    fractions = any(magnitude != int(magnitude) for magnitude in magnitudes)
    return "unit" if fractions and max(magnitudes) <= 1 else "levels"


def _arrays(parts: list[list[Step]], scale: Scale) -> Policy:
    """Sub-policies as arrays, shorter ones filled up with operations that never happen."""
    longest = max(len(part) for part in parts)
    filled = [part + [(Operation.Identity, 0.0, 0.0)] * (longest - len(part)) for part in parts]
    columns = [[[step[i] for step in part] for part in filled] for i in range(3)]
    return Policy(
        operations=np.array(columns[0], dtype=np.int64),
        probabilities=np.array(columns[1], dtype=np.float64),
        magnitudes=np.array(columns[2], dtype=np.float64),
        scale=scale,
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < LARGEST


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
