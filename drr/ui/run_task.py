"""What a worker process does for a page: run an experiment, and look for what keeps its ratios from binding."""

from __future__ import annotations

from dataclasses import dataclass

from drr.analysis.doctor import Finding, findings
from drr.simulation.recording import Run
from drr.ui.worker_process import Progress
from drr.workload.experiment import Experiment


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run, and what the doctor has to say about it."""

    run: Run
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class RunTask:
    """An experiment as a worker process takes it."""

    experiment: Experiment
    max_requests: int

    def run(self, progress: Progress) -> RunResult:
        """Run it, within the limits."""
        run = self.experiment.run(progress, max_requests=self.max_requests)
        return RunResult(run, tuple(findings(run)))
