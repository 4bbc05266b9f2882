"""Embeds small images in a process of its own, which tests stop, let wait and kill; run as a program.

Arguments: folder, and the number of batches after which it says "stopped" and waits for a file
named `go` in the folder (0: never). Prints "finished" and how many batches it computed.
"""

import logging
import sys
import time
from pathlib import Path

import torch

from curriculum_labeling.vision.backbones import open_backbone
from curriculum_labeling.vision.embeddings import embed_images
from tests.vision.small import colors

COUNT, BATCH = 50, 4


class Stopping:
    """Counts batches, and waits after one of them."""

    def __init__(self, folder, stop_after):
        self.folder, self.stop_after, self.count = folder, stop_after, 0

    def __call__(self, progress):
        self.count += 1
        if self.count == self.stop_after:
            print("stopped", flush=True)
            while not (self.folder / "go").exists():
                time.sleep(0.01)


def embed(folder, progress=None):
    backbone = open_backbone("tests.vision.backbones.own_networks:described", device="cpu")
    return embed_images(colors(COUNT), backbone, folder, batch=BATCH, progress=progress)


if __name__ == "__main__":
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO, format="log %(message)s", stream=sys.stdout)
    stopping = Stopping(Path(sys.argv[1]), int(sys.argv[2]))
    embed(Path(sys.argv[1]), stopping)
    print("finished", stopping.count, flush=True)
