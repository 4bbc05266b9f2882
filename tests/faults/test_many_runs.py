"""Many runs in one process: memory, open files, threads and temporary files do not grow."""

import json
import os
import subprocess
import sys

import pytest

from tests.faults.conftest import ROOT

WARM_UP = 9
# Two runs of one kind differ by the allocator's whims; a leak of one copy of the images would be more.
MEMORY = 0.05


@pytest.mark.soak
def test_twenty_five_runs_in_a_row_leave_nothing_behind(tmp_path):
    command = [sys.executable, "-m", "tests.faults.many_runs", tmp_path, "25"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True)
    found = json.loads(done.stdout)
    assert len(found) == 25
    for part in (found[WARM_UP:-1:2], found[WARM_UP + 1 :: 2]):  # a kind of runs each
        first, last = part[0], part[-1]
        assert last["memory"] <= first["memory"] * (1 + MEMORY), [one["memory"] for one in found]
        for name in ("files", "threads", "system_threads", "leavings"):
            assert last[name] == first[name], [one[name] for one in found]
