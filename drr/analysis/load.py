"""How much work a workload brings to the workers, said before it runs."""

from __future__ import annotations

from dataclasses import dataclass

from drr.analysis.explain_words import verb
from drr.analysis.words import counted
from drr.simulation.engine_options import EngineOptions
from drr.simulation.timing import PassTiming


@dataclass(frozen=True, slots=True)
class OfferedLoad:
    """What arrives: requests, their prompt tokens, the seconds they arrive in (0: all at once).

    ``closed_loop_clients`` wait for their answers, so the work they bring adapts to the workers.
    """

    requests: float
    input_tokens: float
    seconds: float
    closed_loop_clients: int = 0


def prefill_seconds(load: OfferedLoad, engine: EngineOptions) -> float:
    """Prefill work of a load for one endpoint, when its passes are as full as the engine allows and nothing is cached.

    A pass takes at most ``max_num_batched_tokens``, of at most ``max_num_seqs`` requests of mean length.
    """
    if not load.requests or not load.input_tokens:
        return 0.0
    mean = load.input_tokens / load.requests
    seats = min(engine.max_num_seqs, load.requests)
    tokens = max(1, round(min(engine.max_num_batched_tokens, mean * seats, load.input_tokens)))
    return load.input_tokens / tokens * PassTiming(engine).prefill_ms(1, tokens, 0) / 1000.0


def load_sentence(load: OfferedLoad, engine: EngineOptions, *, workers: int, dp_size: int = 1) -> str:
    """One sentence on what a workload asks of the workers."""
    if not load.requests:
        return "The workload brings no request."
    seconds = prefill_seconds(load, engine)
    who = counted(workers, "worker")
    if dp_size > 1:
        who += f" of {dp_size:,} ranks"
    each = seconds / (workers * dp_size)
    if load.closed_loop_clients and load.seconds <= 0:
        clients = load.closed_loop_clients
        sends = f"{counted(clients, 'client')} {verb(clients, 'sends', 'send')}"
        return (
            f"{sends} one request after the other: the prefill of all {round(load.requests):,} takes "
            f"{who} at least {_time(each)}."
        )
    if load.seconds <= 0:
        return (
            f"All {round(load.requests):,} requests come at once: the prefill alone keeps {who} busy "
            f"for about {_time(each)}."
        )
    share = each / load.seconds
    rate = _rate(load.requests / load.seconds)
    if share <= 1:
        return f"At {rate} requests/s the prefill alone keeps {who} {share * 100:.0f} % busy."
    return (
        f"At {rate} requests/s the prefill alone is {share:.1f} times what {who} can do: "
        "requests pile up as long as they come."
    )


def _rate(per_second: float) -> str:
    return f"{per_second:,.0f}" if per_second >= 100 else f"{per_second:,.3g}"


def _time(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:,.0f} ms"
    if seconds < 120:
        return f"{seconds:,.1f} s"
    return f"{seconds / 60:,.0f} minutes" if seconds < 7200 else f"{seconds / 3600:,.1f} hours"
