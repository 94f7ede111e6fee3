"""The options of the mock engine, by the names the real one uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from difflib import get_close_matches
from reprlib import repr as _shown

from drr.errors import EngineOptionError

LONGEST_NAME = 60
"""A longer name is no slip of a known one."""

SPEEDUPS = "a number from 1e-9 to 1e9"
LARGEST_COUNT = 2**63
LARGEST_COEFFICIENT = 1e9
LONGEST_PART_MS = 1e12
"""Within these bounds every duration and every sum of them is a finite double."""


def in_speedup_range(value: float) -> bool:
    """Whether a speed-up is one of :data:`SPEEDUPS`."""
    return 1e-9 <= value <= 1e9


@dataclass(frozen=True, slots=True)
class FixedTiming:
    """Timing model that takes the same time for every prefill and every decode part of a pass: 0 to 1e12 ms."""

    prefill_ms: float
    decode_ms: float


@dataclass(frozen=True, slots=True)
class PolynomialTiming:
    """Timing model of quadratics (c2, c1, c0), in ms: prefill over the tokens of a pass, decode over the pool's fill.

    The fill is from 0 to 1. The defaults are the mock engine's own; other numbers (-1e9 to 1e9) are a deployment of
    one's own, which the real offline replay does not know.
    """

    prefill: tuple[float, float, float] = (4.209989e-07, 1.518344e-02, 16.50142)
    decode: tuple[float, float, float] = (-25.74, 54.01, 5.74)


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """One aggregated, vLLM-like mock engine. Token and block figures are per endpoint.

    A speed-up of 0 means none, as it does for the real mock engine; others are from 1e-9 to 1e9, counts up to 2^63.
    """

    max_num_seqs: int = 256
    max_num_batched_tokens: int = 8192
    block_size: int = 64
    num_gpu_blocks: int = 16384
    enable_prefix_caching: bool = True
    enable_chunked_prefill: bool = True
    speedup_ratio: float = 1.0
    decode_speedup_ratio: float = 1.0
    max_model_len: int | None = None
    timing_model: FixedTiming | PolynomialTiming | None = None

    def __post_init__(self) -> None:
        for name in ("max_num_seqs", "max_num_batched_tokens", "num_gpu_blocks"):
            _require_count(name, getattr(self, name))
        # The real engine refuses blocks of one token as well.
        _require_count("block_size", self.block_size, least=2)
        if self.max_model_len is not None:
            _require_count("max_model_len", self.max_model_len)
        for name in ("speedup_ratio", "decode_speedup_ratio"):
            value = getattr(self, name)
            if value and not in_speedup_range(value):
                raise EngineOptionError(f"engine option {name}: {_shown(value)} given, 0 or {SPEEDUPS} is allowed")
        if self.timing_model is not None:
            _require_timing(self.timing_model)

    @classmethod
    def from_mapping(cls, options: Mapping[str, object]) -> EngineOptions:
        """Options as the mock engine takes them (a mapping of its names); unknown names and wrong types are errors.

        ``backend: vllm`` is accepted, it is the engine that is modelled. ``timing_model`` is
        ``{type: fixed, prefill_ms, decode_ms}`` or ``{type: polynomial}``, the latter with optional ``prefill`` and
        ``decode``: lists of three numbers.
        """
        known = {f.name: f for f in fields(cls)}
        values: dict[str, object] = {}
        for name, value in options.items():
            if name == "backend":
                if value != "vllm":
                    raise EngineOptionError(f"engine option backend: {_shown(value)} given, only 'vllm' is modelled")
            elif name not in known:
                near = get_close_matches(str(name)[:LONGEST_NAME], known, 1)
                hint = f"; did you mean {near[0]}?" if near else ""
                raise EngineOptionError(f"engine option {_shown(name)} is unknown; known are {', '.join(known)}{hint}")
            elif value is not None:
                values[name] = _convert(name, value)
        return cls(**values)  # type: ignore[arg-type]  # every value was converted by its own name


def _require_count(name: str, value: object, *, least: int = 1) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= LARGEST_COUNT:
        raise EngineOptionError(
            f"engine option {name}: {_shown(value)} given, a whole number from {least} to 2^63 is allowed"
        )


def _require_timing(timing: FixedTiming | PolynomialTiming) -> None:
    is_fixed = isinstance(timing, FixedTiming)
    low, high = (0.0, LONGEST_PART_MS) if is_fixed else (-LARGEST_COEFFICIENT, LARGEST_COEFFICIENT)
    for name, value in asdict(timing).items():
        if not all(low <= number <= high for number in ([value] if is_fixed else value)):
            what = "a number" if is_fixed else "a list of three numbers"
            raise EngineOptionError(
                f"engine option timing_model.{name}: {_shown(value)} given, {what} from {low:g} to {high:g} is allowed"
            )


def _convert(name: str, value: object) -> object:
    if name == "timing_model":
        return _timing(value)
    if name.startswith("enable_"):
        if not isinstance(value, bool):
            raise EngineOptionError(f"engine option {name}: {_shown(value)} given, true or false is allowed")
        return value
    if name.endswith("_ratio"):
        return _number(name, value)
    return value


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise EngineOptionError(f"engine option {name}: {_shown(value)} given, a number is allowed")
    try:
        return float(value)
    except OverflowError:
        raise EngineOptionError(f"engine option {name}: the number is too large") from None


def _timing(value: object) -> FixedTiming | PolynomialTiming | None:
    if isinstance(value, FixedTiming | PolynomialTiming):
        return value
    if isinstance(value, Mapping):
        rest = {key: item for key, item in value.items() if key != "type"}
        if value.get("type") == "polynomial" and set(rest) <= {"prefill", "decode"}:
            return PolynomialTiming(**{key: _quadratic(key, item) for key, item in rest.items()}) if rest else None
        if value.get("type") == "fixed" and set(rest) == {"prefill_ms", "decode_ms"}:
            return FixedTiming(*(_number(f"timing_model.{key}", rest[key]) for key in ("prefill_ms", "decode_ms")))
    raise EngineOptionError(
        f"engine option timing_model: {_shown(value)} given, allowed are {{type: polynomial}}, with lists of three "
        "numbers prefill and decode or without, and {type: fixed, prefill_ms: number, decode_ms: number}"
    )


def _quadratic(name: str, value: object) -> tuple[float, float, float]:
    if isinstance(value, list | tuple) and len(value) == 3:
        c2, c1, c0 = (_number(f"timing_model.{name}", item) for item in value)
        return c2, c1, c0
    raise EngineOptionError(
        f"engine option timing_model.{name}: {_shown(value)} given, a list of three numbers is allowed"
    )


def timing_mapping(timing: FixedTiming | PolynomialTiming | None) -> dict[str, object]:
    """A timing model as :meth:`EngineOptions.from_mapping` reads it."""
    if timing is None:
        return {"type": "polynomial"}
    kind = "fixed" if isinstance(timing, FixedTiming) else "polynomial"
    return {"type": kind, **{key: list(v) if isinstance(v, tuple) else v for key, v in asdict(timing).items()}}
