"""Two machines on one: network namespaces, joined by a virtual cable, that see each other and nothing else."""

import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

ROOT = Path(__file__).parents[2]
CABLE = "cable"
PORT = 29400
# Without this, torchrun (of torch 2.13) tells a machine that joins later nothing of where the first process is.
REJOINING = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
NUMBERS = itertools.count()


class NotPermittedError(Exception):
    """Namespaces cannot be made here."""


@dataclass(frozen=True)
class Started:
    """A program that runs, and the file that its words go to."""

    process: subprocess.Popen
    file: BinaryIO

    @property
    def said(self):
        """Its words so far, read without moving to where it goes on writing."""
        return os.pread(self.file.fileno(), 1 << 20, 0).decode()


class Machine:
    """One end of the cable, with the processes that were started on it."""

    def __init__(self, name, address, first):
        self.name, self.address, self.first, self.running = name, address, first, []

    def start(self, *command):
        """Start a program on this machine."""
        surroundings = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": CABLE, **REJOINING}
        inside = ["ip", "netns", "exec", self.name, *command]
        said = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `kill`, with the process that writes to it
        streams = {"stdin": subprocess.DEVNULL, "stdout": said, "stderr": subprocess.STDOUT}
        started = Started(subprocess.Popen(inside, cwd=ROOT, env=surroundings, **streams), said)
        self.running.append(started)
        return started

    def torchrun(self, *program, restarts=0, meeting="c10d", rank=0):
        """Start this machine's part of a program on two; they meet at the first machine."""
        # Shorter than what torchrun waits by itself: a machine counts as gone after 3 s, and is waited for 120 s.
        waits = "join_timeout=120,keep_alive_interval=1,keep_alive_max_attempt=3,read_timeout=15"
        config = f"is_host={int(self.first)},{waits}"
        where = ["--rdzv-backend", "c10d", "--rdzv-id", "tests", "--rdzv-conf", config, "--local-addr", self.address]
        if meeting != "c10d":
            where = ["--rdzv-backend", "static", "--node-rank", str(rank)]
        nodes = ["--nnodes", "2", "--nproc-per-node", "1", "--max-restarts", str(restarts)]
        at = meeting if meeting != "c10d" else "10.77.0.1"
        command = [sys.executable, "-m", "torch.distributed.run", *nodes, *where, "--rdzv-endpoint", f"{at}:{PORT}"]
        return self.start(*command, "--module", *map(str, program))

    def kill(self):
        """End all of this machine's processes at once."""
        # Until there are none: a process may start another one while the list is read.
        while pids := self.pids():
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)
        for started in self.running:
            started.process.wait()
            started.file.close()
        self.running.clear()

    def pids(self):
        """The processes on this machine."""
        done = subprocess.run(["ip", "netns", "pids", self.name], capture_output=True, text=True, check=False)
        return list(map(int, done.stdout.split()))

    def cable(self, state):
        """Plug the cable in ("up") or out ("down")."""
        ip("-n", self.name, "link", "set", CABLE, state)


@contextmanager
def two_machines():
    """Two machines, 10.77.0.1 and 10.77.0.2, which are gone with all their processes afterwards."""
    if shutil.which("ip") is None:
        raise NotPermittedError("there is no command `ip`")
    stem = f"machine-{os.getpid()}-{next(NUMBERS)}"
    both = [Machine(f"{stem}-{number}", f"10.77.0.{number}", number == 1) for number in (1, 2)]
    try:
        lay(both)
        yield both
    finally:
        for machine in both:
            machine.kill()
            ip("netns", "delete", machine.name, check=False)


def lay(both):
    """Make the namespaces, and the cable between them."""
    for machine in both:
        if refused := ip("netns", "add", machine.name, check=False):
            raise NotPermittedError(refused)
    first, second = (machine.name for machine in both)
    ends = ["link", "add", CABLE, "netns", first, "type", "veth", "peer", "name", CABLE, "netns", second]
    if refused := ip(*ends, check=False):
        raise NotPermittedError(refused)
    for machine in both:
        ip("-n", machine.name, "address", "add", f"{machine.address}/30", "dev", CABLE)
        ip("-n", machine.name, "link", "set", "lo", "up")
        machine.cable("up")


def ip(*arguments, check=True):
    """Run `ip`; where it may fail, what it says then."""
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=check)
    return (done.stderr.strip() or "ip failed") if done.returncode else ""
