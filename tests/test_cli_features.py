"""The command on features of a frozen network: an own torch module, killed and resumed, predicted with."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from curriculum_labeling.cli import main
from tests.test_cli import fit, lay_out, read_csv, refused
from tests.vision.backbones.own_networks import save_onnx

MODULE = '''
import time, torch
from torch import nn
class Slow(nn.Module):
    """Colors on a coarse grid; slow enough to be killed."""
    def forward(self, x):
        time.sleep(0.02)
        return nn.functional.adaptive_avg_pool2d(x, 4).flatten(1)
def make():
    return Slow(), {"resolution": 24, "mean": [0.5] * 3, "std": [0.2] * 3}
'''
OPTIONS = ["--features", "colors:make", "--threads", "1"]


@pytest.fixture
def photos(tmp_path, monkeypatch):
    (tmp_path / "colors.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "colors", raising=False)
    return lay_out(tmp_path, unlabeled=40)


def test_a_run_on_features_ends_well(photos, capsys):
    truth = ["--truth", str(photos / "truth.csv")]
    assert main(fit(photos, *OPTIONS, *truth)) == 0
    run = photos / "run"
    assert json.loads((run / "config.json").read_text())["way"] == "features"
    assert json.loads((run / "rounds/5/metrics.json").read_text())["truth_accuracy"] > 0.9
    assert (run / "cache/embeddings.npy").is_file()
    out = photos / "found.csv"
    capsys.readouterr()
    assert "features" in refused(capsys, "predict", str(run), str(photos / "unlabeled"), "--out", str(out)).lower()
    assert main(["predict", str(run), str(photos / "unlabeled"), "--out", str(out), "--features", "colors:make"]) == 0
    ledger = {line["path"]: line["label"] for line in read_csv(run / "ledger.csv")}
    assert {line["path"]: line["label"] for line in read_csv(out)} == ledger
    assert main(["suggest", str(run), "-n", "3"]) == 0
    assert len(read_csv(run / "suggestions.csv")) == 3


def test_corrections_reuse_the_features(photos):
    assert main(fit(photos, *OPTIONS)) == 0
    with open(photos / "fixed.csv", "w", newline="") as file:
        csv.writer(file).writerows(
            [("path", "label", "note"), ("unlabeled/0-0.png", "blue", "seen"), ("unlabeled/1-0.png", "", "")]
        )
    before = (photos / "run/cache/embeddings.npy").stat().st_ino
    command = ["fit", "--continue", str(photos / "run"), "--corrections", str(photos / "fixed.csv"), *OPTIONS]
    assert main([*command, "--out", str(photos / "second")]) == 0
    assert (photos / "second/cache/embeddings.npy").stat().st_ino == before
    assert len(json.loads((photos / "second/images.json").read_text())["labeled"]) == 13


def test_files_that_were_moved_are_not_embedded_again(photos, monkeypatch):
    assert main(fit(photos, *OPTIONS)) == 0
    os.rename(photos / "unlabeled/0-0.png", photos / "labeled/blue/moved.png")
    import colors

    seen = []
    forward = colors.Slow.forward
    monkeypatch.setattr(colors.Slow, "forward", lambda self, x: (seen.append(len(x)), forward(self, x))[1])
    monkeypatch.setattr("curriculum_labeling.commands.estimate_seconds", lambda *_: None)
    command = fit(photos, *OPTIONS, "--continue", str(photos / "run"))
    command[4] = str(photos / "second")
    assert main(command) == 0
    probing = 2  # opening a backbone tries it on one image, once for the choices and once for the run
    assert sum(seen) <= probing
    assert len(json.loads((photos / "second/images.json").read_text())["labeled"]) == 13


def test_a_relative_onnx_file_is_found_from_any_folder(photos, monkeypatch, tmp_path_factory):
    save_onnx(photos / "colors.onnx")
    assert main(fit(photos, "--features", "colors.onnx", "--threads", "1")) == 0
    (photos / "run/outcome.json").unlink()
    (photos / "fixed.csv").write_text("path,label\nunlabeled/0-0.png,blue\n")
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert main(["resume", str(photos / "run")]) == 0
    assert main(["suggest", str(photos / "run"), "-n", "2"]) == 0
    command = ["fit", "--continue", str(photos / "run"), "--corrections", str(photos / "fixed.csv")]
    assert main([*command, "--out", "second"]) == 0


@pytest.mark.parametrize("delay", [0.0, 0.5])
def test_a_killed_run_on_features_resumes_to_the_very_same_result(photos, delay):
    command = [sys.executable, "-m", "curriculum_labeling.cli", *fit(photos, *OPTIONS)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=photos) as process:
        deadline = time.monotonic() + 300
        while not (photos / "run/images.json").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert main(["resume", str(photos / "run")]) == 0
    undisturbed = fit(photos, *OPTIONS)
    undisturbed[4] = str(photos / "undisturbed")
    assert main(undisturbed) == 0
    for name in ("ledger.csv", "rounds/5/model.safetensors", "model/weights.safetensors", "suggestions.csv"):
        assert (photos / "run" / name).read_bytes() == (photos / "undisturbed" / name).read_bytes(), name
    assert os.path.exists(photos / "run/report.html")
