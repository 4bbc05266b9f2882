"""Runs `curriculum` commands in forked processes that die, fail or are stopped where they are told to; a program.

Every line of its input is one order as JSON: the command, and a fault. Its answer is a line with how
the process ended, what it said, and the events it came past. An event is anything that leaves a trace
on disk (a file opened for writing, renamed or removed, a folder made, an fsync) and each piece of work
between those: a step of training, an embedded batch, a fitted probe, scores. Forking saves importing torch each time.
"""

import errno
import fcntl
import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

import torch

import curriculum_labeling.commands  # noqa: F401 (it imports all that commands need)
from curriculum_labeling.cli import main
from curriculum_labeling.runs import kept, probe
from curriculum_labeling.vision import embedding_journal, optimizers, training

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
ON_DISK = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate")
# What a full disk refuses; a read-only one refuses everything.
TAKES_ROOM = ("open", "os.mkdir", "os.rename", "os.link", "fsync")


class Events:
    """Counts events, and lets the fault happen at its number."""

    def __init__(self, fault, folder):
        self.fault, self.folder, self.seen = fault, folder, []

    def __call__(self, name, path=""):
        self.seen.append(f"{name} {os.path.basename(str(path))}".strip())
        here = len(self.seen) - 1
        if here == self.fault.get("kill_at") or self.seen[-1].startswith(self.fault.get("kill_on", "\n")):
            os.kill(os.getpid(), signal.SIGKILL)
        if here == self.fault.get("signal_at"):
            os.kill(os.getpid(), self.fault["signal"])
        number = self.fault.get("errno")
        if number is not None and here >= self.fault["fails_from"] and self.refuses(name, number):
            raise OSError(number, os.strerror(number), str(path) or None)

    def refuses(self, name, number):
        return name in TAKES_ROOM or (number == errno.EROFS and name in ON_DISK)

    def audit(self, name, arguments):
        """Python tells of every file that is opened, renamed or removed, whoever does it."""
        if name not in ("open", *ON_DISK) or not arguments:
            return
        path = arguments[0]
        if not isinstance(path, str | bytes | os.PathLike):
            return
        path = os.fsdecode(path)
        if os.path.isabs(path) and not path.startswith(self.folder):
            return
        if name != "open" or (arguments[2] & WRITES):
            self(name, path)

    def around(self, owner, name, called=None):
        """Make every call of a function an event."""
        real = getattr(owner, name)

        def counted(*arguments, **options):
            self(called or name)
            return real(*arguments, **options)

        setattr(owner, name, counted)


def watch(fault, folder):
    """Count events in this process from now on."""
    events = Events(fault, folder)
    events.around(os, "fsync")
    events.around(torch.optim.SGD, "step", "training step")
    events.around(optimizers.Muon, "step", "training step")
    events.around(training, "averaged_network", "trained")
    events.around(probe, "fit_softmax", "probe")
    events.around(kept.KeptModel, "_computed", "scores")
    events.around(embedding_journal.Journal, "write", "embedded batch")
    sys.addaudithook(events.audit)
    return events


def obey(order, out, err, seen):
    """The forked process: do as ordered, and never return."""
    fault = order["fault"]
    os.dup2(out, 1)
    os.dup2(err, 2)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="surrogateescape", closefd=False)
    if limit := fault.get("file_size"):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    sys.argv[1:] = order["command"]
    events = watch(fault, order["folder"])
    try:
        code = main(order["command"])
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os.write(seen, json.dumps(events.seen).encode())
    os._exit(code)


def wait_for(child, seconds):
    """How the child ended; it is killed after so many seconds, None for never."""
    deadline = None if seconds is None else time.monotonic() + seconds
    while deadline is not None:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            break
        time.sleep(0.001)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def carry_out(order):
    """One order, in a process of its own; what it says goes through pipes, which no limit of files can stop."""
    pipes = [os.pipe() for _ in range(3)]
    child = os.fork()
    if child == 0:
        obey(order, *(into for _, into in pipes))
    for out_of, into in pipes:
        fcntl.fcntl(out_of, fcntl.F_SETPIPE_SZ, 1 << 20)
        os.close(into)
    ended = wait_for(child, order["fault"].get("seconds"))
    said = []
    for out_of, _ in pipes:
        with os.fdopen(out_of, "rb") as file:
            said.append(file.read().decode(errors="replace"))
    return {"ended": ended, "out": said[0], "err": said[1], "events": json.loads(said[2] or "[]")}


def warm_up():
    """Import what a whole run imports late. No gradients: torch does not fork after computing some."""
    from tests.faults import scenes

    torch.set_num_threads(1)
    for name in ("sgd", "muon"):
        weight = {"params": [torch.zeros(1, requires_grad=True)]}
        optimizers.build_optimizer(name, [weight], momentum=0.9, nesterov=True, fused=False)
    with tempfile.TemporaryDirectory() as folder:
        photos = scenes.lay_out(Path(folder) / "photos", scenes.FEATURES)
        assert main(scenes.fit(photos, scenes.FEATURES, Path(folder) / "run")) == 0
    sys.stdout.flush()


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warm_up()
    for line in sys.stdin:
        print(json.dumps(carry_out(json.loads(line))), file=answers, flush=True)
