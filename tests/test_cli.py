"""The command, as a user meets it: real files, real processes."""

import csv
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from curriculum_labeling.cli import main
from curriculum_labeling.runs import budgets
from curriculum_labeling.runs.division import Division
from curriculum_labeling.vision import training

QUICK = ["--passes", "0.5", "--validation", "none", "--step", "100", "--threads", "1"]


def picture(c, rng, side=16):
    """A noisy picture whose color says its class."""
    image = np.full((side, side, 3), 60) + rng.integers(0, 60, (side, side, 3))
    image[..., c] += 100
    return Image.fromarray(image.astype(np.uint8))


def lay_out(folder, classes=("blue", "green", "red"), labeled=4, unlabeled=10):
    rng = np.random.default_rng(0)
    lines = [("path", "label")]
    for c, name in enumerate(classes):
        (folder / "labeled" / name).mkdir(parents=True)
        (folder / "unlabeled").mkdir(exist_ok=True)
        for i in range(labeled):
            picture(c, rng).save(folder / "labeled" / name / f"{i}.png")
        for i in range(unlabeled):
            picture(c, rng).save(folder / "unlabeled" / f"{c}-{i}.png")
            lines.append((f"unlabeled/{c}-{i}.png", name))
    with open(folder / "truth.csv", "w", newline="") as file:
        csv.writer(file).writerows(lines)
    return folder


@pytest.fixture
def photos(tmp_path):
    return lay_out(tmp_path)


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """One finished run that several tests look at."""
    folder = lay_out(tmp_path_factory.mktemp("photos"))
    options = ["--passes", "2", "--validation", "2", "--step", "50", "--threads", "1"]
    assert main(fit(folder, *options, "--truth", str(folder / "truth.csv"))) == 0
    return folder


def fit(folder, *options):
    return ["fit", str(folder / "labeled"), str(folder / "unlabeled"), "--out", str(folder / "run"), *options]


def refused(capsys, *command):
    """The one sentence on standard error of a command that exits with 2."""
    assert main(list(command)) == 2
    error = capsys.readouterr().err.strip()
    assert "Traceback" not in error
    return error


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_run_leaves_everything_it_promises(finished):
    run = finished / "run"
    names = {"config.json", "images.json", "check.json", "held_out.json", "outcome.json", "ledger.csv"}
    assert names | {"suggestions.csv", "report.html", "model", "rounds"} <= {path.name for path in run.iterdir()}
    assert not (run / "checkpoints").exists()
    for t in range(3):
        assert {"metrics.json", "model.safetensors", "scores.npz"} == {p.name for p in (run / f"rounds/{t}").iterdir()}
    ledger = read_csv(run / "ledger.csv")
    assert len(ledger) == 30
    assert {line["label"] for line in ledger} <= {"blue", "green", "red"}
    assert all(0 <= float(line["probability"]) <= 1 and Path(line["path"]).is_file() for line in ledger)
    assert {line["first_round"] for line in ledger} <= {"1", "2"}


def test_a_time_without_rounds_delivers_labels_only(photos, monkeypatch, capsys):
    only = {True: Division((0.65,), 0.35), False: Division((1.0,))}
    monkeypatch.setattr(budgets, "divide_widely", lambda *_, turns, **__: (only[turns], "compact"))
    assert main(fit(photos, "--minutes", "1", "--threads", "1")) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "labels only, no rounds" in said
    assert "there was no time for rounds" in said
    assert [path.name for path in (photos / "run/rounds").iterdir()] == ["0"]
    assert {line["first_round"] for line in read_csv(photos / "run/ledger.csv")} == {""}
    assert main(["predict", str(photos / "run"), str(photos / "unlabeled/0-0.png")]) == 0
    assert main(["suggest", str(photos / "run")]) == 0


def test_where_no_file_can_be_read_predictions_fail(finished, tmp_path, capsys):
    notes, out = tmp_path / "notes.txt", tmp_path / "found.csv"
    notes.write_text("no image")
    said = refused(capsys, "predict", str(finished / "run"), str(notes), "--out", str(out))
    assert said == f"IMAGES must hold images that can be read, got none; 1 could not, see the column error of {out}."
    assert len(read_csv(out)) == 1
    assert "must hold images that can be read" in refused(capsys, "predict", str(finished / "run"), str(notes))


def test_the_last_round_took_every_image_and_truth_is_compared(finished):
    metrics = json.loads((finished / "run/rounds/2/metrics.json").read_text())
    assert metrics["selected"] == 30
    assert 0 <= metrics["truth_accuracy"] <= 1
    assert metrics["held_out"]["n"] == 12


def test_predictions_come_for_files_and_folders(finished, tmp_path, capsys):
    out = tmp_path / "found.csv"
    (finished / "unlabeled" / "notes.png").write_text("no image")
    assert main(["predict", str(finished / "run"), str(finished / "unlabeled"), "--out", str(out)]) == 0
    (finished / "unlabeled" / "notes.png").unlink()
    assert "30 predictions" in (said := capsys.readouterr().out)
    assert "files that could not be read: 1," in " ".join(said.split())
    lines = read_csv(out)
    assert len(lines) == 31
    assert sum(bool(line["error"]) for line in lines) == 1
    capsys.readouterr()
    assert main(["predict", str(finished / "run/model"), str(finished / "unlabeled/0-0.png")]) == 0
    assert "0-0.png" in capsys.readouterr().out


def test_predictions_agree_with_the_ledger(finished, tmp_path):
    out = tmp_path / "found.csv"
    main(["predict", str(finished / "run"), str(finished / "unlabeled"), "--out", str(out)])
    ledger = {line["path"]: line for line in read_csv(finished / "run/ledger.csv")}
    for line in read_csv(out):
        assert line["label"] == ledger[line["path"]]["label"]
        assert abs(float(line["probability"]) - float(ledger[line["path"]]["probability"])) < 1e-4


def test_the_report_can_be_written_again(finished):
    (finished / "run/report.html").unlink()
    assert main(["report", str(finished / "run")]) == 0
    assert "blue" in (finished / "run/report.html").read_text()


def test_suggestions_come_in_any_number(finished, tmp_path):
    assert main(["suggest", str(finished / "run"), "-n", "5", "--out", str(tmp_path / "next.csv")]) == 0
    assert 1 <= len(read_csv(tmp_path / "next.csv")) <= 5


def test_labels_that_were_filled_in_are_not_written_over(finished, tmp_path, capsys):
    path = tmp_path / "next.csv"
    command = ["suggest", str(finished / "run"), "-n", "4", "--out", str(path)]
    assert main(command) == 0
    assert main(command) == 0  # what the model said may be written over
    lines = read_csv(path)
    lines[1]["label"] = "red" if lines[1]["label"] == "blue" else "blue"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, lines[0])
        writer.writeheader()
        writer.writerows(lines)
    said = refused(capsys, *command)
    assert "has labels that were filled in (1, such as" in said
    assert lines[1]["path"] in said
    assert read_csv(path) == lines


@pytest.mark.parametrize("kind", ["onnx", "safetensors"])
def test_the_model_can_be_exported(finished, tmp_path, kind):
    out = tmp_path / f"model.{kind}"
    assert main(["export", str(finished / "run"), "--format", kind, "--out", str(out)]) == 0
    assert out.stat().st_size > 1000


def test_corrected_labels_are_continued_with(finished, tmp_path, capsys):
    corrections = finished / "fixed.csv"
    corrections.write_text("path,label\nunlabeled/0-0.png,blue\nunlabeled/1-0.png,green\n")
    command = ["fit", "--continue", str(finished / "run"), "--corrections", str(corrections)]
    assert main([*command, "--out", str(tmp_path / "run"), *QUICK]) == 0
    assert ": 2." in capsys.readouterr().out
    images = json.loads((tmp_path / "run/images.json").read_text())
    assert len(images["labeled"]) == 14
    assert "needs new or corrected labels" in refused(
        capsys, "fit", "--continue", str(finished / "run"), "--out", str(tmp_path / "again")
    )


def test_a_yaml_file_gives_options_and_the_command_line_has_the_last_word(photos):
    (photos / "fit.yaml").write_text("passes: 0.5\nvalidation: none\nstep: 100\nseed: 3\nthreads: 1\n")
    assert main(fit(photos, "--config", str(photos / "fit.yaml"), "--seed", "4")) == 0
    options = json.loads((photos / "run/config.json").read_text())["options"]
    assert (options["passes"], options["seed"]) == (0.5, 4)


def test_an_unknown_option_in_a_yaml_file_is_named(photos, capsys):
    (photos / "fit.yaml").write_text("minuts: 3\n")
    assert f"Unknown option: minuts in {photos / 'fit.yaml'}" in refused(
        capsys, *fit(photos, "--config", str(photos / "fit.yaml"))
    )
    assert "--config must be a YAML file" in refused(capsys, *fit(photos, "--config", "nowhere.yaml"))


@pytest.mark.parametrize("content", ["[1, 2", "- 3", "passes: [", "\x00", "passes: {a: 1}"])
def test_a_damaged_yaml_file_is_one_sentence(photos, capsys, content):
    (photos / "fit.yaml").write_text(content)
    said = refused(capsys, *fit(photos, "--config", str(photos / "fit.yaml")))
    assert "fit.yaml" in said or "passes" in said, said


def test_words_too_many_are_told_in_plain_words(capsys):
    assert "curriculum fit cannot take 'of mine' as well; a path with spaces needs quotes" in refused(
        capsys, "fit", "few", "many", "of", "mine"
    )


def test_bad_input_is_one_sentence(photos, tmp_path, capsys):
    assert "Did you mean --minutes" in refused(capsys, *fit(photos, "--minuts", "3"))
    assert 'Did you mean "heavy"' in refused(capsys, *fit(photos, "--augmentation", "hevy"))
    assert '--minutes: "two" is not a number.' in refused(capsys, *fit(photos, "--minutes", "two"))
    assert '--seed: "x" is not a whole number.' in refused(capsys, *fit(photos, "--seed", "x"))
    assert "--format must be onnx or safetensors, got none" in refused(capsys, "export", str(photos))
    assert "LABELED must be" in refused(capsys, "fit", str(tmp_path / "none"), str(photos))
    assert "needs LABELED and UNLABELED" in refused(capsys, "fit")
    assert "needs LABELED and UNLABELED" in refused(capsys, "fit", str(photos))
    assert "--corrections must come with --continue" in refused(capsys, *fit(photos, "--corrections", "x.csv"))
    assert "--device must be" in refused(capsys, *fit(photos, "--device", "tpux"))
    assert "--device must be one that" in refused(capsys, *fit(photos, "--device", "cuda:99"))
    assert "--truth must be a CSV file" in refused(capsys, *fit(photos, "--truth", str(photos / "none.csv")))
    assert "--network must be one of" in refused(capsys, *fit(photos, "--network", "resnet-99"))
    assert "features" in refused(capsys, *fit(photos, "--features", "nonsense"))
    assert "RUN must be" in refused(capsys, "resume", str(tmp_path / "none"))
    assert "RUN must be" in refused(capsys, "report", str(photos))
    assert "needs image files" in refused(capsys, "predict", str(photos))
    assert "RUN must be" in refused(capsys, "predict", str(tmp_path / "none"), str(tmp_path / "none.png"))
    assert not (photos / "run").exists()


def test_an_image_under_two_classes_stops_the_run(photos, capsys):
    (photos / "labeled/red/again.png").write_bytes((photos / "labeled/blue/0.png").read_bytes())
    assert "blue" in refused(capsys, *fit(photos, *QUICK))


def test_unreadable_images_are_skipped_or_stop_the_run(photos, capsys):
    (photos / "unlabeled/broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 not really")
    said = refused(capsys, *fit(photos, *QUICK, "--unreadable", "fail"))
    assert "1 of 43 files cannot be read" in said
    assert said.endswith("--unreadable skip.")
    assert main(fit(photos, *QUICK)) == 0  # nothing was learned, so nothing needs to be forced
    assert json.loads((photos / "run/images.json").read_text())["unreadable"][0]["path"].endswith("broken.jpg")


def test_extreme_sizes_go_through(photos):
    Image.new("RGB", (5000, 4000), "blue").save(photos / "unlabeled/huge.jpg")
    Image.new("RGB", (1, 1), "red").save(photos / "unlabeled/dot.png")
    assert main(fit(photos, *QUICK)) == 0


def test_hostile_names_are_text(tmp_path):
    folder = lay_out(tmp_path, classes=("=1+1", "<script>alert(1)</script>".replace("/", "∕"), "a,b\"'"))
    os.rename(folder / "unlabeled/0-0.png", folder / "unlabeled/=cmd|' !A0.png")
    assert main(fit(folder, *QUICK)) == 0
    text = (folder / "run/report.html").read_text()
    assert "<script>alert(1)" not in text
    lines = read_csv(folder / "run/ledger.csv")
    assert {line["label"] for line in lines} & {"'=1+1", "<script>alert(1)<∕script>", "a,b\"'"}
    assert not any(cell.startswith("=") for line in lines for cell in line.values())


def test_a_finished_run_is_kept_without_force(finished, capsys):
    assert "already holds a finished run" in refused(capsys, *fit(finished))
    assert main(["resume", str(finished / "run")]) == 0
    assert "nothing to resume" in capsys.readouterr().out


def test_a_training_that_diverges_is_one_sentence(photos, capsys, monkeypatch):
    monkeypatch.setattr(training, "DIVERGED", 0.0)
    said = refused(capsys, *fit(photos, *QUICK))
    assert said.startswith("training diverged in round 0, epoch 1, at learning rate")
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("package", ["cyclopts", "yaml", "rich", "safetensors"])
def test_a_package_that_is_not_installed_is_named_with_the_way_to_get_it(photos, package):
    code = f"import sys; sys.modules[{package!r}] = None\nfrom curriculum_labeling.cli import main; sys.exit(main())"
    core = subprocess.run([sys.executable, "-c", code, *fit(photos, *QUICK)], capture_output=True, text=True)
    assert core.returncode == 2
    assert core.stderr == f'This command needs {package}: pip install "curriculum-labeling[vision]".\n'
    assert not (photos / "run").exists()


def test_a_time_budget_counts_from_the_command_and_not_from_the_first_import(photos, monkeypatch):
    seen = []
    monkeypatch.setattr("curriculum_labeling.commands.run_fit", lambda *_, **known: seen.append(known["started"]) or 0)
    before = time.monotonic()
    assert main(fit(photos, *QUICK)) == 0
    assert before <= seen[0] <= time.monotonic()


def test_help_names_every_command(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in ("fit", "resume", "predict", "report", "export", "suggest", "demo"))


def test_options_of_the_run_before_hold_until_others_are_given(photos):
    assert main(fit(photos, *QUICK, "--seed", "7")) == 0
    (photos / "fixed.csv").write_text("path,label\nunlabeled/0-0.png,blue\n")
    command = ["fit", "--continue", str(photos / "run"), "--corrections", str(photos / "fixed.csv")]
    assert main([*command, "--out", str(photos / "second"), "--step", "50"]) == 0
    options = json.loads((photos / "second/config.json").read_text())["options"]
    assert (options["seed"], options["passes"], options["step"]) == (7, 0.5, 50)


@pytest.mark.parametrize("name", ["outcome.json", "clock.json", "images.json", "check.json", "listing.json"])
@pytest.mark.parametrize("content", ["{}", "[", ""])
def test_damaged_files_of_a_run_are_one_sentence(finished, capsys, name, content):
    path = finished / "run" / name
    whole = path.read_bytes()
    try:
        path.write_text(content)
        assert name in refused(capsys, "suggest", str(finished / "run"), "--out", str(finished / "next.csv"))
    finally:
        path.write_bytes(whole)


def test_options_of_networks_are_refused_with_features(photos, capsys):
    said = refused(capsys, *fit(photos, "--features", "efficientnet-lite0", "--passes", "3"))
    assert "--passes must not be given with --features efficientnet-lite0" in said


def test_a_run_cannot_continue_into_itself(finished, capsys):
    command = ["fit", "--continue", str(finished / "run"), "--out", str(finished / "run"), "--force"]
    assert "--out must be another folder" in refused(capsys, *command)
    assert (finished / "run/outcome.json").is_file()


def test_percentiles_are_given_one_after_the_other(photos):
    options = ["--percentiles", "50", "0", "--passes", "1", "--validation", "none", "--threads", "1"]
    assert main(fit(photos, *options)) == 0
    assert json.loads((photos / "run" / "config.json").read_bytes())["pacing"]["percentiles"] == [50, 0]


@pytest.mark.parametrize(
    "words", [["fit"], ["fit", "none", "none"], ["fit", "one", "."], ["resume", "none"], ["suggest", "none"]]
)
def test_what_is_not_there_is_refused_before_the_slow_imports(words, tmp_path):
    (tmp_path / "one" / "class").mkdir(parents=True)
    Image.new("RGB", (8, 8)).save(tmp_path / "one" / "class" / "a.png")
    program = f"import sys; from curriculum_labeling.cli import main; print(main({words}), 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2", "False"]
    assert "LABELED" in done.stderr or "RUN must be" in done.stderr
