"""Many small runs one after the other in one process; a program that prints what each leaves behind, as JSON.

Arguments: a folder, and how many runs. A figure per run: resident memory in bytes, open files, threads, and
temporary files anywhere.
"""

import json
import os
import shutil
import sys
import tempfile
import threading
from pathlib import Path

from curriculum_labeling.cli import main
from tests.faults import scenes


def figures(folder):
    """What this process holds now."""
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    leavings = [path for path in folder.rglob("*.tmp") if path.name.startswith(".")]
    return {
        "memory": pages * os.sysconf("SC_PAGE_SIZE"),
        "files": len(os.listdir("/proc/self/fd")),
        "threads": threading.active_count(),
        "system_threads": len(os.listdir("/proc/self/task")),
        "leavings": len(leavings) + len(os.listdir(tempfile.gettempdir())),
    }


def run_all(folder, count):
    """Both kinds of runs in turn."""
    photos = {kind.name: scenes.lay_out(folder / kind.name, kind) for kind in (scenes.NETWORK, scenes.FEATURES)}
    tempfile.tempdir = str(folder / "temporary")
    os.mkdir(tempfile.tempdir)
    found = []
    for number in range(count):
        kind = (scenes.NETWORK, scenes.FEATURES)[number % 2]
        assert main(scenes.fit(photos[kind.name], kind, folder / "run")) == 0
        found.append(figures(folder))
        shutil.rmtree(folder / "run")
    return found


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    json.dump(run_all(Path(sys.argv[1]), int(sys.argv[2])), answers)
