"""What a worker process does for the Real router page: the same experiment on the real router and on ours."""

from __future__ import annotations

from dataclasses import dataclass

from drr.analysis.outcomes import Spread
from drr.dynamo.probe_plan import ProbePlan
from drr.dynamo.probe_results import predict, predicted_order, predicted_ttft
from drr.dynamo.side_by_side import RULES, SideBySide, case_of, compare_with_real
from drr.ui.worker_process import Progress
from drr.workload.experiment import Experiment

PARTS = 1 + len(RULES)


@dataclass(frozen=True, slots=True)
class RealTask:
    """An experiment as a worker process takes it. The real router gets a process of its own under it."""

    experiment: Experiment
    max_requests: int
    time_limit_s: float

    def run(self, progress: Progress) -> SideBySide:
        """Compare; raises :class:`drr.errors.DrrError` where that is not possible."""

        def loading(over: int, total: int) -> None:
            progress(0, PARTS)

        case = case_of(self.experiment, max_requests=self.max_requests, progress=loading)
        return compare_with_real(case, time_limit_s=self.time_limit_s, progress=progress)


@dataclass(frozen=True, slots=True)
class Prediction:
    """What our model makes of a probe: the classes in the order of completion, and TTFT per class of the plan, ms."""

    order: tuple[str, ...]
    ttft: tuple[Spread, ...]


@dataclass(frozen=True, slots=True)
class PredictTask:
    """A probe's requests on the policy and the workers of an experiment."""

    plan: ProbePlan
    experiment: Experiment

    def run(self, progress: Progress) -> Prediction:
        """Predict, under the rule of the shipped router."""
        progress(0, 0)
        experiment = self.experiment
        run = predict(self.plan, experiment.profile(), workers=experiment.workers, engine=experiment.engine)
        return Prediction(tuple(predicted_order(self.plan, run)), tuple(predicted_ttft(self.plan, run)))
