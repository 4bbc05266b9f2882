"""Everything `curriculum reproduce` can be told, besides the experiment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

Flag = Annotated[bool, Parameter(negative="")]


@dataclass(frozen=True)
class ReproduceOptions:
    """How an experiment is run.

    Parameters
    ----------
    scale
        paper has the paper's settings; cpu is a reduction of which a cell takes a few minutes on two cores; cpu-long
        trains four times as long.
    seeds
        Runs of every cell; 5 at paper scale and 3 at the others by default.
    data
        CIFAR-10, SVHN or ImageNet as published, a folder or archive; or a folder with folders cifar10, svhn, imagenet.
    out
        Where cells, tables and figures go, shared by all experiments of a scale; reproduced/SCALE by default.
    only
        ROW/COLUMN of the table: run this cell alone; leave a part away for a whole column or row; may be repeated.
    worker
        i/n: this process takes every n-th unfinished cell first, beginning with the i-th, counted from 0.
    policy
        Sub-policies of Fast AutoAugment as JSON, for CL+FA in table-1.
    truth
        The file with the classes of ImageNet's validation images, where val/ has no class folders.
    accumulate
        Pieces in which a batch goes through the network, where it does not fit into memory.
    device
        auto takes CUDA, then MPS, then the CPU.
    redraw
        Only draw tables and figures anew, from the cells that are there.
    """

    scale: Literal["paper", "cpu", "cpu-long"] = "cpu"
    seeds: int | None = None
    data: Path | None = None
    out: Path | None = None
    only: Annotated[tuple[str, ...], Parameter(negative="")] = ()
    worker: str = "0/1"
    policy: Path | None = None
    truth: Path | None = None
    accumulate: int = 1
    device: str = "auto"
    redraw: Flag = False

    def __post_init__(self) -> None:
        for name in ("seeds", "accumulate"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"--{name} must be a whole number, at least 1, got {value}.")

    @property
    def folder(self) -> Path:
        """The output folder."""
        return Path("reproduced") / self.scale if self.out is None else self.out
