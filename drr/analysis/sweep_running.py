"""Running a sweep: here, in several processes, or on a Dask cluster, with a journal that survives a crash.

The result depends on the sweep alone: not on how many processes work, nor in which order they finish, nor on how often
the sweep was interrupted. Every finished trial is one line of the journal, under a digest of all it depends on, so a
journal may be used again by a larger sweep of the same base.
"""

from __future__ import annotations

import importlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from drr.analysis.sweep import Sweep, Trial
from drr.analysis.sweep_figures import FIGURES_VERSION, ClassRow, point_rows
from drr.errors import DrrError

Backend = Literal["local", "dask"]
BACKENDS: tuple[Backend, ...] = ("local", "dask")
MOST_PER_BATCH = 8
BATCHES_PER_PROCESS = 32
CONNECT_SECONDS = 10


@dataclass(frozen=True, slots=True)
class TrialResult:
    """What came of one trial: the figures per rule and class, or why there are none."""

    rows: tuple[ClassRow, ...]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a sweep is. ``seconds_left`` is an estimate, None before the first trial is over."""

    over: int
    total: int
    seconds_left: float | None

    def text(self) -> str:
        """For people: 40 of 200 runs, about 12 s left."""
        said = f"{self.over:,} of {self.total:,} runs"
        if self.seconds_left is None or self.seconds_left < 1:
            return said
        return f"{said}, about {time_text(self.seconds_left)} left"


def time_text(seconds: float) -> str:
    """A length of time in one or two units: 5 s, 3 min 20 s, 2 h 5 min."""
    whole = max(round(seconds), 0)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60} min"


Report = Callable[[Progress], object]
"""Is called after every batch of trials; whatever it raises ends the sweep. What is finished stays in the journal."""


@dataclass(frozen=True, slots=True)
class SweepResult:
    """All trials of a sweep in order, each with its result."""

    sweep: Sweep
    trials: tuple[Trial, ...]
    results: tuple[TrialResult, ...]
    runs_made: int
    """Trials that were run now; the others were in the journal, or are the same as another one."""

    @property
    def problems(self) -> list[tuple[Trial, str]]:
        """The trials without figures, and why."""
        return [(t, r.problem) for t, r in zip(self.trials, self.results, strict=True) if r.problem]


class Journal:
    """Finished trials in a file, one JSON line each, only ever appended to. A torn last line is passed over."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[str, TrialResult]:
        """What is in it by key; nothing where there is no file, or one of another version of the figures."""
        found: dict[str, TrialResult] = {}
        try:
            lines = self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return found
        except OSError as error:
            raise DrrError(f"cannot read the journal {self.path}: {error.strerror or error}") from None
        for line in lines:
            with suppress(ValueError, KeyError, TypeError):
                data = json.loads(line)
                if data["version"] == FIGURES_VERSION:
                    found[data["key"]] = _result(data)
        return found

    def append(self, finished: Iterable[tuple[str, TrialResult]]) -> None:
        """Add trials, and have them on the disk before this returns."""
        lines = b"".join(_line(key, result) for key, result in finished)
        try:
            with self.path.open("ab") as file:
                if file.tell() and not _ends_a_line(self.path):
                    file.write(b"\n")
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise DrrError(f"cannot write the journal {self.path}: {error.strerror or error}") from None


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def _line(key: str, result: TrialResult) -> bytes:
    rows = [[row.cursor_rule, row.policy_class, list(row.values)] for row in result.rows]
    data = {"version": FIGURES_VERSION, "key": key, "rows": rows, "problem": result.problem}
    return json.dumps(data, separators=(",", ":")).encode() + b"\n"


def _result(data: Mapping[str, Any]) -> TrialResult:
    rows = tuple(ClassRow(rule, name, tuple(values)) for rule, name, values in data["rows"])
    return TrialResult(rows, data["problem"])


def run_trial(
    trial: Trial,
    *,
    max_requests: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    words: Callable[[DrrError], str] = str,
) -> TrialResult:
    """Run one trial. What is wrong with its settings is a result, in ``words``, since the others may be fine.

    ``progress(requests over, requests in all)`` may raise to end the run.
    """
    try:
        experiment = trial.experiment()
        return TrialResult(tuple(point_rows(experiment, trial.rules, max_requests=max_requests, progress=progress)))
    except DrrError as error:
        return TrialResult((), words(error))


def run_batch(trials: Sequence[Trial]) -> list[tuple[str, TrialResult]]:
    """Run several trials: what a process of a sweep is given at a time."""
    return [(trial.key, run_trial(trial)) for trial in trials]


def run_sweep(
    sweep: Sweep,
    *,
    journal: Journal | None = None,
    jobs: int = 1,
    backend: Backend = "local",
    scheduler: str = "",
    report: Report | None = None,
) -> SweepResult:
    """Run a sweep with ``jobs`` processes of this machine, or on the Dask ``scheduler`` (``tcp://host:port``).

    Trials that are in the journal are not run again. Raises :class:`DrrError` for a cluster that cannot be reached.
    """
    trials = tuple(sweep.trials())
    known = {} if journal is None else journal.read()
    to_do = {trial.key: trial for trial in trials if trial.key not in known}
    batches = _batches(list(to_do.values()), jobs)
    clock, total = _Clock(len(to_do)), len({trial.key for trial in trials})
    for finished in _finished(batches, jobs, backend, scheduler):
        if journal is not None:
            journal.append(finished)
        known.update(finished)
        if report is not None:
            left = clock.seconds_left(len(finished))
            report(Progress(total - clock.left, total, left))
    return SweepResult(sweep, trials, tuple(known[trial.key] for trial in trials), len(to_do))


class _Clock:
    """Estimates the time that is left from the time the finished trials took."""

    def __init__(self, trials: int) -> None:
        self.left = self._all = trials
        self._started_s = time.monotonic()

    def seconds_left(self, finished: int) -> float:
        self.left -= finished
        per_trial = (time.monotonic() - self._started_s) / (self._all - self.left)
        return per_trial * self.left


def _batches(trials: list[Trial], jobs: int) -> list[list[Trial]]:
    """Small enough that little is lost with a process and all have work till the end."""
    size = max(1, min(MOST_PER_BATCH, len(trials) // (max(jobs, 1) * BATCHES_PER_PROCESS)))
    return [trials[start : start + size] for start in range(0, len(trials), size)]


Batch = list[tuple[str, TrialResult]]


def _finished(batches: list[list[Trial]], jobs: int, backend: Backend, scheduler: str) -> Iterator[Batch]:
    """The results of the batches, in the order in which they are ready."""
    if not batches:
        return iter(())
    if backend == "dask":
        return _on_dask(batches, scheduler)
    if jobs == 1:
        return map(run_batch, ([trial] for batch in batches for trial in batch))
    return _in_processes(batches, jobs)


def _in_processes(batches: list[list[Trial]], jobs: int) -> Iterator[Batch]:
    """In processes that stay for the next sweep of this one."""
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=jobs, backend="loky", return_as="generator_unordered", batch_size=1)
    finished: Iterator[Batch] = parallel(delayed(run_batch)(batch) for batch in batches)
    return finished


def _on_dask(batches: list[list[Trial]], scheduler: str) -> Iterator[Batch]:
    """On a cluster. What a lost worker had is given to another one by the scheduler, and comes back once."""
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise DrrError("Dask is not installed: pip install dask distributed brings it") from None
    if not scheduler:
        raise DrrError("a Dask cluster needs the address of its scheduler, as tcp://127.0.0.1:8786")
    try:
        client = distributed.Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise DrrError(f"no Dask scheduler answers at {scheduler}: {error}") from None
    with client:
        futures = client.map(run_batch, batches, pure=False)
        try:
            for future in distributed.as_completed(futures, loop=client.loop):
                finished: Batch = future.result()
                future.release()
                yield finished
        finally:
            client.cancel(futures)
