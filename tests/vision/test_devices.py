"""Which numbers a device computes in."""

import pytest
import torch

from curriculum_labeling.vision import devices
from curriculum_labeling.vision.devices import Numbers, numbers_for
from curriculum_labeling.vision.learner import ImageLearner
from tests.vision.small import colors, labels_of, same_weights, settings

CPU = torch.device("cpu")


@pytest.mark.parametrize(("device", "there"), [("cuda", 0), ("cuda:1", 1), ("mps", 0)])
def test_a_device_that_is_not_there_is_refused(device, there, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: there)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(ValueError, match=f"device must be one that this machine has, got '{device}'; use 'cpu'"):
        devices.choose_device(device)


def test_a_device_that_is_there_is_taken(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert devices.choose_device("cuda:1") == torch.device("cuda", 1)
    assert devices.choose_device("cpu") == CPU


@pytest.mark.parametrize(("has", "dtype"), [(True, torch.bfloat16), (False, None)])
def test_a_cpu_computes_in_bf16_where_it_has_instructions_for_it(has, dtype, monkeypatch):
    monkeypatch.setattr(devices, "cpu_has_bf16", lambda: has)
    assert numbers_for(CPU, "auto") == Numbers(dtype, scaled=False)
    assert numbers_for(CPU, "fp32") == Numbers(None, scaled=False)
    assert numbers_for(torch.device("mps"), "auto") == Numbers(None, scaled=False)


def test_scoring_gains_less_on_trainings_in_short_numbers(monkeypatch):
    for has, speedup in ((True, 1.8), (False, 3.0)):
        monkeypatch.setattr(devices, "cpu_has_bf16", lambda has=has: has)
        assert devices.scoring_speedup("cpu") == speedup
    assert devices.scoring_speedup("cuda") < devices.scoring_speedup("mps")


def test_a_torch_that_cannot_tell_gets_fp32(monkeypatch):
    monkeypatch.delattr(torch.cpu, "_is_avx512_bf16_supported", raising=False)
    monkeypatch.delattr(torch.cpu, "_is_amx_tile_supported", raising=False)
    assert devices.cpu_has_bf16.__wrapped__() is False


@pytest.mark.parametrize("optimizer", ["sgd", "muon"])
def test_trained_in_bf16_weights_and_scores_stay_fp32_and_the_classes_are_learned(optimizer):
    images = colors(60)
    models = {
        precision: ImageLearner(images, settings(precision=precision, optimizer=optimizer), device="cpu").fit(
            labels_of(images, range(60)), seed=0
        )
        for precision in ("fp32", "bf16")
    }
    weights = {precision: model.state_dict() for precision, model in models.items()}
    assert {tensor.dtype for tensor in weights["bf16"].values()} <= {torch.float32, torch.int64}
    assert not same_weights(weights["fp32"], weights["bf16"])
    right = [(model.score(range(60)).classes == images.labels).mean() for model in models.values()]
    assert min(right) > 0.8
