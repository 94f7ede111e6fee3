"""Sweeps: one experiment at many settings, each with several seeds, as values that say what is to be run.

What is swept is an :class:`Axis`, a path and its values. Paths are those of the policy text with names in the place
of numbers (``policy_classes.premium.quantum``, ``uncached_isl_buckets.large.min_tokens``), those of the workload spec
alike (``streams.regular.arrivals.per_second``), and ``cursor_rule``, ``arbiter``, ``workers``, ``dp_size``,
``speedup``, ``seed``, ``first_rows`` (of a trace) and ``engine.NAME``. Running: :mod:`drr.analysis.sweep_running`.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from drr.analysis.compare import MOST_SEEDS, with_seed
from drr.errors import DrrError, WorkloadError
from drr.policy.diagnostics import joined
from drr.policy.edits import joined_path, set_value
from drr.policy.fields import closest
from drr.policy.reading import load_policy
from drr.policy.schema import PolicyDocument
from drr.scheduler.arbiters import ARBITERS
from drr.scheduler.ring import CURSOR_RULES, CursorRule
from drr.simulation.engine_options import EngineOptions
from drr.workload.experiment import Experiment, SpecWorkload, TraceWorkload
from drr.workload.spec_reading import load_spec

Value = int | float | str
Spacing = Literal["linear", "log"]

MAX_POINTS = 100_000
"""Most points of one sweep."""
_WHOLE = {"workers": 1, "dp_size": 1, "seed": 0, "first_rows": 1}
_CHOICES = {"cursor_rule": CURSOR_RULES, "arbiter": tuple(ARBITERS)}
_POLICY_LISTS = {"policy_classes": "classes", "uncached_isl_buckets": "buckets"}


@dataclass(frozen=True, slots=True)
class Span:
    """Everything from ``low`` to ``high``; a random sample draws from it instead of from the values of its axis."""

    low: float
    high: float
    spacing: Spacing = "linear"
    is_whole: bool = False

    def values(self, steps: int) -> tuple[Value, ...]:
        """So many values from end to end, evenly spaced (or by equal factors); whole ones come once each."""
        if steps < 2 or self.low == self.high:
            return (self._given(self.low),)
        shares = [step / (steps - 1) for step in range(steps)]
        return tuple(dict.fromkeys(self._at(share) for share in shares))

    def drawn(self, dice: random.Random) -> Value:
        """One value by chance."""
        return self._at(dice.random())

    def _at(self, share: float) -> Value:
        if self.spacing == "log":
            value = math.exp(math.log(self.low) + share * (math.log(self.high) - math.log(self.low)))
        else:
            value = self.low + share * (self.high - self.low)
        # The ends are meant exactly, whatever a logarithm makes of them.
        return self._given(min(max(value, self.low), self.high) if 0 < share < 1 else (self.low, self.high)[share > 0])

    def _given(self, value: float) -> Value:
        short = float(f"{value:.12g}")
        return round(value) if self.is_whole or short.is_integer() else short


@dataclass(frozen=True, slots=True)
class Axis:
    """One thing that is varied, and the values it takes."""

    path: str
    values: tuple[Value, ...]
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class RandomSample:
    """So many points by chance instead of the whole grid; equal seeds give equal points."""

    points: int
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Point:
    """One setting of all axes: what to change of the base experiment, in the order of the axes."""

    number: int
    settings: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """One experiment of a sweep: a point with one seed, and the cursor rules under which it is run.

    ``key`` is a digest of all of that; trials with equal keys have equal results.
    """

    point: Point
    seed: int
    base: Experiment
    rules: tuple[CursorRule, ...]
    key: str

    def experiment(self) -> Experiment:
        """The base with everything set; raises :class:`DrrError` where a setting cannot be made."""
        made = with_settings(self.base, self.point.settings)
        return made if self.seed == own_seed(made) else with_seed(made, self.seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A base experiment, the axes, how they are combined, and how often each point is run with another seed.

    Every point is run under both cursor rules, unless ``cursor_rule`` is an axis or the arbiter knows none.
    """

    base: Experiment
    axes: tuple[Axis, ...]
    sample: RandomSample | None = None
    replications: int = 1

    def __post_init__(self) -> None:
        paths = [axis.path for axis in self.axes]
        twice = [path for path in paths if paths.count(path) > 1]
        if twice:
            raise WorkloadError(f"the sweep has two axes {twice[0]!r}; each once is allowed")
        if not 1 <= self.replications <= MOST_SEEDS:
            raise WorkloadError(f"{self.replications:,} replications; 1 to {MOST_SEEDS} are allowed")
        seeds = [value for axis in self.axes if axis.path == "seed" for value in axis.values]
        if not all(isinstance(value, int) for value in seeds):
            raise WorkloadError("a seed is a whole number of at least 0")
        if self.replications > 1 and seeds:
            raise WorkloadError("seeds are an axis of this sweep, so it cannot have replications too; leave one out")
        if not 1 <= self.size <= MAX_POINTS:
            raise WorkloadError(f"the sweep has {self.size:,} points; 1 to {MAX_POINTS:,} are allowed")

    @property
    def size(self) -> int:
        """Number of points."""
        return math.prod(len(axis.values) for axis in self.axes) if self.sample is None else self.sample.points

    def points(self) -> list[Point]:
        """All points: the grid with the last axis fastest, or the random sample in the order it was drawn."""
        paths = [axis.path for axis in self.axes]
        if self.sample is None:
            rows: Iterator[Sequence[Value]] = itertools.product(*(axis.values for axis in self.axes))
        else:
            dice = random.Random(self.sample.seed)
            rows = ([_drawn(axis, dice) for axis in self.axes] for _ in range(self.sample.points))
        return [Point(i, tuple(zip(paths, row, strict=True))) for i, row in enumerate(rows)]

    def trials(self) -> Iterator[Trial]:
        """Every experiment of the sweep, points in order, seeds within a point."""
        base_key, own = self.base.key, own_seed(self.base)
        for point in self.points():
            settings = dict(point.settings)
            rules = self._rules(settings)
            first = settings.get("seed", own)
            assert isinstance(first, int), "values of an axis of seeds are whole numbers"
            for seed in range(first, first + self.replications):
                text = json.dumps([base_key, sorted(settings.items()), seed, rules])
                yield Trial(point, seed, self.base, rules, hashlib.sha256(text.encode()).hexdigest())

    def _rules(self, settings: Mapping[str, Value]) -> tuple[CursorRule, ...]:
        rule = settings.get("cursor_rule")
        if rule is None and settings.get("arbiter", self.base.arbiter) == "drr":
            return CURSOR_RULES
        return tuple(each for each in CURSOR_RULES if each == (rule or self.base.cursor_rule))


def _drawn(axis: Axis, dice: random.Random) -> Value:
    return dice.choice(axis.values) if axis.span is None else axis.span.drawn(dice)


def own_seed(experiment: Experiment) -> int:
    """The seed of an experiment's requests; with it :func:`with_seed` is not needed, and changes nothing of them."""
    workload = experiment.workload
    return load_spec(workload.text).seed if isinstance(workload, SpecWorkload) else experiment.seed


# Changing one thing of an experiment


def with_settings(experiment: Experiment, settings: Sequence[tuple[str, Value]]) -> Experiment:
    """The experiment with several things changed; see :func:`with_setting`."""
    for path, value in settings:
        experiment = with_setting(experiment, path, value)
    return experiment


def with_setting(experiment: Experiment, path: str, value: Value) -> Experiment:
    """The experiment with one thing changed. The policy and the workload spec stay as they are written but for it.

    Raises :class:`DrrError` where there is nothing at ``path``, or where it does not take the value.
    """
    head = path.split(".")[0].split("[")[0]
    if path in _WHOLE:
        return _with_whole(experiment, path, value)
    if path in _CHOICES:
        if value not in _CHOICES[path]:
            raise WorkloadError(f"{path} is {value!r}; {', '.join(_CHOICES[path])} are allowed")
        return replace(experiment, **{path: value})  # type: ignore[arg-type]  # one of the choices of this field
    if path == "speedup":
        if isinstance(value, str) or not 0 < value < math.inf:
            raise WorkloadError(f"speedup is {value!r}; a number above 0 is allowed")
        return replace(experiment, arrival_speedup_ratio=float(value))
    if head == "engine":
        name = path.removeprefix("engine.")
        options = EngineOptions.from_mapping({name: value})
        return replace(experiment, engine=replace(experiment.engine, **{name: getattr(options, name)}))
    if head in (*_POLICY_LISTS, "models"):
        text = set_value(experiment.policy_text, policy_path(experiment, path), value)
        changed = replace(experiment, policy_text=text)
        changed.profile()
        return changed
    if head in ("streams", "trace_block_size"):
        return _with_spec_value(experiment, path, value)
    raise WorkloadError(_unknown(path))


def _with_whole(experiment: Experiment, path: str, value: Value) -> Experiment:
    least = _WHOLE[path]
    if not isinstance(value, int) or value < least:
        raise WorkloadError(f"{path} is {value!r}; a whole number of at least {least} is allowed")
    if path == "seed":
        return with_seed(experiment, value)
    if path != "first_rows":
        return replace(experiment, **{path: value})  # type: ignore[arg-type]  # a number of this field
    if not isinstance(experiment.workload, TraceWorkload):
        raise WorkloadError("first_rows takes part of a trace, and this workload is none")
    return replace(experiment, workload=replace(experiment.workload, first_rows=value))


def _unknown(path: str) -> str:
    known = [*_CHOICES, *_WHOLE, "speedup", "engine.NAME", "policy_classes.NAME.KEY", "streams.NAME.KEY"]
    known += ["uncached_isl_buckets.NAME.min_tokens"]
    hint = closest(path, known)
    return f"there is nothing to vary at {path!r}; allowed are {', '.join(known)}" + (
        f"; did you mean {hint}?" if hint else ""
    )


def policy_path(experiment: Experiment, path: str) -> str:
    """Where a path with names stands in the policy text, as :func:`drr.policy.edits.set_value` names places."""
    list_name, dot, rest = path.partition(".")
    if list_name not in _POLICY_LISTS or not dot:
        return path  # written with numbers, or within `models`
    document = load_policy(experiment.policy_text)
    profile = document.profile_for(experiment.model)
    name, _, key = rest.rpartition(".")
    items = profile.classes if list_name == "policy_classes" else profile.buckets
    names = [item.name for item in items]
    if name not in names:
        what = "class" if list_name == "policy_classes" else "cache bucket"
        hint = closest(name, names)
        raise WorkloadError(
            f"{path}: the policy has no {what} {name!r}; it has {', '.join(names) or 'none'}"
            + (f"; did you mean {hint}?" if hint else "")
        )
    return f"{joined_path(profile_path(document, experiment.model), list_name)}[{names.index(name)}].{key}"


def profile_path(document: PolicyDocument, model: str | None) -> str:
    """Where the profile that serves a model stands in the policy text: "" for the root."""
    return "" if model is None or model not in document.models else joined("models", model)


def _with_spec_value(experiment: Experiment, path: str, value: Value) -> Experiment:
    workload = experiment.workload
    if not isinstance(workload, SpecWorkload):
        raise WorkloadError(f"{path}: this workload is no workload spec, so it has no streams to vary")
    place = path
    if path.startswith("streams."):
        rest = path.removeprefix("streams.")
        names = [stream.name for stream in load_spec(workload.text).streams]
        index = next((i for i, name in enumerate(names) if rest.startswith(f"{name}.")), None)
        if index is None:
            raise WorkloadError(f"{path}: the workload has no such stream; it has {', '.join(names)}")
        place = f"streams[{index}].{rest.removeprefix(f'{names[index]}.')}"
    try:
        text = set_value(workload.text, place, value)
    except DrrError as error:
        raise WorkloadError(f"{path}: {str(error).replace('the policy has', 'the workload has')}") from None
    load_spec(text)
    return replace(experiment, workload=SpecWorkload(text))
