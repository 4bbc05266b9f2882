"""A curriculum over small images that dies by SIGKILL at chosen points; run as a program.

Argument: JSON of a list of points per folder. For each point a new process runs, or continues, the
curriculum: ["replace", n, side] kills it before or after its n-th `os.replace` (the moment a file
becomes visible), ["seconds", t, ""] from outside after so long, ["never", 0, ""] not at all. Processes are
forked, which saves importing torch each time. Prints how each ended.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

from curriculum_labeling import PercentilePacing, curriculum
from curriculum_labeling.vision.averaging import SWA
from curriculum_labeling.vision.checkpoint import Checkpoints
from curriculum_labeling.vision.learner import ImageLearner
from curriculum_labeling.vision.schedule import Budget
from tests.vision.small import colors, labels_of, settings


def kill_at(call, side):
    """Replace `os.replace` by one that kills this process, before or after it has done its work."""
    calls, replace = [], os.replace

    def replace_or_die(source, target):
        calls.append(target)
        if len(calls) == call and side == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        replace(source, target)
        if len(calls) == call:
            os.kill(os.getpid(), signal.SIGKILL)

    os.replace = replace_or_die


def run(folder):
    """The whole curriculum; weights of all rounds and the last pseudo-labels go to a file."""
    images = colors()
    config = settings(
        budget=Budget(steps=7), average=SWA(start=2, every=1), mixup=1.0, augmentation="heavy", accumulate=2
    )
    # minutes=0: a checkpoint after every step.
    learner = ImageLearner(images, config, checkpoints=Checkpoints(folder, minutes=0), device="cpu")
    labeled, unlabeled = labels_of(images, np.arange(24)), np.arange(24, 60)
    rounds = list(curriculum(learner, labeled, unlabeled, pacing=PercentilePacing.by(50), seed=3))
    last = rounds[-1]
    arrays = {"rows": last.labels.rows, "classes": last.labels.classes, "confidence": last.scores.log_confidence}
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    for one in rounds:
        tensors |= {f"{one.number}.{name}": tensor for name, tensor in one.model.state_dict().items()}
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / "result.safetensors")


def run_until(folder, kind, number, side):
    """Run in a process of its own up to this point; returns the signal that ended it, or 0."""
    child = os.fork()
    if child == 0:
        if kind == "replace":
            kill_at(number, side)
        run(folder)
        os._exit(0)
    if kind == "seconds":
        time.sleep(number)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


if __name__ == "__main__":
    torch.set_num_threads(1)
    # The first optimizer of a process imports a good part of torch: once, here, rather than after every fork.
    torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    asked = json.loads(sys.argv[1])
    print(json.dumps({folder: [run_until(Path(folder), *point) for point in asked[folder]] for folder in asked}))
