"""A small curriculum that several processes run together, on one machine or two; run as a program.

Arguments: the folder of this machine, the step at which this process halts (0: never; once per folder),
and the minutes it waits for others. It writes `result-RANK.safetensors` and one line per step to
`steps-RANK.txt`: its process id and the round.
"""

import os
import sys
import time
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

from curriculum_labeling import PercentilePacing, curriculum
from curriculum_labeling.vision.averaging import EMA
from curriculum_labeling.vision.checkpoint import Checkpoints
from curriculum_labeling.vision.distributed import processes
from curriculum_labeling.vision.learner import ImageLearner
from curriculum_labeling.vision.schedule import Budget
from tests.vision.small import colors, labels_of, settings

HALTED = "halted"
EPOCHS = 4


class Steps:
    """Notes every step, and halts at one of them until somebody deletes the note of that, or kills the process."""

    def __init__(self, folder, rank, halt):
        self.file, self.mark, self.done = folder / f"steps-{rank}.txt", folder / HALTED, 0
        self.halt = 0 if self.mark.exists() else halt
        self.learner = None

    def __call__(self):
        self.done += 1
        with self.file.open("a") as file:
            print(os.getpid(), self.learner.fits, file=file)
        if self.done == self.halt:
            self.mark.write_text(str(os.getpid()))
            while self.mark.exists():
                time.sleep(0.01)
        return False


def run(folder, halt, group):
    """Train, score and select; uneven shares, and a checkpoint per epoch on process 0."""
    images = colors()
    config = settings(
        budget=Budget(epochs=EPOCHS), batch_size=9, mixup=1.0, augmentation="heavy", average=EMA(0.8), accumulate=2
    )
    steps = Steps(folder, group.rank, halt)
    learner = ImageLearner(images, config, device="cpu", checkpoints=Checkpoints(folder / "checkpoints"), stop=steps)
    steps.learner = learner
    labeled, unlabeled, found = labels_of(images, np.arange(25)), np.arange(25, 60), {}
    for one in curriculum(learner, labeled, unlabeled, pacing=PercentilePacing((40.0,)), seed=1, group=group):
        found |= {f"{one.number}.{name}": tensor for name, tensor in one.model.state_dict().items()}
    scores = group.join(one.scores)
    arrays = {"rows": one.labels.rows, "classes": one.labels.classes, "confidence": scores.log_confidence}
    found |= {name: torch.from_numpy(array) for name, array in arrays.items()}
    save_file(
        {name: tensor.contiguous() for name, tensor in found.items()}, folder / f"result-{group.rank}.safetensors"
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    folder, halt, minutes = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with processes(patience=minutes) as group:
            run(folder, halt, group)
    except OSError as error:
        sys.exit(f"{type(error).__name__}: {error}")
