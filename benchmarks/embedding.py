"""EfficientNet-Lite0 as we run it against the unmodified package, in one run on one thread.

Run: python benchmarks/embedding.py
Both sides start from the same uint8 images and use the same weights; turns alternate, so that
whatever else the machine does hits both. Times are CPU seconds of this process. The package is
measured with 4 and with 32 images at a time, ours as `embed` cuts them.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from efficientnet_lite_pytorch import EfficientNet

from curriculum_labeling.data.images import PixelArray
from curriculum_labeling.vision.backbones import open_backbone
from curriculum_labeling.vision.backbones.efficientnet_lite import installed_weights

COUNT = 32


@torch.inference_mode()
def embed_plainly(network: EfficientNet, pixels: PixelArray, step: int) -> None:
    """The package's own way, `step` images at a time."""
    for start in range(0, len(pixels), step):
        images = torch.from_numpy(pixels[start : start + step]).permute(0, 3, 1, 2).contiguous()
        network.extract_features((images.float() - 127) / 128).mean(dim=(2, 3))


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of this process."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    """Print images per CPU second of each side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=7)
    turns = parser.parse_args().turns
    torch.set_num_threads(1)
    network = EfficientNet.from_name("efficientnet-lite0")
    network.load_state_dict(torch.load(str(installed_weights()), weights_only=True))
    network.eval()
    backbone = open_backbone("efficientnet-lite0", device="cpu")
    pixels = np.random.default_rng(0).integers(0, 256, (COUNT, 224, 224, 3), dtype=np.uint8)
    ways: dict[str, Callable[[], object]] = {
        "package, 32 at a time": lambda: embed_plainly(network, pixels, 32),
        "package, 4 at a time": lambda: embed_plainly(network, pixels, 4),
        "ours": lambda: backbone.embed(pixels),
    }
    spent: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(turns):
        for name, work in ways.items():
            spent[name].append(seconds(work))
    for name, times in spent.items():
        print(f"{name:24s} {COUNT / statistics.median(times):6.1f} images per CPU second (median of {turns})")


if __name__ == "__main__":
    main()
