"""Matplotlib figures as inline SVG that takes its colors and its font from the page.

A figure is drawn in stand-in colors, one per role; afterwards each becomes a CSS variable, so
that the same drawing follows the light and the dark page.
"""

from __future__ import annotations

import io
import re
from typing import Any
from xml.etree import ElementTree

import matplotlib
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

INK, MUTED, LINE, ACCENT, SECOND, BAD, PAPER = (
    "#010101",
    "#020202",
    "#030303",
    "#040404",
    "#050505",
    "#060606",
    "#070707",
)
ROLES = {
    INK: "ink",
    MUTED: "muted",
    LINE: "line",
    ACCENT: "accent",
    SECOND: "second",
    BAD: "bad",
    PAPER: "paper",
}
POINTS = 72.0
FONT_SIZE = 9.5
NAMESPACE = "http://www.w3.org/2000/svg"
LINK = "{http://www.w3.org/1999/xlink}href"
LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
OWN_FONT = re.compile(r"font-family:[^;]*;? ?")
NO_TURN = re.compile(r"rotate\(-?0 [^)]*\)")
TARGET = re.compile(r"#([^)]+)\)?$")
DRAWING = {"d", "x", "y", "width", "height", "transform", "points", "style"}
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: it can be read aloud, searched and set in the page's font
    "font.size": FONT_SIZE,
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTED,
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "axes.unicode_minus": True,
}

ElementTree.register_namespace("", NAMESPACE)


def canvas(width: float, height: float, *, left: float = 40.0, bottom: float = 32.0) -> Figure:
    """An empty figure of this many points, with room for labels at the left and at the bottom."""
    figure = Figure(figsize=(width / POINTS, height / POINTS))
    figure.subplots_adjust(left / width, bottom / height, 1 - 15.0 / width, 1 - 6.0 / height, hspace=0.12)
    FigureCanvasSVG(figure)
    return figure


def plain_axes(figure: Figure) -> Axes:
    """The only axes of a figure."""
    return figure.add_subplot()


def style() -> matplotlib.RcParams:
    """The look of every figure, for use as rc parameters while drawing."""
    rc = matplotlib.RcParams(matplotlib.rcParamsDefault)
    rc.update(STYLE)
    return rc


def inline(figure: Figure, name: str, label: str) -> Markup:
    """The figure as an <svg> element; `name` keeps its ids apart, `label` is read to who cannot see it."""
    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    root = ElementTree.fromstring(buffer.getvalue())
    _strip(root)
    _keep_linked_names(root, name)
    for element in root.iter():
        for key in DRAWING & set(element.attrib):
            element.set(key, LONG_NUMBER.sub(_shorter, element.attrib[key]))
    width, height = (float(figure.get_size_inches()[side]) * POINTS for side in (0, 1))
    root.attrib = {
        "viewBox": f"0 0 {width:g} {height:g}",
        "role": "img",
        "aria-label": label,
        "style": f"max-width: {width * 1.5:g}px",
        "stroke-linejoin": "round",
    }
    return Markup(_themed(ElementTree.tostring(root, encoding="unicode")))


def _strip(element: ElementTree.Element) -> None:
    """Leave out what says nothing, and the style sheet that would reach beyond this drawing."""
    for child in list(element):
        _strip(child)
        kind = child.tag.rpartition("}")[2]
        if kind in ("metadata", "style") or (kind in ("g", "defs") and not len(child)):
            element.remove(child)
    if not element.tag.endswith("}text"):
        element.text = None
    element.tail = None
    if "style" in element.attrib:
        element.set("style", OWN_FONT.sub("", element.attrib["style"]))
    if NO_TURN.fullmatch(element.attrib.get("transform", "")):
        del element.attrib["transform"]


def _keep_linked_names(root: ElementTree.Element, name: str) -> None:
    """Ids that something links to, made unlike those of any other figure; the other ids go."""
    linked = set()
    for element in root.iter():
        if LINK in element.attrib:
            element.set("href", element.attrib.pop(LINK))
        for key in {"href", "clip-path"} & set(element.attrib):
            if target := TARGET.search(element.attrib[key]):
                linked.add(target.group(1))
                element.set(key, element.attrib[key].replace("#", f"#{name}-"))
    for element in root.iter():
        old = element.attrib.pop("id", None)
        if old in linked:
            element.set("id", f"{name}-{old}")


def _themed(text: str) -> str:
    for color, role in ROLES.items():
        text = text.replace(color, f"var(--{role})")
    return text


def _shorter(number: re.Match[str]) -> str:
    return f"{float(number.group()):.2f}".rstrip("0").rstrip(".")
