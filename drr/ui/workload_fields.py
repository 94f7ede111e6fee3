"""What the form of a stream can hold: every shape with its parameters, and short texts for shares of something."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from drr.errors import WorkloadError
from drr.workload import arrivals, distributions, spec

Kind = Literal["whole", "number", "share", "wholes", "numbers"]


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of a shape: its name in the spec, its label, what it starts with (None: it may be left out)."""

    name: str
    label: str
    kind: Kind
    start: Any
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """One shape: the value it makes and its parameters."""

    make: Callable[..., Any]
    params: tuple[Param, ...] = ()

    def value(self, like: object = None) -> Any:
        """A value to start with; what ``like`` has under the same names is taken over."""
        values = {p.name: getattr(like, p.name, p.start) for p in self.params}
        fits = {p.name: p.start if values[p.name] is None and not p.optional else values[p.name] for p in self.params}
        return self.make(**fits)


def _distribution(typical: int, unit: str) -> dict[str, Shape]:
    """The distributions of so many ``unit``, with numbers to start with that lie around ``typical``."""
    low, high = max(1, typical // 4), typical * 4
    return {
        "fixed": Shape(distributions.Fixed, (Param("value", unit, "whole", typical),)),
        "uniform": Shape(
            distributions.Uniform, (Param("min", "min", "whole", low), Param("max", "max", "whole", high))
        ),
        "lognormal": Shape(
            distributions.Lognormal,
            (
                Param("median", "median", "whole", typical),
                Param("sigma", "sigma", "number", 0.8),
                Param("min", "min", "whole", None, optional=True),
                Param("max", "max", "whole", None, optional=True),
            ),
        ),
        "exponential": Shape(
            distributions.Exponential,
            (Param("mean", "mean", "whole", typical), Param("max", "max", "whole", None, optional=True)),
        ),
        "bimodal": Shape(
            distributions.Bimodal,
            (
                Param("low", "low", "whole", low),
                Param("high", "high", "whole", high),
                Param("high_share", "share of high", "share", 0.2),
                Param("spread", "spread", "share", 0.0),
            ),
        ),
        "zipf": Shape(
            distributions.Zipf,
            (
                Param("exponent", "exponent", "number", 1.2),
                Param("min", "min", "whole", 1),
                Param("max", "max", "whole", high),
                Param("step", "step", "whole", 1),
            ),
        ),
        "empirical": Shape(
            distributions.Empirical,
            (
                Param("values", "values", "wholes", (low, typical, high)),
                Param("shares", "shares", "numbers", None, optional=True),
            ),
        ),
    }


PROMPTS, OUTPUTS = _distribution(512, "tokens"), _distribution(16, "tokens")
THINKING, TURNS = _distribution(1000, "ms"), _distribution(4, "turns")

_RATE = Param("per_second", "per second", "number", 10.0)
ARRIVALS: dict[str, Shape] = {
    "burst": Shape(arrivals.Burst),
    "constant": Shape(arrivals.Constant, (_RATE,)),
    "poisson": Shape(arrivals.Poisson, (_RATE,)),
    "on_off": Shape(
        arrivals.OnOff,
        (_RATE, Param("on_ms", "on, ms", "number", 2000.0), Param("off_ms", "off, ms", "number", 4000.0)),
    ),
    "ramp": Shape(
        arrivals.Ramp,
        (
            Param("from_per_second", "from, per second", "number", 1.0),
            Param("to_per_second", "to, per second", "number", 20.0),
            Param("over_ms", "over, ms", "number", 10_000.0),
        ),
    ),
    "spike": Shape(
        arrivals.Spike,
        (
            _RATE,
            Param("spike_per_second", "spike, per second", "number", 100.0),
            Param("start_ms", "from, ms", "number", 2000.0),
            Param("end_ms", "to, ms", "number", 5000.0),
        ),
    ),
    "diurnal": Shape(
        arrivals.Diurnal,
        (
            _RATE,
            Param("swing", "swing", "share", 0.5),
            Param("period_ms", "period, ms", "number", 60_000.0),
            Param("peak_ms", "peak at, ms", "number", 0.0),
        ),
    ),
    "closed_loop": Shape(arrivals.ClosedLoop, (Param("clients", "clients", "whole", 8),)),
}
_GROUPS = Param("groups", "groups", "whole", 1)
CACHE_HITS: dict[str, Shape] = {
    "fixed": Shape(spec.FixedHits, (Param("share", "share", "share", 0.5), _GROUPS)),
    "beta": Shape(
        spec.BetaHits, (Param("alpha", "alpha", "number", 2.0), Param("beta", "beta", "number", 3.0), _GROUPS)
    ),
    "sessions": Shape(
        spec.SessionHits,
        (Param("max_prompt_tokens", "longest prompt", "whole", 131_072),),
    ),
}


def _sessions(**values: Any) -> spec.SessionHits:
    return spec.SessionHits(**{"turns": distributions.Uniform(2, 8), **values})


CACHE_HITS["sessions"] = replace(CACHE_HITS["sessions"], make=_sessions)


def shape_name(value: object, shapes: Mapping[str, Shape]) -> str:
    """The name of the shape that a value has."""
    if isinstance(value, spec.SessionHits):
        return "sessions"
    return next(name for name, shape in shapes.items() if shape.make is type(value))


# Shares of something as one line of text: "0.1: 0, 1.0" or "0.02: 1; 0.1: 2"


@dataclass(frozen=True, slots=True)
class Part:
    """A constraint or priority that a share of the requests has: how it is written, how it is read."""

    name: str
    label: str
    example: str
    write: Callable[[Any], str]
    read: Callable[[str], Any]


def _split(text: str) -> list[tuple[float, list[str]]]:
    found = []
    for item in filter(None, (piece.strip() for piece in text.split(";"))):
        share, colon, rest = item.partition(":")
        names = [each for each in re.split(r"[,\s]+", rest.strip()) if each]
        try:
            value = float(share)
        except ValueError:
            value = -1.0
        if not colon or not names or not 0 <= value <= 1:
            raise WorkloadError(f"{item!r} is no share of something")
        found.append((value, names))
    return found


def _one(text: str) -> tuple[float, list[str]]:
    found = _split(text)
    if len(found) != 1:
        raise WorkloadError("one share is allowed here")
    return found[0]


def _endpoint(text: str) -> tuple[int, int | None]:
    match = re.fullmatch(r"([0-9]{1,9})(?:\.([0-9]{1,9}))?", text)
    if match is None:
        raise WorkloadError(f"{text!r} names no worker")
    return int(match[1]), int(match[2]) if match[2] is not None else None


def _pinned(text: str) -> spec.Pinned:
    share, names = _one(text)
    return spec.Pinned(share, tuple(map(_endpoint, names)))


def _allowed(text: str) -> spec.AllowedWorkers:
    share, names = _one(text)
    return spec.AllowedWorkers(share, tuple(_endpoint(name)[0] for name in names))


def _taints(text: str) -> spec.RequiredTaints:
    share, names = _one(text)
    return spec.RequiredTaints(share, tuple(names))


def _strict(text: str) -> tuple[spec.StrictShare, ...]:
    return tuple(spec.StrictShare(share, _number(names, int)) for share, names in _split(text))


def _jumps(text: str) -> tuple[spec.JumpShare, ...]:
    return tuple(spec.JumpShare(share, _number(names, float)) for share, names in _split(text))


def _number(names: list[str], convert: Callable[[str], Any]) -> Any:
    try:
        (only,) = names
        return convert(only)
    except ValueError:
        raise WorkloadError(f"{', '.join(names)!r} is not one number") from None


def _write_workers(value: spec.Pinned) -> str:
    return f"{value.share:g}: " + ", ".join(str(w) if r is None else f"{w}.{r}" for w, r in value.workers)


PARTS = (
    Part("pinned", "Pinned to workers", "0.1: 0, 1.0", _write_workers, _pinned),
    Part(
        "allowed_workers",
        "Allowed workers",
        "0.2: 0, 1",
        lambda value: f"{value.share:g}: " + ", ".join(map(str, value.workers)),
        _allowed,
    ),
    Part(
        "required_taints",
        "Required taints",
        "0.05: large-memory",
        lambda value: f"{value.share:g}: " + ", ".join(value.taints),
        _taints,
    ),
    Part(
        "strict_priority",
        "Strict priority",
        "0.02: 1",
        lambda value: "; ".join(f"{each.share:g}: {each.level}" for each in value),
        _strict,
    ),
    Part(
        "priority_jump",
        "Priority jump, s",
        "0.1: 5; 0.1: 0.5",
        lambda value: "; ".join(f"{each.share:g}: {each.seconds:g}" for each in value),
        _jumps,
    ),
)
