import re
from xml.etree import ElementTree

import numpy as np

from curriculum_labeling.report.figures import accuracy_figure, heat_figure, moves_figure
from curriculum_labeling.report.read import read_run
from curriculum_labeling.report.svg import ROLES, canvas, inline, plain_axes


def test_colors_are_those_of_the_page(finished_run):
    text = accuracy_figure(read_run(finished_run).rounds, 5)
    assert not any(color in text for color in ROLES)
    assert "var(--accent)" in text
    assert set(re.findall(r"#[0-9a-f]{6}\b", text)) == set()


def test_ids_of_two_figures_differ(finished_run):
    rounds = read_run(finished_run).rounds
    ids = [set(re.findall(r'\bid="([^"]+)"', figure)) for figure in (accuracy_figure(rounds, 5), moves_figure(rounds))]
    assert all(ids)
    assert not ids[0] & ids[1]


def test_every_link_within_a_figure_leads_somewhere(finished_run):
    text = str(accuracy_figure(read_run(finished_run).rounds, 5))
    ids = set(re.findall(r'\bid="([^"]+)"', text))
    assert set(re.findall(r'href="#([^"]+)"', text)) | set(re.findall(r"url\(#([^)]+)\)", text)) <= ids


def test_hostile_text_stays_text():
    figure = canvas(100, 100)
    plain_axes(figure).set_title('<script>"&$x^</script>', parse_math=False)
    text = inline(figure, "a", '"><script>alert(1)</script>')
    assert "<script" not in text
    assert ElementTree.fromstring(text).get("aria-label") == '"><script>alert(1)</script>'


def test_the_same_figure_is_the_same_text():
    matrix = np.diag(np.arange(1, 101))
    assert heat_figure(matrix, "heat") == heat_figure(matrix, "heat")
