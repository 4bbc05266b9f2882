"""Seconds and memory of stages of work, with those of the processes that the work started."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Measured:
    """One stage: processor seconds, seconds by the clock, and the most memory it held beyond the start, in GB."""

    stage: str
    cpu: float
    wall: float
    extra: float
    resident: float


@dataclass
class Meter:
    """Measures one stage after the other; memory counts from where the meter was made."""

    found: list[Measured] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.held = memory("VmRSS")
        self._begin: tuple[str, float, float] | None = None

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure a block."""
        self.enter(name)
        yield
        self.leave()

    def enter(self, name: str) -> None:
        """A stage begins, and with it the one before has ended."""
        if self._begin is not None and self._begin[0] == name:
            return
        self.leave()
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # the highest memory so far is forgotten
        self._begin = (name, processor_seconds(), time.perf_counter())

    def leave(self) -> None:
        """The stage has ended; two stretches of one name are one stage."""
        if self._begin is None:
            return
        name, cpu, wall = self._begin
        self._begin = None
        peak = memory("VmHWM")
        now = Measured(
            name, processor_seconds() - cpu, time.perf_counter() - wall, max(0.0, peak - self.held) / 1e9, peak / 1e9
        )
        before = next((one for one in self.found if one.stage == name), None)
        if before is not None:
            self.found.remove(before)
            now = Measured(
                name,
                now.cpu + before.cpu,
                now.wall + before.wall,
                max(now.extra, before.extra),
                max(now.resident, before.resident),
            )
        self.found.append(now)

    def as_records(self) -> list[dict[str, Any]]:
        """What was measured, and the sum of it where there is more than one stage."""
        self.leave()
        found = [asdict(one) for one in self.found]
        if len(found) > 1:
            total = {key: sum(one[key] for one in found) for key in ("cpu", "wall")}
            most = {key: max(one[key] for one in found) for key in ("extra", "resident")}
            found.append({"stage": "all", **total, **most})
        return found


def processor_seconds() -> float:
    """Of this process and of those it started, once they have ended."""
    parts = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in parts)


def memory(field_name: str) -> int:
    """Bytes of memory of this process: VmRSS now, VmHWM at its highest."""
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith(field_name + ":"))
    return int(line.split()[1]) * 1024
