"""Numbers as people read them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

SPACE = "\u00a0"  # a number and its unit stay on one line
UNKNOWN = "–"


def percent(share: float | None) -> str:
    """0.934 as 93.4 %; a share that is not quite all or nothing never reads as if it were."""
    if share is None or not math.isfinite(share):
        return UNKNOWN
    if 0.9995 <= share < 1:
        return f">{SPACE}99.9{SPACE}%"
    if 0 < share < 0.0005:
        return f"<{SPACE}0.1{SPACE}%"
    return f"{100 * share:.1f}{SPACE}%"


def interval(low: float, high: float) -> str:
    """0.90 and 0.95 as 90.0–95.0 %."""
    return f"{100 * low:.1f}–{100 * high:.1f}{SPACE}%"


def signed(difference: float) -> str:
    """A difference of 0.021 as +2.1 points, with a true minus sign and without the unit."""
    return f"{100 * difference:+.1f}".replace("-", "−")


def typeset(sentence: str) -> str:
    """A sentence of a run as a page shows it: true minus signs, and no line that begins with a unit."""
    return re.sub(r"(?<![\w.])-(?=\d)", "−", sentence).replace(" %", f"{SPACE}%")


def common_folder(paths: Sequence[str]) -> str:
    """The folder that all paths lie in, with the slash at its end; empty where there is none."""
    if not paths:
        return ""
    first, last = min(paths), max(paths)  # what these two share, all in between share
    same = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    start = first[:same]
    return start[: max(start.rfind("/"), start.rfind("\\")) + 1]


def count(number: int) -> str:
    """50000 as 50,000."""
    return f"{number:,}"


def several(number: int, one: str, many: str | None = None) -> str:
    """1 image, 2 images; 1 class, 2 classes."""
    return f"{count(number)}{SPACE}{one if number == 1 else many or one + 's'}"


def duration(seconds: float | None) -> str:
    """200 as 3 min 20 s; less than ten seconds with a decimal, from ten minutes on without seconds."""
    if seconds is None or not math.isfinite(seconds):
        return UNKNOWN
    if seconds < 9.95:
        return f"{seconds:.1f}{SPACE}s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours:,}{SPACE}h {minutes}{SPACE}min"
    if minutes >= 10:
        return f"{minutes}{SPACE}min"
    return f"{minutes}{SPACE}min {rest}{SPACE}s" if minutes else f"{rest}{SPACE}s"
