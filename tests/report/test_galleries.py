import numpy as np

from curriculum_labeling.report.galleries import BUDGET, class_galleries, foreign_shots, sample_shots, twins
from curriculum_labeling.report.read import read_run


def test_strips_hold_each_image_once_and_in_order(finished_run):
    run = read_run(finished_run)
    for group in class_galleries(run, run.ledger):
        most, least, flipped = (strip.shots for strip in group.strips)
        rows = [shot.row for shot in (*most, *least, *flipped)]
        assert len(rows) == len(set(rows))
        assert [s.sure for s in most] == sorted((s.sure for s in most), reverse=True)
        assert [s.sure for s in least] == sorted(s.sure for s in least)
        assert all(len(shot.history) > 1 for shot in flipped)
        assert {shot.class_number for shot in (*most, *least, *flipped)} <= {group.number}


def test_the_number_of_pictures_is_bounded(finished_run):
    run = read_run(finished_run)
    shots = [shot for group in class_galleries(run, run.ledger) for strip in group.strips for shot in strip.shots]
    assert 0 < len(shots) <= BUDGET


def test_right_and_wrong_follow_the_truth(finished_run):
    run = read_run(finished_run)
    for shot in sample_shots(run, run.ledger):
        assert shot.right == (shot.truth == shot.label)


def test_the_most_foreign_image_comes_first(finished_run):
    run = read_run(finished_run)
    number, shots = foreign_shots(run, run.ledger)
    assert number == int((run.ledger.foreign >= 0.99).sum())
    assert shots[0].row == run.ledger.rows[np.argmax(run.ledger.foreign)]


def test_a_copy_of_a_labeled_image_says_so(finished_run):
    run = read_run(finished_run)
    number, found = twins(run, run.ledger)
    assert number == 1
    assert found[0].labeled
    assert found[0].row == 0
