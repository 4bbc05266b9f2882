"""Text in CSV cells that a spreadsheet shows instead of running it as a formula.

Spreadsheets take a cell that begins with one of a few signs for a formula, and a file or a class may
be called anything. An apostrophe in front makes it text; `plain_cell` takes exactly that away again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# The full-width signs count too in some languages' spreadsheets.
_SIGNS = "=+\\-@\t\r\n＝＋－＠"
# Apostrophes before a sign get one more, so that reading back is exact.
_RISKY = re.compile(f"'*[{_SIGNS}]")
_GUARDED = re.compile(f"'+[{_SIGNS}]")
# A line end within a cell would begin a line of its own, and in some countries a semicolon begins a cell.
_QUOTED = re.compile('[,;"\t\r\n]')


def safe_cell(text: str) -> str:
    """The text, with an apostrophe in front where a spreadsheet would take it for a formula."""
    return f"'{text}" if _RISKY.match(text) else text


def csv_line(cells: Iterable[object]) -> str:
    """A line of CSV; Python's own writer leaves a carriage return without quotes."""
    texts = (str(cell) for cell in cells)
    return ",".join('"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text for text in texts) + "\n"


def plain_cell(cell: str) -> str:
    """The text that `safe_cell` was given."""
    return cell[1:] if _GUARDED.match(cell) else cell
