"""A cell of CIFAR-10 and one of ImageNet by the processes of a group; run as a program, once per process.

Arguments: the folder of the data, the output folder. The environment says which process this is, as torchrun does.
"""

import sys
from pathlib import Path

import torch

from curriculum_labeling.experiments.comparisons import IMAGENET
from curriculum_labeling.experiments.points import Experiment, Point
from curriculum_labeling.experiments.runner import Job, run
from curriculum_labeling.experiments.sources import Sources
from curriculum_labeling.vision.distributed import processes
from tests.experiments.layouts import PLAIN, TINY

if __name__ == "__main__":
    torch.set_num_threads(1)
    data, out = map(Path, sys.argv[1:])
    experiment = Experiment("table-0", "Some cells", "cell", (Point("a", "b", PLAIN), Point("c", "d", IMAGENET)))
    with processes():
        run(Job(experiment, TINY, 1, out, Sources(data, out / "images"), device="cpu"))
