from dataclasses import replace

from curriculum_labeling.report.panels import MOST_PANELS, calibration_panel, confidence_panels, confusions
from curriculum_labeling.report.read import read_run


def test_each_round_shows_what_the_model_before_it_thought(finished_run):
    panels = confidence_panels(read_run(finished_run))
    assert [panel.title for panel in panels] == [f"Round {t}" for t in range(1, 6)] + ["After round 5"]
    assert "percentile 80" in panels[0].note


def test_many_rounds_give_a_bounded_number_of_panels(finished_run):
    run = read_run(finished_run)
    rounds = tuple(replace(run.rounds[min(t, 5)], number=t) for t in range(40))
    titles = [panel.title for panel in confidence_panels(replace(run, rounds=rounds))]
    assert len(titles) == MOST_PANELS + 1
    assert titles[0] == "Round 1"
    assert titles[-2:] == ["Round 39", "After round 39"]


def test_calibration_needs_held_out_labels_and_a_temperature(finished_run):
    run = read_run(finished_run)
    assert calibration_panel(run).gap_after is not None
    assert calibration_panel(replace(run, ledger=None)).gap_after is None
    assert calibration_panel(replace(run, held_out=None)) is None


def test_confusion_is_of_the_delivered_round(finished_run):
    run = read_run(finished_run)
    (_, held), (_, truth) = confusions(run)
    assert held.accuracy == run.delivered.held_out.accuracy
    assert truth.accuracy == run.delivered.truth_accuracy
