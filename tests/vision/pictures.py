"""Pictures for tests: smooth colors plus noise, so that histograms and edges look like a photo's."""

import torch
from torch.nn.functional import interpolate


def pictures(count, channels=3, height=32, width=32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    span = torch.rand(count, channels, 1, 1, generator=generator)
    smooth = interpolate(torch.rand(count, channels, 5, 5, generator=generator), (height, width), mode="bilinear")
    noise = torch.randn(count, channels, height, width, generator=generator)
    levels = 255 * (smooth * span + (1 - span) * torch.rand(count, 1, 1, 1, generator=generator)) + 6 * noise
    return levels.clamp_(0, 255).to(torch.uint8)


def as_pillow(batch):
    """The layout Pillow takes: (n, H, W, 3) or (n, H, W)."""
    last = batch.permute(0, 2, 3, 1).contiguous()
    return (last if batch.shape[1] == 3 else last[..., 0]).numpy()
