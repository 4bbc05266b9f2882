"""`curriculum reproduce` as a user meets it."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from curriculum_labeling.cli import main
from curriculum_labeling.experiments.scales import SCALES
from tests.experiments.layouts import TINY, write_cifar10
from tests.vision.groups import said_at_the_end, start_group


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setitem(SCALES, "cpu", TINY)


@pytest.fixture
def data(tmp_path):
    return write_cifar10(tmp_path / "data")


def command(key, data, out, *options):
    return ["reproduce", key, "--data", str(data), "--out", str(out), "--seeds", "1", "--device", "cpu", *options]


def refused(capsys, *arguments):
    assert main(["reproduce", *arguments]) == 2
    error = capsys.readouterr().err.strip()
    assert "Traceback" not in error
    return " ".join(error.split())


@pytest.mark.usefixtures("tiny")
def test_a_table_is_run_drawn_and_drawn_again_without_the_data(data, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    out = tmp_path / "out"
    assert main(command("table-7", data, out)) == 0
    said = capsys.readouterr().out
    assert "cell 1 of 2: cifar10-400-wrn-28-2-heavy-mixup-swa-batch1024" in said
    assert "2 of 2 runs finished" in said
    page = (out / "table-7.md").read_text(encoding="utf-8")
    assert "| round 5 |" in page
    assert "| 5.41 |" in page
    for path in ("table-7.md", "table-7.csv"):
        (out / path).unlink()
    assert main(["reproduce", "table-7", "--out", str(out), "--seeds", "1", "--redraw"]) == 0
    assert (out / "table-7.md").read_text(encoding="utf-8") == page
    # Table 8 has a cell of Table 7, which is there already.
    assert main(command("table-8", data, out)) == 0
    assert "cell 1 of 1: cifar10-400-wrn-28-2-heavy-mixup-swa-batch64" in capsys.readouterr().out


@pytest.mark.usefixtures("tiny")
def test_failed_cells_are_named_and_the_exit_code_says_so(data, tmp_path, capsys):
    assert main(command("figures-6-7", data, tmp_path / "out")) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "1 of 2 runs finished" in said
    assert "seed 0: --data must hold ImageNet as published (val)" in said
    assert (tmp_path / "out" / "figures-6-7-cifar10.png").is_file()


def test_all_experiments_are_listed_with_their_cost(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["reproduce", "--list"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    table_7 = next(line for line in lines if line and line[0] == "table-7")
    assert table_7[1:4] == ["2", "220.5", "M"]


def test_what_cannot_be_done_is_one_sentence(capsys, tmp_path):
    assert "got tabel-6; did you mean table-6?" in refused(capsys, "tabel-6")
    assert "needs a KEY, such as table-6" in refused(capsys)
    assert "--data must name the folder that holds CIFAR-10, got none" in refused(
        capsys, "table-6", "--out", str(tmp_path)
    )
    assert "--data must hold CIFAR-10" in refused(capsys, "table-6", "--data", str(tmp_path), "--out", str(tmp_path))
    assert "--seeds must be a whole number, at least 1, got 0" in refused(capsys, "table-6", "--seeds", "0")
    assert "--worker must be i/n" in refused(capsys, "table-6", "--data", str(tmp_path), "--worker", "2")
    assert "paper" in refused(capsys, "table-6", "--scale", "gpu")


def test_ctrl_c_saves_and_the_same_command_goes_on(data, tmp_path):
    code = (
        "import sys, torch; torch.set_num_threads(1)\n"
        "from dataclasses import replace\n"
        "from curriculum_labeling.cli import main\n"
        "from curriculum_labeling.experiments.scales import SCALES\n"
        "from tests.experiments.layouts import TINY\n"
        "SCALES['cpu'] = replace(TINY, passes=1200)\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    arguments = [sys.executable, "-c", code, *command("table-7", data, tmp_path / "out")]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    first = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment)
    while "round 0" not in first.stdout.readline():
        pass
    time.sleep(0.2)
    first.send_signal(signal.SIGINT)
    said, _ = first.communicate(timeout=120)
    assert first.returncode == 130
    assert "Stopped, nothing is lost. The same command goes on." in said
    assert list((tmp_path / "out" / "checkpoints").iterdir())
    assert "0 of 2 runs finished" in (tmp_path / "out" / "table-7.md").read_text(encoding="utf-8")
    second = subprocess.run(arguments, stdout=subprocess.PIPE, text=True, env=environment, timeout=300, check=False)
    assert second.returncode == 0
    assert "2 of 2 runs finished" in second.stdout


IN_A_GROUP = """
import os, sys, torch; torch.set_num_threads(1)
from curriculum_labeling.cli import main
from curriculum_labeling.experiments import runner
from curriculum_labeling.experiments.scales import SCALES
from tests.experiments.layouts import TINY
SCALES["cpu"] = TINY
def fail(error):
    raise error
if os.environ["RANK"] == "1":
    {only_here}
sys.exit(main(sys.argv[1:]))
"""


def in_a_group(only_here, data, out):
    """What two processes end with, one of which does this first."""
    code = IN_A_GROUP.format(only_here=only_here)
    return said_at_the_end(start_group(2, "-c", code, *command("table-7", data, out)))


def test_a_process_that_fails_under_torchrun_ends_all_of_them_with_its_sentence(data, tmp_path):
    harm = "sys.argv[sys.argv.index('--data') + 1] += '/not-here'"
    codes, errors = in_a_group(harm, data, tmp_path / "out")
    assert codes == [2, 2]
    assert errors[1].startswith("--data must hold CIFAR-10")
    assert errors[0].startswith("Another process of this group of 2 has ended, and process 0 cannot go on")
    assert not list((tmp_path / "out").glob("cells/*.json"))


def test_a_cell_that_one_process_cannot_prepare_has_failed_for_all(data, tmp_path):
    harm = "runner.prepare = lambda *_: fail(ValueError('not on this machine'))"
    codes, _ = in_a_group(harm, data, tmp_path / "out")
    assert codes == [1, 0]
    found = [json.loads(path.read_text()) for path in (tmp_path / "out").glob("cells/*.json")]
    assert [(one["state"], one["reason"]) for one in found] == [("failed", "not on this machine")] * 2


def test_memory_that_one_process_lacks_ends_the_group(data, tmp_path):
    harm = "runner.measure = lambda *_: fail(torch.cuda.OutOfMemoryError('no memory left'))"
    codes, errors = in_a_group(harm, data, tmp_path / "out")
    assert codes[0] == 2
    assert codes[1] != 0
    assert "no memory left" in errors[1]
    assert errors[0].startswith("Another process of this group of 2 has ended, and process 0 cannot go on")
