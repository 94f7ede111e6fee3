"""What a worker process does for the Traces page: measure a trace, model its caches, merge files, export."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from drr.errors import DrrError
from drr.policy import load_policy
from drr.policy.schema import Profile
from drr.ui.worker_process import Progress
from drr.workload.mapping import apply
from drr.workload.trace_workload import TraceWorkload
from drr.workload.traces_edit import ClockRule, scale_rate
from drr.workload.traces_export import mooncake_lines
from drr.workload.traces_merge import MergedTrace, merge_files
from drr.workload.traces_survey import Reuse, TraceSurvey, bounded_reuse, survey


@dataclass(frozen=True, slots=True)
class PolicyChoice:
    """The policy whose classes count: its text, and the model whose profile it is."""

    text: str
    model: str | None = None

    def profile(self) -> Profile | None:
        """The profile, None where the text is not valid."""
        try:
            return load_policy(self.text).profile_for(self.model)
        except DrrError:
            return None


@dataclass(frozen=True, slots=True)
class SurveyTask:
    """A trace to measure under a policy."""

    trace: TraceWorkload
    policy: PolicyChoice

    def run(self, progress: Progress) -> TraceSurvey:
        """Measure it."""
        return survey(self.trace, self.policy.profile(), progress)


@dataclass(frozen=True, slots=True)
class CacheTask:
    """A bounded prefix cache per worker to try on a trace."""

    trace: TraceWorkload
    workers: int
    block_size: int
    num_gpu_blocks: int

    def run(self, progress: Progress) -> Reuse:
        """Try it."""
        return bounded_reuse(
            self.trace,
            workers=self.workers,
            block_size=self.block_size,
            num_gpu_blocks=self.num_gpu_blocks,
            progress=progress,
        )


@dataclass(frozen=True, slots=True)
class MergeTask:
    """Several files to put on one clock, written into a folder of the session."""

    files: tuple[TraceWorkload, ...]
    clock: ClockRule | None
    shared_blocks: bool
    folder: str

    def run(self, progress: Progress) -> MergedTrace:
        """Merge them."""
        return merge_files(
            self.files, Path(self.folder), clock=self.clock, shared_blocks=self.shared_blocks, progress=progress
        )


@dataclass(frozen=True, slots=True)
class MooncakeTask:
    """A trace to write as Mooncake JSONL: its window, its rate, a policy header on every row."""

    trace: TraceWorkload
    rate: float
    policy: PolicyChoice

    def run(self, progress: Progress) -> bytes:
        """Write it."""
        reading = self.trace.reading(lambda _lines: progress(0, 0))
        if self.rate != 1.0:
            reading = scale_rate(reading, self.rate)
        table = apply(self.trace.mapping, reading.requests, self.policy.profile(), columns=reading.columns)
        return "".join(mooncake_lines(table, trace_block_size=reading.block_size_tokens)).encode()
