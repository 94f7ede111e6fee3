"""The options of the mock engine, by the names the real one uses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches

from drr.errors import EngineOptionError


@dataclass(frozen=True, slots=True)
class FixedTiming:
    """Timing model that takes the same time for every prefill and every decode part of a pass."""

    prefill_ms: float
    decode_ms: float


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """One aggregated, vLLM-like mock engine. Token and block figures are per endpoint.

    A speed-up of 0 means none, as it does for the real mock engine.
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
    timing_model: FixedTiming | None = None

    def __post_init__(self) -> None:
        for name in ("max_num_seqs", "max_num_batched_tokens", "num_gpu_blocks"):
            _require_count(name, getattr(self, name))
        _require_count("block_size", self.block_size, least=2)
        if self.max_model_len is not None:
            _require_count("max_model_len", self.max_model_len)
        for name in ("speedup_ratio", "decode_speedup_ratio"):
            value = getattr(self, name)
            if not math.isfinite(value) or value < 0:
                raise EngineOptionError(
                    f"engine option {name}: {value!r} given, a finite number of at least 0 is allowed"
                )

    @classmethod
    def from_mapping(cls, options: Mapping[str, object]) -> EngineOptions:
        """Options as the mock engine takes them (a mapping of its names); unknown names and wrong types are errors.

        ``backend: vllm`` is accepted, it is the engine that is modelled. ``timing_model`` is
        ``{type: fixed, prefill_ms, decode_ms}`` or ``{type: polynomial}``.
        """
        known = {f.name: f for f in fields(cls)}
        values: dict[str, object] = {}
        for name, value in options.items():
            if name == "backend":
                if value != "vllm":
                    raise EngineOptionError(f"engine option backend: {value!r} given, only 'vllm' is modelled")
            elif name not in known:
                near = get_close_matches(name, known, 1)
                hint = f"; did you mean {near[0]}?" if near else ""
                raise EngineOptionError(f"engine option {name!r} is unknown; known are {', '.join(known)}{hint}")
            elif value is not None:
                values[name] = _convert(name, value)
        return cls(**values)  # type: ignore[arg-type]  # every value was converted by its own name


def _require_count(name: str, value: object, *, least: int = 1) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise EngineOptionError(f"engine option {name}: {value!r} given, a whole number of at least {least} is allowed")


def _convert(name: str, value: object) -> object:
    if name == "timing_model":
        return _timing(value)
    if name.startswith("enable_"):
        if not isinstance(value, bool):
            raise EngineOptionError(f"engine option {name}: {value!r} given, true or false is allowed")
        return value
    if name.endswith("_ratio"):
        return _number(name, value)
    _require_count(name, value)
    return value


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise EngineOptionError(f"engine option {name}: {value!r} given, a number is allowed")
    return float(value)


def _timing(value: object) -> FixedTiming | None:
    if isinstance(value, FixedTiming):
        return value
    if isinstance(value, Mapping):
        kind = value.get("type")
        if kind == "polynomial" and set(value) == {"type"}:
            return None
        if kind == "fixed" and set(value) == {"type", "prefill_ms", "decode_ms"}:
            times = [_number(f"timing_model.{key}", value[key]) for key in ("prefill_ms", "decode_ms")]
            if all(math.isfinite(t) and t >= 0 for t in times):
                return FixedTiming(*times)
    raise EngineOptionError(
        f"engine option timing_model: {value!r} given, allowed are {{type: polynomial}} and "
        "{type: fixed, prefill_ms: number, decode_ms: number} with finite times of at least 0"
    )
