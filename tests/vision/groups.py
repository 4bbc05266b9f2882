"""Groups of processes, started as torchrun does and watched to their end."""

import os
import socket
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def start_group(size, *command):
    """Start a program once per process, as torchrun does."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(size), "OMP_NUM_THREADS": "1"}
    ranks = [{**os.environ, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(size)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return [subprocess.Popen([sys.executable, *command], cwd=ROOT, env=one, **pipes) for one in ranks]


def said_at_the_end(group, seconds=600):
    """Exit codes and errors of all processes, which must end by themselves; torch alone would wait half an hour."""
    try:
        errors = [process.communicate(timeout=seconds)[1].strip() for process in group]
        return [process.returncode for process in group], errors
    finally:
        for process in group:
            process.kill()
            process.wait()
