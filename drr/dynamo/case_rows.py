"""The trace rows of a random replay case: when, how long, which content, which class."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from drr.dynamo.case_traits import Traits

_OWN_ID = 100_000
"""Block ids of a row's own content start at its line number times this; ids of shared content lie above all of them."""
_SHARED_ID = 1_000_000_000


def draw_rows(rng: Random, traits: Traits, *, engine: Mapping[str, Any], trace_block_size: int) -> list[dict[str, Any]]:
    """Between 20 and 150 rows in the order of their timestamps, or shuffled now and then."""
    count = rng.choice((rng.randint(20, 60), rng.randint(20, 150)))
    times = _draw_times(rng, traits, count)
    lengths = _draw_lengths(rng, traits, count, engine["block_size"])
    headers = _headers(rng, traits)
    rows: list[dict[str, Any]] = []
    for line, (time_ms, length) in enumerate(zip(times, lengths, strict=True)):
        blocks = -(-length // trace_block_size)
        row: dict[str, Any] = {
            "timestamp": time_ms,
            "input_length": length,
            "output_length": _draw_output(rng, traits.outputs[0]),
            "hash_ids": _draw_blocks(rng, traits, line, blocks),
        }
        header = rng.choice(headers)
        if header is not None:
            row["policy_class"] = header
        if traits.priorities[0]:
            if rng.random() < 0.5:
                row["priority"] = rng.choice((-1, 0, 1, 2, 3, 5, 20))
            if rng.random() < 0.3:
                row["strict_priority"] = rng.randint(0, 2)
        rows.append(row)
    if traits.turns[0]:
        _group_into_sessions(rng, traits, rows, trace_block_size)
    elif rng.random() < 0.15:
        rng.shuffle(rows)
    return rows


def _draw_times(rng: Random, traits: Traits, count: int) -> list[float | int]:
    start = rng.choice((0, 0, 17, 34.188, 1_700_000_000_123))
    gap_ms = rng.choice((2.0, 10.0, 40.0, 150.0))
    if traits.arrivals[0] == "at once":
        return [start] * count
    time_ms = float(start)
    times: list[float | int] = []
    for _ in range(count):
        if traits.arrivals[0] == "poisson":
            time_ms += rng.expovariate(1 / gap_ms)
        elif rng.random() < 0.2:
            time_ms += rng.randint(1, 10) * gap_ms
        times.append(round(time_ms, 3))
    return [int(t) for t in times] if rng.random() < 0.3 else times


def _draw_lengths(rng: Random, traits: Traits, count: int, block_size: int) -> list[int]:
    low, high = rng.choice(((1, 300), (50, 900), (16, 3000), (500, 6000)))
    if traits.sharing[0] == "aligned":
        choices = [block_size * i for i in range(1, max(3, high // block_size))]
        few = rng.sample(choices, min(len(choices), rng.randint(2, 12)))
        return [rng.choice(few) if rng.random() < 0.8 else rng.randint(low, high) for _ in range(count)]
    if traits.lengths[0] == "equal":
        few = [rng.randint(low, high) for _ in range(rng.randint(1, 6))]
        return [rng.choice(few) for _ in range(count)]
    return rng.sample(range(low, high), count)


def _draw_output(rng: Random, kind: str) -> int:
    if kind == "one":
        return 1
    if kind == "some zero" and rng.random() < 0.4:
        return 0
    return rng.randint(20, 120) if kind == "long" else rng.randint(1, 50)


def _draw_blocks(rng: Random, traits: Traits, line: int, blocks: int) -> list[int]:
    """Content of a prompt: leading blocks of a group where prompts share any, then blocks of its own."""
    sharing = traits.sharing[0]
    shared = 0
    if sharing in ("prefixes", "aligned") and rng.random() < 0.85:
        shared = blocks if sharing == "aligned" or rng.random() < 0.3 else rng.randint(0, blocks)
    group = min(rng.randint(0, 5), rng.randint(0, 5))
    surplus = rng.choice((0, 0, 0, 0, 0, 2))
    ids = [_SHARED_ID + group * _OWN_ID + i for i in range(shared)]
    return ids + [line * _OWN_ID + i for i in range(shared, blocks + surplus)]


def _headers(rng: Random, traits: Traits) -> list[str | None]:
    """The policy headers of a case: mostly families, plus everything that falls back to the default family."""
    families: list[str | None] = [f"c{i}" for _ in range(4) for i in range(traits.families[0])]
    strays: list[str | None] = [None, "unknown", "", "c0b0", "C0"]
    return families + [*("direct", "special")[: traits.explicit_classes[0]]] * 2 + rng.sample(strays, rng.randint(0, 3))


def _group_into_sessions(rng: Random, traits: Traits, rows: list[dict[str, Any]], trace_block_size: int) -> None:
    """Make some rows turns of sessions: by delay, by timestamp difference, or with neither (a gap of 0)."""
    open_sessions: dict[str, dict[str, Any]] = {}
    names = [f"s{i}" if i else "" for i in range(rng.randint(2, max(2, len(rows) // 4)))]
    for row in rows:
        if rng.random() < 0.4:
            continue
        name = rng.choice(names)
        row["session_id"] = name
        previous = open_sessions.get(name)
        if previous is not None:
            if traits.sharing[0] == "turns":
                _extend(previous, row, trace_block_size)
            _draw_gap(rng, row)
        open_sessions[name] = row


def _draw_gap(rng: Random, row: dict[str, Any]) -> None:
    kind = rng.random()
    if kind < 0.5:
        row["delay"] = rng.choice((0, 0.5, 10, 100, 300, 12.25))
    if kind < 0.1 or kind > 0.95:
        del row["timestamp"]


def _extend(previous: dict[str, Any], row: dict[str, Any], trace_block_size: int) -> None:
    """Let a turn's prompt begin with the whole of the previous one, as a conversation does."""
    whole = previous["input_length"] // trace_block_size
    row["hash_ids"] = previous["hash_ids"][:whole] + row["hash_ids"]
    row["input_length"] += whole * trace_block_size
