import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from curriculum_labeling.vision.checkpoint import Checkpoints, Saved, Store, load_together
from curriculum_labeling.vision.distributed import Group
from tests.vision.small import same_weights

ROOT = Path(__file__).parents[2]
# A fit of 7 steps makes 9 checkpoints (one before the first step, the last holds the model) of two
# files each, so a round is 18 calls of os.replace. These points lie within round 0, between a
# checkpoint's two files, after the average has begun, and in the rounds after.
POINTS = (
    ["replace", 1, "before"],
    ["replace", 8, "after"],
    ["replace", 11, "before"],
    ["replace", 17, "after"],
    ["replace", 6, "after"],
)
# From outside, wherever the run is by then; how far that is depends on the machine, so they have a run of their own.
MOMENTS = tuple(["seconds", seconds, ""] for seconds in (0.02, 0.05, 0.1))
WHOLE = ["never", 0, ""]


def test_a_run_killed_at_several_points_ends_bit_identical_to_one_that_was_not(tmp_path):
    whole, killed, outside = (str(tmp_path / name) for name in ("whole", "killed", "outside"))
    asked = json.dumps({whole: [WHOLE], killed: [*POINTS, WHOLE], outside: [*MOMENTS, WHOLE]})
    command = [sys.executable, "-m", "tests.vision.killable", asked]
    ends = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    assert ends[whole] == [0]
    assert ends[killed] == [*[signal.SIGKILL] * len(POINTS), 0]
    assert ends[outside][0] == signal.SIGKILL
    assert ends[outside][-1] == 0
    expected = load_file(Path(whole, "result.safetensors"))
    for folder in (killed, outside):
        assert same_weights(expected, load_file(Path(folder, "result.safetensors")))


def test_a_checkpoint_is_readable_without_us_and_the_last_one_replaces_the_others(tmp_path):
    store = Store(Checkpoints(tmp_path), "fit")
    assert store.load() is None
    store.save("step-1", {"weight": torch.tensor([1.0])}, {"step": 1})
    store.save("step-2", {"weight": torch.tensor([2.0])}, {"step": 2})
    assert sorted(path.name for path in store.folder.iterdir()) == ["progress.json", "step-2.safetensors"]
    assert json.loads((store.folder / "progress.json").read_text()) == {"step": 2, "tensors": "step-2.safetensors"}
    saved = store.load()
    assert saved.tensors["weight"].item() == 2.0
    assert saved.progress["step"] == 2


def test_checkpoints_fall_on_epochs_and_after_minutes(tmp_path):
    seldom, often = (
        Store(Checkpoints(tmp_path, epochs=3, minutes=60), "a"),
        Store(Checkpoints(tmp_path, minutes=0), "b"),
    )
    assert [seldom.due(epochs) for epochs in (None, 1, 2, 3, 6)] == [False, False, False, True, True]
    assert often.due(None)


def test_a_damaged_checkpoint_is_named(tmp_path):
    store = Store(Checkpoints(tmp_path), "fit")
    store.save("step-1", {"weight": torch.tensor([1.0])}, {"step": 1})
    (store.folder / "step-1.safetensors").write_bytes(b"x")
    with pytest.raises(ValueError, match=r"the checkpoint in .*fit cannot be read .*; delete the folder to train"):
        store.load()


class WithAnother(Group):
    """The first of two processes; the other has come so far, and has this to tell."""

    steps, told = -1.0, Saved({}, {"step": 5})

    def gather(self, value):
        return [value, self.steps]

    def from_process(self, rank, value):
        return self.told if rank else value


@pytest.mark.parametrize(
    ("progress", "theirs", "expected"),
    [
        ({"step": 3, "finished": False}, -1.0, 3),
        ({"step": 3, "finished": False}, 3.0, 3),
        ({"step": 3, "finished": False}, 5.0, 5),
        ({"step": 3, "finished": True}, 5.0, 3),
        (None, 5.0, 5),
        (None, -1.0, None),
    ],
)
def test_processes_go_on_from_the_furthest_checkpoint_that_any_of_them_finds(tmp_path, progress, theirs, expected):
    store, group = Store(Checkpoints(tmp_path), "fit"), WithAnother(0, 2)
    WithAnother.steps = theirs
    if progress is not None:
        store.save("step", {"weight": torch.tensor([1.0])}, progress)
    saved = load_together(store, group)
    assert (None if saved is None else saved.progress["step"]) == expected


def test_progress_that_does_not_say_how_far_it_is_is_named(tmp_path):
    store = Store(Checkpoints(tmp_path), "fit")
    store.save("step-1", {"weight": torch.tensor([1.0])}, {"finished": False})
    with pytest.raises(ValueError, match=r"the checkpoint in .*fit cannot be read \(progress.json: 'step'\); delete"):
        store.steps()


@pytest.mark.parametrize(("given", "message"), [({"epochs": 0}, "checkpoint epochs"), ({"minutes": -1}, "minutes")])
def test_checkpoints_that_would_never_come_are_refused(given, message, tmp_path):
    with pytest.raises(ValueError, match=f"{message} must be .* at least [01], got"):
        Checkpoints(tmp_path, **given)
