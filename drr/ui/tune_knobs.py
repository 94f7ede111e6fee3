"""What can be varied of an experiment on the Tune page, each with the value it has and a range worth a look."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from drr.analysis.sweep import Axis, Spacing, Span
from drr.charts.tune import SettingAxis
from drr.errors import DrrError
from drr.policy.schema import PolicyClass
from drr.workload.experiment import Experiment, SpecWorkload, TypedWorkload
from drr.workload.spec_reading import load_spec

_LIMITS = {
    "request_queue_limit_per_worker": "waiting requests per worker at most",
    "raw_isl_token_queue_limit_per_worker": "waiting prompt tokens per worker at most",
    "cached_token_queue_limit_per_worker": "waiting cached tokens per worker at most",
}


@dataclass(frozen=True, slots=True)
class Knob:
    """One number: where it stands (see :mod:`drr.analysis.sweep`), what it is called, its value now, a range."""

    path: str
    title: str
    now: float
    low: float
    high: float
    spacing: Spacing = "log"
    is_whole: bool = True

    def axis(self, low: float, high: float, steps: int) -> Axis:
        """The axis from ``low`` to ``high``; where the value of now lies between, the nearest one gives way to it."""
        spacing: Spacing = self.spacing if low > 0 else "linear"
        values = list(Span(low, high, spacing, self.is_whole).values(steps))
        now = int(self.now) if float(self.now).is_integer() else self.now
        if low < now < high and now not in values:
            inner = range(1, len(values) - 1)
            if inner:
                values[min(inner, key=lambda place: abs(float(values[place]) - now))] = now
            else:
                values.append(now)
        return Axis(self.path, tuple(sorted(values, key=float)))

    def setting(self, axis: Axis) -> SettingAxis:
        """How the axis is drawn."""
        low = min(float(value) for value in axis.values)
        return SettingAxis(axis.path, self.title, self.spacing == "log" and low > 0, self.now)


def knobs(experiment: Experiment) -> list[Knob]:
    """Everything that can be varied, quanta first; empty where the experiment cannot be read."""
    try:
        classes = experiment.profile().classes
        found = [*_of_classes(classes), *_of_buckets(experiment), *_of_streams(experiment)]
    except DrrError:
        return []
    found.append(Knob("workers", "workers", experiment.workers, 1, max(4, 2 * experiment.workers), "linear"))
    if not isinstance(experiment.workload, TypedWorkload):
        speed = experiment.arrival_speedup_ratio
        found.append(Knob("speedup", "arrival speed-up", speed, speed / 4, speed * 4, is_whole=False))
        most = experiment.engine.max_num_seqs
        found.append(Knob("engine.max_num_seqs", "sequences per worker", most, max(1, most // 4), most * 4))
    return found


def drawn_axis(base: Experiment, axis: Axis) -> SettingAxis | None:
    """How an axis of any sweep is drawn; None where it is none of numbers."""
    if axis.path == "seed" or any(isinstance(value, str) for value in axis.values):
        return None
    known = next((knob for knob in knobs(base) if knob.path == axis.path), None)
    return SettingAxis(axis.path, axis.path, False, None) if known is None else known.setting(axis)


def _of_classes(classes: tuple[PolicyClass, ...]) -> Iterator[Knob]:
    for each in classes:
        path = f"policy_classes.{each.name}."
        yield Knob(f"{path}quantum", f"{each.name}: quantum, tokens", *_around(each.quantum, 8))
    for each in classes:
        path = f"policy_classes.{each.name}."
        if each.prefill_busy_threshold is not None:
            now = each.prefill_busy_threshold
            title = f"{each.name}: busy above, prefill tokens"
            if now:
                yield Knob(f"{path}prefill_busy_threshold", title, *_around(now, 4))
            else:
                yield Knob(f"{path}prefill_busy_threshold", title, 0, 0, 4096, "linear")
        if each.prefill_busy_threshold_frac:
            frac = each.prefill_busy_threshold_frac
            title = f"{each.name}: busy above, part of a batch"
            yield Knob(f"{path}prefill_busy_threshold_frac", title, frac, frac / 4, frac * 4, is_whole=False)
        for key, title in _LIMITS.items():
            limit = getattr(each, key)
            if limit:
                yield Knob(f"{path}{key}", f"{each.name}: {title}", *_around(limit, 8))


def _around(now: int, factor: int) -> tuple[int, int, int]:
    """The value, and the range from so many times less to so many times more."""
    return now, max(1, now // factor), now * factor


def _of_buckets(experiment: Experiment) -> Iterator[Knob]:
    for each in experiment.profile().buckets:
        if each.min_tokens:
            path = f"uncached_isl_buckets.{each.name}.min_tokens"
            yield Knob(path, f"bucket {each.name}: from, uncached tokens", *_around(each.min_tokens, 4))


def _of_streams(experiment: Experiment) -> Iterator[Knob]:
    if not isinstance(experiment.workload, SpecWorkload):
        return
    for stream in load_spec(experiment.workload.text).streams:
        rate = getattr(stream.arrivals, "per_second", None)
        if rate:
            path = f"streams.{stream.name}.arrivals.per_second"
            yield Knob(path, f"{stream.name}: requests per second", rate, rate / 4, rate * 4, is_whole=False)
        elif stream.requests:
            yield Knob(f"streams.{stream.name}.requests", f"{stream.name}: requests", *_around(stream.requests, 4))
