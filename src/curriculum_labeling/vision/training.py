"""Training of one model: SGD over addressed batches, resumable at every step, in one process or several."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from itertools import chain

import torch
from torch import Tensor, nn

from curriculum_labeling.data.progress import Tell, Teller
from curriculum_labeling.vision import draws
from curriculum_labeling.vision.averaging import SWA, averaged_network
from curriculum_labeling.vision.checkpoint import Store, load_together
from curriculum_labeling.vision.devices import Numbers, numbers_for, wait_for
from curriculum_labeling.vision.distributed import Group, add_gradients
from curriculum_labeling.vision.feed import Feed
from curriculum_labeling.vision.objective import Batch, Forward
from curriculum_labeling.vision.schedule import Schedule
from curriculum_labeling.vision.shared_norm import share_norms
from curriculum_labeling.vision.side_by_side import SideBySide, can_be_side_by_side, side_by_side
from curriculum_labeling.vision.state import TrainingState, begin

# A guess at random has a loss of log(classes); this many times that is not training any more.
DIVERGED = 1000.0
# Asking an accelerator for the loss makes it wait, so there it is asked only every so many steps.
LOSS_CHECK_STEPS = 50
TIMED_STEPS = 5


class DivergedError(FloatingPointError):
    """The loss became infinite, not a number, or absurdly large."""


@dataclass(frozen=True)
class Epoch:
    """One epoch as it was: its number from 1, of how many, mean loss, last learning rate, seconds so far and to go."""

    round: int
    number: int
    epochs: int
    loss: float
    learning_rate: float
    seconds: float
    seconds_left: float


@dataclass(frozen=True)
class Trained:
    """The network to use, in evaluation mode, and the seconds its training took, restarts included."""

    network: nn.Module
    seconds: float


@dataclass(frozen=True)
class Resumed:
    """Where this process took over: the step, the seconds spent before it, and its clock then."""

    step: int
    seconds: float
    clock: float


Watch = Callable[[Epoch], None]


def train(
    network: nn.Module,
    feed: Feed,
    *,
    store: Store | None = None,
    watch: Watch | None = None,
    tell: Tell | None = None,
    round_number: int = 0,
    stop: Callable[[], bool] | None = None,
) -> Trained:
    """Train a network; what comes back is the averaged one where the settings ask for an average.

    The network is trained in place; it must start equal in all processes. Where `stop` says so, a
    checkpoint is written and a KeyboardInterrupt raised.
    """
    config, group = feed.config, feed.group
    numbers = numbers_for(feed.device, config.precision)
    network = share_norms(network, group)
    state = begin(network, config, feed.device, numbers)
    saved = load_together(store, group)
    if saved is not None:
        schedule = Schedule(**saved.progress["schedule"])
        state.restore(saved)
    else:
        schedule = group.from_first(plan(network, feed, numbers))
        save(state, schedule, store, group)
    resumed = Resumed(state.step, state.seconds, time.monotonic())
    teller = Teller(tell if group.rank == 0 else None, schedule.steps, state.step)

    with runner(network.train(), feed) as forward:
        for batches in feed.steps(state.step, schedule.steps):
            for parameters in state.optimizer.param_groups:
                parameters["lr"] = schedule.rate(state.step)
            # For layers that draw, such as dropout: their draws are addressed as well.
            torch.manual_seed(draws.key(feed.batches.seed, "layers", state.step, group.rank))
            loss = gradients(forward, batches, feed, numbers, state)
            loss = add_gradients(network.parameters(), loss, group)
            state.scaler.step(state.optimizer)
            state.scaler.update()
            state.advance(loss, schedule)

            ends = schedule.ends_epoch(state.step)
            due = store is not None and store.due(schedule.epochs_after(state.step) if ends else None)
            if ends or due or feed.device.type == "cpu" or state.step % LOSS_CHECK_STEPS == 0:
                check_loss(float(loss), state, schedule, feed, store, round_number)
            state.seconds = resumed.seconds + time.monotonic() - resumed.clock
            if ends and watch is not None and group.rank == 0:
                watch(epoch_of(state, schedule, resumed, round_number))
            if ends:
                state.start_epoch()
            if due:
                save(state, schedule, store, group)
            if stop is not None and stop():
                save(state, schedule, store, group)
                raise KeyboardInterrupt
            teller(state.step)

    if not finite(network):
        check_loss(math.nan, state, schedule, feed, store, round_number)
    return Trained(averaged_network(network, state.average, feed.statistics()), state.seconds)


def runner(network: nn.Module, feed: Feed) -> AbstractContextManager[Forward | SideBySide]:
    """What runs forward: it trains the network's own parameters, compiled or side by side as it may be."""
    config = feed.config
    if can_be_side_by_side(network, config, feed.device, feed.group):
        return side_by_side(network, config.accumulate)
    return nullcontext(torch.compile(network) if config.compile else network)


def gradients(
    forward: Forward | SideBySide, batches: Iterable[Batch], feed: Feed, numbers: Numbers, state: TrainingState
) -> Tensor:
    """Fill in the gradients of one step, piece by piece; returns this process's part of the loss."""
    state.optimizer.zero_grad(set_to_none=True)
    if isinstance(forward, SideBySide):
        return forward.gradients(batches, feed.config.objective, numbers, feed.device)
    total = torch.zeros((), device=feed.device)
    for batch in batches:
        with numbers.autocast(feed.device):
            loss = feed.config.objective(forward, batch)
        state.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        total += loss.detach()
    return total


def plan(network: nn.Module, feed: Feed, numbers: Numbers) -> Schedule:
    """The schedule of the budget; for a budget in minutes, steps are timed on a copy of the network."""
    config, per_epoch = feed.config, feed.batches.steps_per_epoch
    seconds = None if config.budget.minutes is None else seconds_per_step(network, feed, numbers)
    steps = config.budget.steps_of(per_epoch, seconds)
    start, end = config.cycle
    before, after = round(steps * start / (end - start)), round(steps * (1 - end) / (end - start))
    warmup = int(config.warmup * (before + steps + after))
    schedule = Schedule(steps, per_epoch, config.learning_rate, warmup, before, after)
    if isinstance(config.average, SWA):
        config.average.first(schedule)
    return schedule


def seconds_per_step(network: nn.Module, feed: Feed, numbers: Numbers, steps: int = TIMED_STEPS) -> float:
    """The median over a few steps after a first one to warm up; the network itself stays as it is."""
    trial = begin(copy.deepcopy(network).train(), feed.config, feed.device, numbers)
    times, start = [], time.monotonic()
    with runner(trial.network, feed) as forward:
        # Each step prepared on its own, so that none has the work of others in it.
        for batches in chain.from_iterable(feed.steps(number, number + 1) for number in range(1 + steps)):
            loss = gradients(forward, batches, feed, numbers, trial)
            add_gradients(trial.network.parameters(), loss, feed.group)
            trial.scaler.step(trial.optimizer)
            wait_for(feed.device)
            times.append(time.monotonic() - start)
            start = time.monotonic()
    return sorted(times[1:])[steps // 2]


def save(state: TrainingState, schedule: Schedule, store: Store | None, group: Group) -> None:
    """Write a checkpoint; broken weights never replace good ones, and the next step's loss will tell of them."""
    if store is not None and group.rank == 0 and finite(state.network):
        progress = {**state.progress(), "schedule": asdict(schedule), "finished": False}
        store.save(f"step-{state.step:08d}", state.tensors(), progress)


@torch.no_grad()
def finite(network: nn.Module) -> bool:
    """Whether no parameter is infinite or not a number."""
    return all(bool(torch.isfinite(parameter).all()) for parameter in network.parameters())


def check_loss(
    loss: float, state: TrainingState, schedule: Schedule, feed: Feed, store: Store | None, round_number: int
) -> None:
    """Stop where the loss says that training has broken down."""
    if math.isfinite(loss) and loss <= DIVERGED * math.log(max(2, feed.classes)):
        return
    kept = "" if store is None else f" The last good checkpoint is kept in {store.folder}."
    raise DivergedError(
        f"training diverged in round {round_number}, epoch {schedule.epochs_after(state.step)}, at learning rate "
        f"{schedule.rate(state.step - 1):.4g}: the loss is {loss:.4g}; lower learning_rate or raise warmup.{kept}"
    )


def epoch_of(state: TrainingState, schedule: Schedule, resumed: Resumed, round_number: int) -> Epoch:
    """What to tell about the epoch that has just ended."""
    per_step = (state.seconds - resumed.seconds) / (state.step - resumed.step)
    return Epoch(
        round_number,
        schedule.epochs_after(state.step),
        schedule.epochs,
        loss=float(state.loss) / state.loss_steps,
        learning_rate=schedule.rate(state.step - 1),
        seconds=state.seconds,
        seconds_left=per_step * (schedule.steps - state.step),
    )
