import json

import numpy as np
import pytest

from curriculum_labeling.vision.operations import Operation, values
from curriculum_labeling.vision.policy import load_policy, parse_policy

AUTO = [[["Invert", 0.1, 7], ["Contrast", 0.2, 6]], [["ShearY", 0.5, 8]]]
FAST = [[["Contrast", 0.832, 0.499], ["TranslateX", 0.418, 0.394]], [["Cutout", 1, 1], ["Posterize", 0.5, 0]]]


def value(name, magnitude, scale, sign=1.0, size=(32, 32)):
    arrays = np.array([[Operation[name]]]), np.array([[float(magnitude)]]), np.array([[sign]])
    return float(values(*arrays, size, scale)[0, 0])


def test_autoaugments_form_is_read(tmp_path):
    (tmp_path / "auto.json").write_text(json.dumps(AUTO))
    policy = load_policy(tmp_path / "auto.json")
    assert policy.scale == "levels"
    assert policy.operations.tolist() == [[Operation.Invert, Operation.Contrast], [Operation.ShearY, 0]]
    assert policy.probabilities.tolist() == [[0.1, 0.2], [0.5, 0.0]]
    assert policy.magnitudes.tolist() == [[7, 6], [8, 0]]


def test_fast_autoaugments_form_is_read():
    assert parse_policy(FAST).scale == "unit"
    assert parse_policy([[["Rotate", 1, 1]]]).scale == "levels"
    assert parse_policy([[["Rotate", 1, 1]]], scale="unit").scale == "unit"


@pytest.mark.parametrize(
    ("name", "level", "expected"),
    [
        ("Rotate", 10, 30),
        ("TranslateX", 9, 9),
        ("ShearX", 9, 0.27),
        ("Solarize", 9, 25.6),
        ("Posterize", 0, 4),
        ("Posterize", 9, 1),
        ("Posterize", 10, 1),
        ("Color", 0, 0.1),
        ("Color", 9, 1.72),
        ("Cutout", 8, 16),
    ],
)
def test_levels_mean_what_they_mean_in_autoaugment(name, level, expected):
    assert value(name, level, "levels") == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "unit", "expected"),
    [
        ("Rotate", 0, -30),
        ("Rotate", 1, 30),
        ("TranslateY", 1, 0.45 * 32),
        ("ShearY", 0.5, 0),
        ("Solarize", 1, 256),
        ("Posterize", 0.3, 5),
        ("Posterize", 1, 8),
        ("Sharpness", 0.5, 1.0),
        ("Cutout", 1, 6),
    ],
)
def test_unit_magnitudes_mean_what_they_mean_in_fast_autoaugment(name, unit, expected):
    assert value(name, unit, "unit") == pytest.approx(expected)


def test_only_geometric_operations_have_a_direction():
    assert value("Rotate", 5, "levels", -1.0) == -15
    assert value("Color", 5, "levels", -1.0) == value("Color", 5, "levels")


def test_all_faults_are_named_at_once():
    faulty = [[["Invrt", 0.1, 7], ["Contrast", 1.2, 6]], [["Rotate", 0.5], ["Rotate", 0.5, "much"], ["zzzz", 1, 1]]]
    with pytest.raises(ValueError, match="policy has faults") as caught:
        parse_policy(faulty)
    message = str(caught.value)
    assert "[0][0]: unknown operation 'Invrt'; did you mean 'Invert'?" in message
    assert "[0][1]: probability must be from 0 to 1, got 1.2" in message
    assert "[1][0]: must be [operation, probability, magnitude], got ['Rotate', 0.5]" in message
    assert "[1][1]: magnitude must be a number, or null where the operation has none, got 'much'" in message
    assert "[1][2]: unknown operation 'zzzz'; known are Identity, Invert" in message


def test_magnitudes_off_the_scale_are_refused():
    with pytest.raises(ValueError, match=r"\[0\]\[0\]: magnitude must be from 0 to 10 on the scale 'levels', got 11"):
        parse_policy([[["Rotate", 1, 11]]])
    with pytest.raises(ValueError, match=r"from 0 to 1 on the scale 'unit', got 7"):
        parse_policy(AUTO, scale="unit")


@pytest.mark.parametrize("content", [{}, [], [[]], "Rotate", [1, 2]])
def test_anything_but_lists_of_lists_is_refused(content):
    with pytest.raises(ValueError, match=r"policy must be a list of sub-policies \[\[\[operation"):
        parse_policy(content)


def test_files_that_are_missing_or_not_json_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"existing JSON file, got '.*nothing.json', which is not there"):
        load_policy(tmp_path / "nothing.json")
    (tmp_path / "text.json").write_text("Rotate!")
    with pytest.raises(ValueError, match=r"got 'text.json', which is not JSON: Expecting value"):
        load_policy(tmp_path / "text.json")
