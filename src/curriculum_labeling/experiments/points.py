"""An experiment as data: points, each a place in a table or figure, the cell that fills it, and the paper's number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from curriculum_labeling.experiments.cells import Cell

Measure = Literal["error", "top-1 accuracy", "top-5 accuracy"]
Drawing = Literal["lines", "moons", "time", "gallery"]
LAST = -1


@dataclass(frozen=True)
class Number:
    """A published number in percent, with its standard deviation where the paper gives one."""

    mean: float
    std: float | None = None


@dataclass(frozen=True)
class Point:
    """One place of a table.

    Parameters
    ----------
    row, column : str
        Where it stands.
    cell : Cell, optional
        What fills it; None for methods of others, which the paper quotes.
    published : Number, optional
        None where the paper has a plot only.
    round : int
        Whose round it is: LAST, or 0 for labels only, and so on.
    measure : str
        Test error or accuracy, in percent.
    published_selected : int, optional
        Pseudo-labeled rows that the paper reports, in thousands.
    """

    row: str
    column: str
    cell: Cell | None
    published: Number | None = None
    round: int = LAST
    measure: Measure = "error"
    published_selected: int | None = None


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper; `across` names what its rows are."""

    key: str
    title: str
    across: str
    points: tuple[Point, ...]
    drawing: Drawing | None = None

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells behind it, each once."""
        return tuple(dict.fromkeys(point.cell for point in self.points if point.cell is not None))

    def cells_at(self, places: Sequence[str]) -> tuple[Cell, ...]:
        """The cells at these places, each ROW/COLUMN, where an empty part means all; without places, every cell."""
        found = [cell for place in places for cell in self._cells_at(place)]
        return tuple(cell for cell in self.cells if cell in found) if places else self.cells

    def _cells_at(self, place: str) -> list[Cell]:
        row, _, column = (part.strip().casefold() for part in place.partition("/"))
        ours = [point for point in self.points if point.cell is not None]
        found = [p for p in ours if row in ("", p.row.casefold()) and column in ("", p.column.casefold())]
        if not found:
            rows, columns = (
                ", ".join(dict.fromkeys(names)) for names in ([p.row for p in ours], [p.column for p in ours])
            )
            raise ValueError(
                f"--only must be a ROW/COLUMN of {self.key}, got {place!r}; its rows are {rows}; "
                f"its columns are {columns}."
            )
        return [point.cell for point in found if point.cell is not None]


def row_of(
    row: str, columns: dict[str, Cell | None], numbers: Sequence[Number | None], *, at: int = LAST
) -> list[Point]:
    """One row of a table: a cell and a number per column; `at` is the round."""
    pairs = zip(columns.items(), numbers, strict=True)
    return [Point(row, column, cell, number, at) for (column, cell), number in pairs]


def per_round(column: str, cell: Cell, errors: Sequence[float], selected: Sequence[int] = ()) -> list[Point]:
    """One column of a table whose rows are rounds: an error per round, and thousands selected from round 1 on."""
    counts = (None, *selected) if selected else (None,) * len(errors)
    return [
        Point(round_name(t), column, cell, Number(error), t, published_selected=count)
        for t, (error, count) in enumerate(zip(errors, counts, strict=True))
    ]


def round_name(t: int) -> str:
    """What a row is called whose round this is."""
    return "labels only" if t == 0 else f"round {t}"
