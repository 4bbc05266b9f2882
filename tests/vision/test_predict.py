import itertools
import os
import threading

import numpy as np
import pytest

from curriculum_labeling.data.decode import decode
from curriculum_labeling.vision.predict import Prediction, predict_files
from tests.data.photos import save_scenes
from tests.vision.deliveries import CLASSES, network, own_probe


@pytest.mark.parametrize("batch", [1, 3, 64])
@pytest.mark.parametrize("model", [network(), network(flip=True), own_probe()], ids=["network", "flip", "probe"])
def test_confidences_are_the_calibrated_probabilities_of_the_decoded_files(tmp_path, model, batch):
    paths = save_scenes(tmp_path, 7)
    found = list(predict_files(model, paths, batch=batch))
    wanted = model.probabilities(np.stack([decode(path, 8) for path in paths]))
    assert [one.path for one in found] == paths
    assert [one.label for one in found] == [CLASSES[c] for c in wanted.argmax(axis=1)]
    ranked = np.sort(wanted, axis=1)
    assert np.allclose([one.confidence for one in found], ranked[:, -1], atol=1e-5)
    assert np.allclose([one.runner_up_confidence for one in found], ranked[:, -2], atol=1e-5)
    assert all(one.error is None and one.runner_up in CLASSES for one in found)


def test_files_that_cannot_be_read_come_in_their_place_with_the_reason(tmp_path):
    good = save_scenes(tmp_path / "good", 2)
    (tmp_path / "empty.jpg").touch()
    (tmp_path / "text.jpg").write_text("no image")
    os.mkfifo(tmp_path / "pipe.jpg")
    bad = [str(tmp_path / name) for name in ("empty.jpg", "text.jpg", "pipe.jpg", "missing.jpg", "good", "nul\0.jpg")]
    paths = [*bad[:3], good[0], *bad[3:], good[1]]
    found = list(predict_files(network(), paths, batch=2))
    assert [one.path for one in found] == paths
    failed = [one for one in found if one.path in bad]
    assert all(one == Prediction(one.path, error=one.error) for one in failed)
    assert [one.error for one in failed] == [
        "is empty",
        "is not an image of a known format",
        "is empty",
        "cannot be opened (No such file or directory)",
        "cannot be opened (Is a directory)",
        "cannot be opened (embedded null byte)",
    ]
    assert all(one.error is None and one.label is not None for one in found if one.path in good)


def test_files_stream_and_few_are_taken_ahead(tmp_path):
    (path,) = save_scenes(tmp_path, 1)
    taken = itertools.count()
    endless = (path for _ in taken)
    predictions = predict_files(network(), endless, batch=2)
    assert [one.path for one in itertools.islice(predictions, 10)] == [path] * 10
    predictions.close()
    assert next(taken) < 20
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("decoding")]


def test_no_files_give_no_predictions():
    assert list(predict_files(network(), [])) == []


def test_a_batch_of_nothing_is_refused():
    with pytest.raises(ValueError, match="batch must be a whole number, at least 1, got 0"):
        predict_files(network(), [], batch=0)
