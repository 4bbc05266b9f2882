import csv

import pytest

from curriculum_labeling.runs.csv_cells import plain_cell
from curriculum_labeling.runs.predictions_csv import write_predictions
from curriculum_labeling.vision.predict import Prediction

PREDICTIONS = [
    Prediction("=a,b\n.jpg", "=cmd|' /C calc'!A0", 0.987654321, '<b>"x"</b>', 0.01),
    Prediction("\udcff.jpg", error="is empty"),
    Prediction("-c.jpg", "猫", 1.0, "=cmd|' /C calc'!A0", 0.0),
]


def test_predictions_come_back_whatever_files_and_classes_are_called(tmp_path):
    path = tmp_path / "predictions.csv"
    assert write_predictions(path, iter(PREDICTIONS)) == (2, 1)
    with open(path, newline="", encoding="utf-8", errors="surrogateescape") as file:
        header, *lines = csv.reader(file)
    assert header == ["path", "label", "probability", "runner_up", "runner_up_probability", "error"]
    assert not [cell for line in lines for cell in line if cell.startswith(("=", "+", "-", "@"))]
    for line, one in zip(lines, PREDICTIONS, strict=True):
        assert plain_cell(line[0]) == one.path
        assert [plain_cell(line[place]) or None for place in (1, 3, 5)] == [one.label, one.runner_up, one.error]
    assert [line[2] for line in lines] == ["0.987654", "", "1.000000"]
    assert b"\xff.jpg" in path.read_bytes()


def test_a_file_that_was_not_finished_gets_no_name(tmp_path):
    def some():
        yield PREDICTIONS[0]
        raise RuntimeError("power cut")

    (tmp_path / "predictions.csv").write_text("old")
    with pytest.raises(RuntimeError, match="power cut"):
        write_predictions(tmp_path / "predictions.csv", some())
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("predictions.csv", "old")]


def test_no_predictions_make_a_file_with_a_header_only(tmp_path):
    assert write_predictions(tmp_path / "none.csv", []) == (0, 0)
    assert (tmp_path / "none.csv").read_text().count("\n") == 1
