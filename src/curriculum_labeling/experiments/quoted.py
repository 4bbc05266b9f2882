"""What the paper quotes of other methods in Tables 1 to 3: (mean, standard deviation) per column, as far as known."""

from __future__ import annotations

from curriculum_labeling.experiments.points import Measure, Number, Point

Quote = tuple[float, float] | tuple[float] | None
Quotes = dict[str, tuple[Quote, Quote]]

TABLE_1: Quotes = {
    "PL (Lee 2013)": ((17.78, 0.57), (7.62, 0.29)),
    "PL-CB (Arazo et al. 2019)": ((6.28, 0.3), None),
    "Π-model": ((16.37, 0.63), (7.19, 0.27)),
    "mean teacher": ((15.87, 0.28), (5.65, 0.47)),
    "VAT": ((13.86, 0.27), (5.63, 0.20)),
    "VAT+EntMin": ((13.13, 0.39), (5.35, 0.19)),
    "LGA+VAT": ((12.06, 0.19), (6.58, 0.36)),
    "ICT": ((7.66, 0.17), (3.53, 0.07)),
    "MixMatch": ((6.24, 0.06), (3.27, 0.31)),
    "UDA": ((5.29, 0.25), (2.46, 0.17)),
    "ReMixMatch": ((5.14, 0.04), (2.42, 0.09)),
    "FixMatch": ((4.26, 0.05), (2.28, 0.11)),
}

TABLE_2: Quotes = {
    "TSSDL-MT": ((9.30, 0.55), (3.35, 0.27)),
    "LP-MT": ((10.61, 0.28), None),
    "ladder network": ((12.36, 0.31), None),
    "mean teacher": ((12.31, 0.24), (3.95, 0.19)),
    "temporal ensembling": ((12.16, 0.24), (4.42, 0.16)),
    "VAT": ((11.36, 0.34), (5.42,)),
    "VAT+EntMin": ((10.55, 0.05), (3.86,)),
    "SNTG": ((10.93, 0.14), (3.86, 0.27)),
    "ICT": ((7.29, 0.02), (2.89, 0.04)),
}

TABLE_3: Quotes = {
    "labels only (S4L)": (None, (80.43,)),
    "PL (Lee 2013)": (None, (82.41,)),
    "VAT": (None, (82.78,)),
    "VAT+EntMin": (None, (83.39,)),
    "S4L-rotation": (None, (83.82,)),
    "S4L-exemplar": (None, (83.72,)),
    "labels only (UDA)": ((55.09,), (77.26,)),
    "labels only, augmented (UDA)": ((58.84,), (80.56,)),
    "UDA": ((68.78,), (88.80,)),
    "FixMatch": ((71.46,), (89.13,)),
}
MEASURES: dict[str, Measure] = {"top-1 accuracy": "top-1 accuracy", "top-5 accuracy": "top-5 accuracy"}


def quoted_rows(quotes: Quotes, columns: tuple[str, str]) -> list[Point]:
    """The rows of a table that nobody runs here."""
    return [
        Point(row, column, None, Number(*quote) if quote else None, measure=MEASURES.get(column, "error"))
        for row, pair in quotes.items()
        for column, quote in zip(columns, pair, strict=True)
    ]
