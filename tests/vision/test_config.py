import pytest

from curriculum_labeling.vision.config import TrainingConfig
from curriculum_labeling.vision.schedule import Budget


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": "firm"}, "labels must be one of 'hard', 'soft', got 'firm'"),
        ({"class_weights": "x"}, "class_weights must be one of 'none', 'inverse', got 'x'"),
        ({"precision": "fp8"}, "precision must be one of 'auto', 'fp32', 'bf16', 'fp16', got 'fp8'"),
        ({"batch_size": 0}, "batch_size must be a whole number, at least 1, got 0"),
        ({"accumulate": 0}, "accumulate must be a whole number, at least 1, got 0"),
        ({"learning_rate": 0}, "learning_rate must be above 0, got 0"),
        ({"momentum": 1.0}, r"momentum must be at least 0 and below 1, got 1\.0"),
        ({"warmup": 1.0}, r"warmup must be at least 0 and below 1, got 1\.0"),
        ({"mixup": -1}, "mixup must be at least 0, got -1"),
        ({"cycle": (0.5, 0.5)}, "cycle must be a pair from 0 to 1, the first below the second, got"),
        ({"cycle": (0.5, 1.5)}, "cycle must be a pair from 0 to 1, the first below the second, got"),
        ({"labeled_share": 0}, "labeled_share must be above 0 and below 1, got 0"),
        ({"weight_decay": float("nan")}, "weight_decay must be at least 0, got nan"),
        ({"momentum": 0}, "momentum must be above 0 for nesterov, got 0; set nesterov=False"),
        ({"labeled_share": 0.5, "batch_size": 1}, "batch_size must be at least 2 to be shared"),
    ],
)
def test_settings_out_of_range_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        TrainingConfig(**changes)


def test_settings_are_described_by_name():
    described = TrainingConfig(budget=Budget(minutes=3)).describe()
    assert described["objective"] == "curriculum_labeling.vision.objective.cross_entropy"
    assert described["budget"] == "Budget(epochs=None, steps=None, minutes=3)"
    assert described["learning_rate"] == "0.1"
