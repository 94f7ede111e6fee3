"""What a worker process does for the Compare page: run both sides with many seeds."""

from __future__ import annotations

from dataclasses import dataclass

from drr.analysis.compare import Interval, differences_over_seeds
from drr.ui.worker_process import Progress
from drr.workload.experiment import Experiment

Result = dict[tuple[str, str], Interval]


@dataclass(frozen=True, slots=True)
class SeedsTask:
    """Both experiments and how many seeds, as a worker process takes them."""

    first: Experiment
    second: Experiment
    count: int
    max_requests: int

    def run(self, progress: Progress) -> Result:
        """Run both with every seed."""
        return differences_over_seeds(
            self.first, self.second, range(self.count), progress, max_requests=self.max_requests
        )
