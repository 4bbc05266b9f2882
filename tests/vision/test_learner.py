from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from curriculum_labeling import PercentilePacing, curriculum
from curriculum_labeling.labels import Labels, Scores
from curriculum_labeling.vision.averaging import SWA
from curriculum_labeling.vision.learner import FineTuningImageLearner, ImageLearner
from curriculum_labeling.vision.networks import build_network
from curriculum_labeling.vision.schedule import Budget
from tests.vision.small import colors, labels_of, same_weights, settings, with_norm

IMAGES = colors()
LABELS = labels_of(IMAGES, np.arange(30))


def learner(config=None, **options):
    return ImageLearner(IMAGES, config or settings(), device="cpu", **options)


def test_every_fit_starts_from_scratch_however_often_the_learner_was_used():
    used = learner()
    used.fit(LABELS, seed=5)
    assert same_weights(used.fit(LABELS, seed=1).state_dict(), learner().fit(LABELS, seed=1).state_dict())


def test_a_fine_tuning_learner_starts_from_its_last_model():
    still = settings(learning_rate=1e-12, weight_decay=0.0, budget=Budget(steps=1))
    fine = FineTuningImageLearner(IMAGES, still, device="cpu")
    first, second = fine.fit(LABELS, seed=0).state_dict(), fine.fit(LABELS, seed=1).state_dict()
    other = learner(still).fit(LABELS, seed=1).state_dict()
    assert torch.allclose(first["0.weight"], second["0.weight"], atol=1e-6)
    assert not torch.allclose(other["0.weight"], second["0.weight"], atol=1e-2)


def test_the_averaged_weights_are_what_is_returned_saved_and_scored_with(tmp_path):
    config = settings(average=SWA(start=2, every=1), budget=Budget(epochs=4))
    model = learner(config, checkpoints=tmp_path).fit(LABELS, seed=0)
    assert same_weights(load_file(next(tmp_path.glob("*/model.safetensors"))), model.state_dict())

    by_hand = build_network(with_norm, 3)
    by_hand.load_state_dict(model.state_dict())
    inputs = model.scorer.preprocessing(torch.from_numpy(IMAGES.pixels).permute(0, 3, 1, 2).contiguous())
    with torch.inference_mode():
        expected = Scores.from_logits(np.arange(60), by_hand.eval()(inputs).double().numpy())
    scores = model.score(np.arange(60))
    assert (scores.classes == expected.classes).all()
    assert scores.log_confidence == pytest.approx(expected.log_confidence, rel=1e-4)

    plain = learner(settings(budget=Budget(epochs=4))).fit(LABELS, seed=0)
    assert not torch.equal(model.state_dict()["0.weight"], plain.state_dict()["0.weight"])
    assert scores.log_confidence != pytest.approx(plain.score(np.arange(60)).log_confidence, rel=1e-4)


def test_the_model_is_the_mean_of_the_weights_after_the_averaged_epochs(monkeypatch):
    from curriculum_labeling.vision import state

    seen, advance = [], state.TrainingState.advance

    def remember(self, loss, schedule):
        advance(self, loss, schedule)
        if schedule.ends_epoch(self.step):
            seen.append(self.network.state_dict()["0.weight"].clone())

    monkeypatch.setattr(state.TrainingState, "advance", remember)
    model = learner(settings(average=SWA(start=2, every=1), budget=Budget(epochs=4))).fit(LABELS, seed=0)
    assert torch.allclose(model.state_dict()["0.weight"], torch.stack(seen[1:]).mean(0), atol=1e-6)
    assert not torch.allclose(model.state_dict()["0.weight"], seen[-1], atol=1e-6)


def test_probabilities_agree_with_scores():
    model = learner(settings(flip_scoring=True, score_batch=7)).fit(LABELS, seed=0)
    rows = np.arange(35, 60)
    scores, probabilities = model.score(rows), model.probabilities(IMAGES.pixels[rows])
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(25))
    assert (scores.classes == probabilities.argmax(axis=1)).all()
    assert scores.confidence == pytest.approx(probabilities.max(axis=1), rel=1e-6)
    assert (scores.rows == rows).all()


def test_scores_of_no_rows_are_empty():
    model = learner(settings(budget=Budget(steps=1))).fit(LABELS, seed=0)
    assert len(model.score(np.array([], dtype=np.int64))) == 0


def test_flip_averaging_gives_an_image_and_its_mirror_one_score():
    model = learner(settings(flip_scoring=True)).fit(LABELS, seed=0)
    logits, mirrored = model.logits(IMAGES.pixels[:8]), model.logits(IMAGES.pixels[:8, :, ::-1])
    assert logits == pytest.approx(mirrored, rel=1e-5)


def test_confidences_that_are_all_one_in_float32_keep_their_order():
    class Certain(nn.Module):
        def __init__(self, classes):
            super().__init__()
            self.scale = nn.Parameter(torch.tensor(1.0))

        def forward(self, x):
            level = x.mean(dim=(1, 2, 3)) * self.scale
            return torch.stack([60 + level, -level, -level - 5], dim=1)

    config = settings(network=Certain, learning_rate=1e-9, budget=Budget(steps=1), augmentation="none")
    scores = learner(config).fit(LABELS, seed=0).score(np.arange(60))
    assert (scores.confidence.astype(np.float32) == 1).all()
    assert len(np.unique(scores.log_confidence)) == 60


def test_a_curriculum_runs_with_an_image_learner():
    rounds = list(curriculum(learner(), LABELS, np.arange(30, 60), pacing=PercentilePacing.by(50), seed=0))
    assert [r.selected for r in rounds] == [0, 15, 30]


def test_a_finished_fit_is_read_back_instead_of_trained_again(tmp_path):
    first = learner(checkpoints=tmp_path).fit(LABELS, seed=0)
    trained = []
    again = learner(checkpoints=tmp_path, watch=trained.append)
    assert same_weights(first.state_dict(), again.fit(LABELS, seed=0).state_dict())
    assert not trained
    assert first.seconds > 0
    again.fit(LABELS, seed=1)
    assert trained
    assert trained[0].round == 1


def test_training_and_scoring_tell_how_far_they_are(monkeypatch):
    monkeypatch.setattr("curriculum_labeling.data.progress.TELL_SECONDS", 0.0)
    told = []
    model = learner(settings(budget=Budget(steps=7), score_batch=25), progress=lambda *one: told.append(one)).fit(
        LABELS, seed=0
    )
    assert [(doing, p.done, p.total) for doing, p in told] == [("training", step, 7) for step in range(1, 8)]
    assert told[-1][1].seconds_left == 0
    told.clear()
    model.score(np.arange(60))
    assert [(doing, p.done, p.total) for doing, p in told] == [("scoring", done, 60) for done in (25, 50, 60)]


def test_progress_goes_on_from_a_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr("curriculum_labeling.data.progress.TELL_SECONDS", 0.0)
    config, told = settings(budget=Budget(steps=7)), []
    asked = iter([False, False, True])
    with pytest.raises(KeyboardInterrupt):
        learner(config, checkpoints=tmp_path, stop=lambda: next(asked)).fit(LABELS, seed=0)
    learner(config, checkpoints=tmp_path, progress=lambda _, p: told.append((p.done, p.new))).fit(LABELS, seed=0)
    assert told == [(4, 1), (5, 2), (6, 3), (7, 4)]


def test_other_settings_do_not_continue_a_checkpoint(tmp_path):
    learner(checkpoints=tmp_path).fit(LABELS, seed=0)
    trained = []
    learner(settings(learning_rate=0.04), checkpoints=tmp_path, watch=trained.append).fit(LABELS, seed=0)
    assert len(trained) == 3


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (Labels.of([], []), "labels must hold at least one row to train on, got none"),
        (Labels.of([60], [0]), "labels must name rows from 0 to 59, got 60 to 60"),
        (Labels.of([1], [3]), "labels must be classes from 0 to 2, got 3 to 3; images.classes names 3"),
    ],
)
def test_labels_that_do_not_fit_the_images_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        learner().fit(labels, seed=0)


def test_fp16_without_cuda_is_refused_before_training():
    with pytest.raises(ValueError, match="precision 'fp16' needs a CUDA device, got 'cpu'; use 'bf16', 'fp32' or"):
        learner(settings(precision="fp16"))


def test_flip_averaging_of_images_that_cannot_be_mirrored_is_refused():
    digits = replace(IMAGES, flippable=False)
    with pytest.raises(ValueError, match="flip_scoring must be off for images that are not flippable"):
        ImageLearner(digits, settings(flip_scoring=True), device="cpu")
