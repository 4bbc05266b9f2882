"""Scoring streams: a batch of logits at a time becomes class, log-confidence and runner-up per row.

Memory does not depend on rows × classes. Logits are summarized in float64, so that confidences which
are all 1.0 in float32 keep their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from curriculum_labeling.data.images import PixelArray
from curriculum_labeling.data.progress import Tell, Teller
from curriculum_labeling.labels import FloatArray, IntArray, Scores
from curriculum_labeling.vision.distributed import Group
from curriculum_labeling.vision.whitening import Preprocessing

# What a network makes of more pixels than these at once does not stay in a CPU's cache, and scoring takes up to 1.5
# times as long; fewer images than these at once take longer as well.
CACHED_PIXELS, FEWEST_AT_ONCE = 128 * 32 * 32, 16


@dataclass(frozen=True, eq=False)
class Scorer:
    """A network in evaluation mode with what images need to enter it, at most `batch` of them at once."""

    network: nn.Module
    preprocessing: Preprocessing
    device: torch.device
    batch: int = 512
    flip: bool = False
    channels_last: bool = True
    tell: Tell | None = None

    def score(self, pixels: PixelArray, rows: IntArray, group: Group) -> Scores:
        """Scores of these rows of uint8 images (N, H, W, C), shared out over processes; all get all of them."""
        return group.join(self.score_share(pixels, rows, group))

    def score_share(self, pixels: PixelArray, rows: IntArray, group: Group) -> Scores:
        """Scores of this process's share of these rows."""
        mine = np.asarray(rows, dtype=np.int64)[group.share(len(rows))]
        return Scores.joined(self._scored(pixels, mine, Teller(self.tell if group.rank == 0 else None, len(mine))))

    def _scored(self, pixels: PixelArray, rows: IntArray, teller: Teller) -> Iterator[Scores]:
        done = 0
        for part in _parts(rows, self._at_once(pixels)):
            yield Scores.from_logits(part, self._logits(pixels[part]))
            done += len(part)
            teller(done)

    def logits(self, pixels: PixelArray) -> FloatArray:
        """Float64 logits (n, classes) of uint8 images (n, H, W, C); log-probabilities where flips are averaged."""
        parts = _parts(np.arange(len(pixels)), self._at_once(pixels))
        return np.concatenate([self._logits(pixels[part]) for part in parts])

    def _at_once(self, pixels: PixelArray) -> int:
        """How many of these images are scored at once."""
        if self.device.type != "cpu":
            return self.batch
        height, width = (int(side) for side in pixels.shape[1:3])
        return min(self.batch, max(FEWEST_AT_ONCE, CACHED_PIXELS // (height * width)))

    @torch.inference_mode()
    def _logits(self, pixels: PixelArray) -> FloatArray:
        """Logits of one batch, on the CPU."""
        images = torch.from_numpy(np.ascontiguousarray(pixels)).permute(0, 3, 1, 2).contiguous().to(self.device)
        logits = self._forward(images)
        if self.flip:
            # The mean of two probabilities, as logarithms, so that neither saturates.
            both = torch.stack([logits, self._forward(images.flip(3))]).log_softmax(dim=2)
            logits = both.logsumexp(dim=0) - np.log(2)
        return logits.numpy()

    def _forward(self, images: Tensor) -> Tensor:
        inputs = self.preprocessing(images)
        if self.channels_last:
            inputs = inputs.contiguous(memory_format=torch.channels_last)
        if not len(images):
            return self._nothing(inputs)
        logits: Tensor = self.network(inputs)
        return logits.float().cpu().double()

    def _nothing(self, inputs: Tensor) -> Tensor:
        """Logits of no rows: how many classes there are, a row of zeros tells."""
        logits: Tensor = self.network(inputs.new_zeros(1, *inputs.shape[1:]))
        return logits.cpu().double()[:0]


def _parts(rows: IntArray, size: int) -> Iterator[IntArray]:
    """Batches of these rows; at least one, which may be empty."""
    for start in range(0, max(len(rows), 1), size):
        yield rows[start : start + size]
