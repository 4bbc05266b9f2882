"""Options and model folders made to do harm: one sentence comes out, and no code is run."""

import json
import pickle
import shutil

import pytest

from curriculum_labeling.cli import main
from curriculum_labeling.vision.model_folder import read_model
from tests.faults.fuzzing import bounded, made
from tests.faults.run_files import save_model, sign
from tests.faults.test_hostile_archives import Runs


@pytest.mark.parametrize(
    "text",
    [
        "percentiles: &a [*a]",
        "options: &a {x: *a}",
        "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]",
        "1: 2",
        "? [1, 2]\n: 3",
        "minutes: .nan",
        "minutes: 2020-01-01",
        "network: !!binary aGk=",
        "seed: !!timestamp x",
        "flip: !!bool x",
        "seed: " + "9" * 5000,
        "x: !!python/object/apply:os.system [echo]",
        'truth: "a\\0b"',
        "[" * 1500,
    ],
)
def test_a_file_of_options_that_is_a_trap_is_one_sentence(tmp_path, capsys, text):
    (tmp_path / "options.yaml").write_text(text)
    with bounded():
        assert main(["fit", "--config", str(tmp_path / "options.yaml")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("--config must")
    assert said.count("\n") == 1
    assert len(said) < 500 + len(str(tmp_path))


@pytest.mark.parametrize("name", ["os:abort", "wrn-999-999", "timm:hf-hub:evil/model", "../../x", "compact\n", ""])
@pytest.mark.parametrize("own", [True, False])
def test_a_model_cannot_name_code_to_run(tmp_path, name, own):
    shutil.copytree(made(save_model), tmp_path / "m")
    card = json.loads((tmp_path / "m/model/model.json").read_text())
    card["network"] |= {"name": name, "own": own}
    (tmp_path / "m/model/model.json").write_text(json.dumps(card))
    with bounded(), pytest.raises(ValueError, match=r"cannot be used: .*\.$"):
        read_model(tmp_path / "m/model")


@pytest.mark.parametrize("kind", ["own", "timm", "onnx", "efficientnet-lite0"])
def test_a_model_cannot_bring_a_backbone_that_runs(tmp_path, kind):
    shutil.copytree(made(save_model), tmp_path / "m")
    card = json.loads((tmp_path / "m/model/model.json").read_text())
    numbers = {"size": 5, "mean": [0, 0, 0], "deviation": [1, 1, 1], "sha256": "0" * 64, "file": "backbone.onnx"}
    card |= {"kind": "probe", "backbone": {"kind": kind, "name": "timm:hf-hub:evil/model", **numbers}}
    (tmp_path / "m/model/model.json").write_text(json.dumps(card))
    with bounded(), pytest.raises(ValueError, match=r"cannot be used: .*\.$"):
        read_model(tmp_path / "m/model")


def test_weights_that_are_a_pickle_are_refused(tmp_path):
    shutil.copytree(made(save_model), tmp_path / "m")
    (tmp_path / "m/model/weights.safetensors").write_bytes(pickle.dumps(Runs(f"touch {tmp_path / 'mark'}")))
    sign(tmp_path / "m/model", "weights.safetensors", "weights")
    with pytest.raises(ValueError, match="it is no whole safetensors file"):
        read_model(tmp_path / "m/model")
    assert not (tmp_path / "mark").exists()
