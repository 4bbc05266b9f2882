import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.faults import scenes

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Answer:
    """How a command ended (minus the signal that killed it), what it said, and the events it came past."""

    ended: int
    out: str
    err: str
    events: list[str]


class Driver:
    """Commands carried out in forked processes, with faults."""

    def __init__(self, process, folder):
        self.process, self.folder = process, folder

    def __call__(self, command, **fault):
        order = {"command": [str(part) for part in command], "fault": fault, "folder": str(self.folder)}
        print(json.dumps(order), file=self.process.stdin, flush=True)
        return Answer(**json.loads(self.process.stdout.readline()))

    def refused(self, command, **fault):
        """The one sentence of a command that exits with 2."""
        answer = self(command, **fault)
        assert answer.ended == 2, answer
        assert "Traceback" not in answer.err, answer.err
        assert len(answer.err.strip().splitlines()) == 1, answer.err
        return answer.err.strip()


@dataclass(frozen=True)
class Whole:
    """Photos, and a run on them that nobody disturbed, with its events."""

    kind: scenes.Kind
    photos: Path
    run: Path
    events: list[str]

    def fit(self, run):
        return scenes.fit(self.photos, self.kind, run)


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    command = [sys.executable, "-m", "tests.faults.driver"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        yield Driver(process, tmp_path_factory.getbasetemp())


@pytest.fixture(scope="session")
def wholes(driver, tmp_path_factory):
    """An undisturbed run of each kind."""
    found = {}
    for kind in (scenes.NETWORK, scenes.FEATURES):
        folder = tmp_path_factory.mktemp(kind.name)
        photos = scenes.lay_out(folder / "photos", kind)
        answer = driver(scenes.fit(photos, kind, folder / "run"))
        assert answer.ended == 0, answer
        found[kind.name] = Whole(kind, photos, folder / "run", answer.events)
    return found


@pytest.fixture(params=["network", "features"])
def whole(request, wholes):
    return wholes[request.param]
