"""What several processes do together in the tests: train, score, select; run as a program.

Argument: a folder. Groups of 1, 2 and 3 processes each write what they found as <size>-<rank>.safetensors.
They are forked, which saves importing torch each time, and meet as they would under torchrun.
"""

import os
import socket
import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

from curriculum_labeling import PercentilePacing, curriculum
from curriculum_labeling.labels import Labels, Scores
from curriculum_labeling.vision.averaging import EMA
from curriculum_labeling.vision.checkpoint import Checkpoints
from curriculum_labeling.vision.distributed import current_group, processes
from curriculum_labeling.vision.learner import ImageLearner
from curriculum_labeling.vision.schedule import Budget
from tests.vision.small import colors, labels_of, settings

IMAGES = colors()
SIZES = (1, 2, 3)


def train_and_select(folder):
    """A curriculum with everything on; 25 rows in steps of 9, 8 and 8 are uneven for 2 and 3 processes."""
    config = settings(
        budget=Budget(steps=5), batch_size=9, mixup=1.0, augmentation="heavy", average=EMA(0.8), accumulate=2
    )
    learner = ImageLearner(IMAGES, config, device="cpu", checkpoints=Checkpoints(folder / "checkpoints", minutes=0))
    labeled, unlabeled = labels_of(IMAGES, np.arange(25)), np.arange(25, 60)
    found, group = {}, current_group()
    for one in curriculum(learner, labeled, unlabeled, pacing=PercentilePacing((40.0,)), seed=1, group=group):
        found |= {f"{one.number}.{name}": tensor for name, tensor in one.model.state_dict().items()}
    found["rows"] = torch.from_numpy(one.labels.rows)
    found["confidence"] = torch.from_numpy(group.join(one.scores).log_confidence)
    return found


def few_rows():
    """Two rows, fewer than three processes: one of them has nothing to train on and nothing to score."""
    learner = ImageLearner(IMAGES, settings(budget=Budget(steps=2), batch_size=2, augmentation="none"), device="cpu")
    model = learner.fit(labels_of(IMAGES, [0, 1]), seed=0)
    scores = model.score(np.array([5, 6]))
    found = {f"few.{name}": tensor for name, tensor in model.state_dict().items()}
    return {**found, "few.scores": torch.from_numpy(scores.log_confidence)}


class Fixed:
    """A learner whose models think the same of a row whatever they were trained on; it keeps the labels it got."""

    def __init__(self, count):
        self.probabilities = np.random.default_rng(count).dirichlet(np.ones(3), size=count + 3).round(2)
        self.seen = []

    def fit(self, labels, *, seed):
        self.seen.append(labels)
        return self

    def score(self, rows):
        return Scores.from_probabilities(rows, self.probabilities[rows])

    def score_share(self, rows):
        return self.score(rows[current_group().share(len(rows))])


def select_by_shares():
    """Curricula over scores of which every process holds a part: uneven parts, empty ones, every balance."""
    found = {}
    for count in (101, 5, 2, 1):
        for balance in ("none", "per-class", "labeled", "estimated"):
            learner = Fixed(count)
            pacing, labeled = PercentilePacing((70.0, 30.0), balance), Labels.of([0, 1, 2], [0, 1, 2])
            options = {"pacing": pacing, "classes": 3}
            rounds = list(curriculum(learner, labeled, np.arange(3, 3 + count), group=current_group(), **options))
            for one in rounds[1:]:
                name = f"shares.{count}.{balance}.{one.number}"
                for field in ("rows", "classes", "confidence", "runner_up", "runner_up_confidence"):
                    found[f"{name}.{field}"] = torch.from_numpy(getattr(one.labels, field))
                numbers = [one.threshold, one.entered, one.left, one.flipped]
                found[f"{name}.numbers"] = torch.tensor(numbers, dtype=torch.float64)
            found[f"held.{count}.{balance}"] = torch.from_numpy(rounds[1].scores.rows)
    return found


def work(folder, size):
    with processes() as group:
        found = train_and_select(folder / str(size))
        again = train_and_select(folder / str(size))
        assert all(torch.equal(found[name], again[name]) for name in found), "a finished fit was not read back"
        found |= {**few_rows(), **select_by_shares()}
        file = folder / f"{size}-{group.rank}.safetensors"
        save_file({name: tensor.contiguous() for name, tensor in found.items()}, file)


def run_group(folder, size):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    children = []
    for rank in range(size):
        child = os.fork()
        if child == 0:
            os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
            os.environ |= {"WORLD_SIZE": str(size), "RANK": str(rank), "LOCAL_RANK": str(rank)}
            work(folder, size)
            os._exit(0)
        children.append(child)
    return max(os.waitpid(child, 0)[1] for child in children)


if __name__ == "__main__":
    torch.set_num_threads(1)
    # The first optimizer of a process imports a good part of torch: once, here, rather than after every fork.
    torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    ends = [run_group(Path(sys.argv[1]), size) for size in SIZES]
    sys.exit(any(ends))
