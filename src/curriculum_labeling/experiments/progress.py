"""What the screen shows while cells run: which of how many, its round, and the time that is left."""

from __future__ import annotations

from collections.abc import Sequence

from curriculum_labeling.experiments.cells import passes_of
from curriculum_labeling.experiments.cost import image_passes, rows_per_round
from curriculum_labeling.experiments.results import Task
from curriculum_labeling.runs.stages import Show, Stage
from curriculum_labeling.vision.training import Epoch


class Progress:
    """Tells `show` about every epoch of the tasks ahead, which so many workers share."""

    def __init__(self, tasks: Sequence[Task], show: Show, workers: int = 1) -> None:
        self.tasks = list(tasks)
        self.show = show
        self.workers = workers
        self.place = 0

    def start(self, task: Task) -> None:
        """A task begins."""
        self.place = self.tasks.index(task)
        self.show(Stage(self._name(task)))

    def watch(self, epoch: Epoch) -> None:
        """An epoch of the task has ended."""
        task = self.tasks[self.place]
        self.show(
            Stage(
                f"{self._name(task)}, round {epoch.round}",
                epoch.number,
                epoch.epochs,
                epoch.seconds_left,
                self._seconds_left(task, epoch),
            )
        )

    def _name(self, task: Task) -> str:
        return f"cell {self.place + 1} of {len(self.tasks)}: {task.stem}"

    def _seconds_left(self, task: Task, epoch: Epoch) -> float:
        """The pace of this round, over all images that are still to pass."""
        rounds = [passes_of(task.cell, rows) for rows in rows_per_round(task.cell)]
        done = rounds[epoch.round] * epoch.number / epoch.epochs
        later = sum(image_passes(one.cell) for one in self.tasks[self.place + 1 :])
        others = sum(rounds[epoch.round + 1 :]) + later / self.workers
        return epoch.seconds_left + others * epoch.seconds / max(done, 1.0)
