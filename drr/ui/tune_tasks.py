"""What a worker process does for the Tune page: part of a sweep, or a search for quanta."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from drr.analysis.saved import Saved, save_run
from drr.analysis.solver import Solution, solve
from drr.analysis.solver_goals import Goal
from drr.analysis.sweep import Trial
from drr.analysis.sweep_running import run_trial
from drr.scheduler.ring import CursorRule
from drr.ui.limits import SECONDS_PER_RUN, error_words
from drr.ui.worker_process import Progress
from drr.workload.experiment import Experiment

SEARCH_PART = 0.6
"""Part of the time a job may take after which a search ends with what it has; the rest is for the prediction."""
SLICE_SECONDS = 3.0
"""A sweep is done in slices of about this long, so that others get their turn."""


@dataclass(frozen=True, slots=True)
class SweepSlice:
    """The trials of a sweep that are left; as many are run as fit into a slice, at least one.

    Each is handed over as a part, ``(key, result)``, when it is finished.
    """

    trials: tuple[Trial, ...]
    max_requests: int

    def run(self, progress: Progress) -> None:
        """Run them; progress is told within every run too, so that it can be cancelled there."""
        started, total = time.monotonic(), len(self.trials)
        progress(0, total)
        for over, trial in enumerate(self.trials):

            def within(_over: int, _total: int, over: int = over) -> None:
                progress(over, total)

            result = run_trial(trial, max_requests=self.max_requests, progress=within, words=error_words)
            progress(over + 1, total, (trial.key, result))
            if time.monotonic() - started >= SLICE_SECONDS:
                break


@dataclass(frozen=True, slots=True)
class SolveTask:
    """A search for quanta."""

    experiment: Experiment
    goals: tuple[Goal, ...]
    rules: tuple[CursorRule, ...]
    seeds: int
    max_requests: int

    def run(self, progress: Progress) -> Solution:
        """Search."""
        return solve(
            self.experiment,
            self.goals,
            rules=self.rules,
            seeds=self.seeds,
            progress=progress,
            max_requests=self.max_requests,
            most_seconds=SEARCH_PART * SECONDS_PER_RUN.value,
        )


@dataclass(frozen=True, slots=True)
class KeepTask:
    """A run that is to be kept under a name."""

    folder: Path
    name: str
    experiment: Experiment
    max_requests: int

    def run(self, progress: Progress) -> Saved:
        """Run it and save it."""
        run = self.experiment.run(progress, max_requests=self.max_requests, record=False)
        return save_run(self.folder, self.name, self.experiment, run)
