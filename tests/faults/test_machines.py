"""Two machines under torchrun: they train as one does, and go on after a kill, a power cut or a pulled cable.

Each machine has a checkpoint folder of its own, so nothing but the network is shared.
"""

import os
import signal
import time

import pytest
from safetensors.torch import load_file

from tests.faults.machine_script import EPOCHS, HALTED
from tests.faults.machines import NotPermittedError, two_machines
from tests.vision.groups import said_at_the_end, start_group
from tests.vision.small import same_weights

SCRIPT = "tests.faults.machine_script"
# In the third of four epochs of round 1: an epoch has three steps in round 0 and six in round 1.
HALT, STEPS = 26, (12, 24)
# Minutes that processes wait for each other where the cable is pulled; seconds until nobody waits any more.
PATIENCE, SECONDS = 1.0, 400
# Seconds after which torchrun counts a machine as gone, and a few more.
GONE = 6


@pytest.fixture
def machines():
    try:
        with two_machines() as both:
            yield both
    except NotPermittedError as reason:
        pytest.skip(f"network namespaces, which stand for machines, are not permitted here: {reason}.")


@pytest.fixture(scope="module")
def one_machine(tmp_path_factory):
    """What two processes on one machine find, undisturbed."""
    folder = tmp_path_factory.mktemp("one-machine")
    codes, errors = said_at_the_end(start_group(2, "-m", SCRIPT, str(folder), "0", "30"))
    assert codes == [0, 0], errors
    assert [len(life) for life in lives(folder)] == [sum(STEPS)]
    return result(folder)


def begin(machine, folder, *, halt=0, minutes=30.0, **options):
    """A machine's part of the work, in a folder of its own."""
    return machine.torchrun(SCRIPT, folder / machine.address, halt, minutes, **options)


def finish(*running):
    """Exit codes and words of all that was started."""
    codes = [one.process.wait(timeout=SECONDS) for one in running]
    return codes, [one.said for one in running]


def wait_for_halt(machine, folder):
    """Wait until the machine's process halts in the middle of an epoch; its process id."""
    mark, deadline = folder / machine.address / HALTED, time.monotonic() + SECONDS
    while not (mark.exists() and mark.read_text()):
        waiting = machine.running[-1].process.poll() is None and time.monotonic() < deadline
        assert waiting, f"it never came that far: {machine.running[-1].said}"
        time.sleep(0.02)
    return int(mark.read_text())


def wait_for_word(running, word):
    """Wait until a program says this; all it has said."""
    deadline = time.monotonic() + SECONDS
    while word not in running.said:
        assert time.monotonic() < deadline, f"it never said {word}"
        time.sleep(0.1)
    return running.said


def result(folder):
    """What a machine found in the end."""
    return load_file(next(folder.glob("result-*.safetensors")))


def lives(folder):
    """The rounds of the steps that each process did in turn, of the first in the folder by rank."""
    found = {}
    for line in sorted(folder.glob("steps-*.txt"))[0].read_text().splitlines():
        pid, number = map(int, line.split())
        found.setdefault(pid, []).append(number)
    return list(found.values())


def as_if_nothing_had_happened(machines, folder, expected):
    """Both machines found what one did, and went on at the last checkpoint: the end of the second epoch."""
    for machine in machines:
        assert same_weights(result(folder / machine.address), expected)
    for first, *_, last in (lives(folder / machine.address) for machine in machines):
        assert HALT - 1 <= len(first) <= HALT + 1
        assert last == [1] * (STEPS[1] * 2 // EPOCHS)


def test_two_machines_find_what_two_processes_on_one_do(machines, one_machine, tmp_path):
    codes, said = finish(*(begin(machine, tmp_path) for machine in machines))
    assert codes == [0, 0], said
    for machine in machines:
        assert same_weights(result(tmp_path / machine.address), one_machine)


@pytest.mark.soak
def test_two_machines_find_what_one_process_does_up_to_rounding(machines, tmp_path):
    codes, errors = said_at_the_end(start_group(1, "-m", SCRIPT, str(tmp_path / "alone"), "0", "30"))
    assert codes == [0], errors
    finish(*(begin(machine, tmp_path) for machine in machines))
    alone, together = result(tmp_path / "alone"), result(tmp_path / machines[0].address)
    for name in alone:
        assert alone[name].float().numpy() == pytest.approx(together[name].float().numpy(), rel=1e-2, abs=1e-4), name
    assert alone["rows"].equal(together["rows"])
    assert alone["classes"].equal(together["classes"])


@pytest.mark.soak
@pytest.mark.parametrize("killed", [0, 1])
def test_a_killed_process_is_started_again_and_all_go_on_from_the_last_checkpoint(
    machines, one_machine, tmp_path, killed
):
    running = [begin(one, tmp_path, halt=HALT * (number == killed), restarts=3) for number, one in enumerate(machines)]
    os.kill(wait_for_halt(machines[killed], tmp_path), signal.SIGKILL)
    codes, said = finish(*running)
    assert codes == [0, 0], said
    as_if_nothing_had_happened(machines, tmp_path, one_machine)


@pytest.mark.soak
def test_a_machine_that_was_killed_joins_again(machines, one_machine, tmp_path):
    first, second = machines
    running = [begin(first, tmp_path, restarts=3), begin(second, tmp_path, halt=HALT, restarts=3)]
    wait_for_halt(second, tmp_path)
    second.kill()
    time.sleep(GONE)
    codes, said = finish(running[0], begin(second, tmp_path, halt=HALT, restarts=3))
    assert codes == [0, 0], said
    as_if_nothing_had_happened(machines, tmp_path, one_machine)


@pytest.mark.soak
def test_a_machine_that_lost_its_power_joins_again(machines, one_machine, tmp_path):
    """Without a word: no connection is closed, so the other machine finds out by its patience alone."""
    first, second = machines
    running = [
        begin(first, tmp_path, minutes=PATIENCE, restarts=3),
        begin(second, tmp_path, halt=HALT, minutes=PATIENCE, restarts=3),
    ]
    wait_for_halt(second, tmp_path)
    second.cable("down")
    second.kill()
    time.sleep(PATIENCE * 60 + GONE)
    second.cable("up")
    codes, said = finish(running[0], begin(second, tmp_path, halt=HALT, minutes=PATIENCE, restarts=3))
    assert codes == [0, 0], said
    as_if_nothing_had_happened(machines, tmp_path, one_machine)


@pytest.mark.soak
def test_without_the_machine_where_they_meet_the_other_ends_and_both_can_be_started_again(
    machines, one_machine, tmp_path
):
    first, second = machines
    running = [begin(first, tmp_path, halt=HALT, restarts=3), begin(second, tmp_path, restarts=3)]
    wait_for_halt(first, tmp_path)
    first.kill()
    codes, said = finish(running[1])
    assert codes[0] != 0, said
    codes, said = finish(*(begin(machine, tmp_path, halt=HALT * (machine is first)) for machine in machines))
    assert codes == [0, 0], said
    as_if_nothing_had_happened(machines, tmp_path, one_machine)


@pytest.mark.soak
def test_a_checkpoint_is_found_on_the_machine_that_has_it(machines, one_machine, tmp_path):
    """Process 0, which alone writes checkpoints, is on the other machine after a restart."""
    first, second = machines
    begin(first, tmp_path)
    begin(second, tmp_path, halt=HALT)
    wait_for_halt(second, tmp_path)
    first.kill()
    second.kill()
    assert not (tmp_path / second.address / "checkpoints").exists()
    swapped = {"meeting": second.address}
    codes, said = finish(begin(first, tmp_path, rank=1, **swapped), begin(second, tmp_path, rank=0, **swapped))
    assert codes == [0, 0], said
    for machine in machines:
        assert same_weights(result(tmp_path / machine.address), one_machine)
    again = (tmp_path / second.address / "steps-0.txt").read_text().splitlines()
    assert len(again) == STEPS[1] * 2 // EPOCHS


@pytest.mark.soak
@pytest.mark.parametrize("meeting", ["c10d", "10.77.0.1"])
def test_machines_out_of_reach_of_each_other_end_with_a_sentence(machines, tmp_path, meeting):
    """The cable is pulled: nobody tells them that nobody will answer."""
    first, second = machines
    options = {"minutes": PATIENCE, "meeting": meeting}
    running = [begin(first, tmp_path, **options), begin(second, tmp_path, halt=HALT, rank=1, **options)]
    wait_for_halt(second, tmp_path)
    second.cable("down")
    (tmp_path / second.address / HALTED).unlink()
    for rank, one in enumerate(running):
        said = wait_for_word(one, "LostProcessError")
        assert f"Another process of this group of 2 has not answered in time, and process {rank} cannot go on" in said
    # With c10d, the torchrun that cannot reach the place where they meet waits for it for another 15 minutes.
    codes, _ = finish(*running[: 1 if meeting == "c10d" else 2])
    assert 0 not in codes
