"""Random replay cases by category: the questions that ours and the real router must answer alike.

A case depends on its category and seed alone. A category is a set of :class:`Traits`; every draw picks one value of
each trait, so two categories differ only in what they insist on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Any

from drr.dynamo.case import ReplayCase, with_row_identity
from drr.dynamo.case_rows import draw_rows
from drr.dynamo.case_traits import Traits

_SEVERAL = Traits(workers=(2, 3, 4))
_CACHE = Traits(caching=(True,), sharing=("prefixes",), buckets=(1, 2, 3), explicit_classes=(0, 1, 2))
_EVICTING = replace(_CACHE, pools=("snug", "small"), outputs=("one", "few"))


@dataclass(frozen=True, slots=True)
class Category:
    """What a category is about, in one line, and the traits its cases are drawn from."""

    description: str
    traits: Traits


CATEGORIES: dict[str, Category] = {
    "output-1": Category("one worker, every request emits one token", Traits(outputs=("one",))),
    "output-50": Category("one worker, up to 50 output tokens", Traits(outputs=("few",))),
    "output-0": Category(
        "output length 0 mixed in, cached and not", Traits(outputs=("some zero",), caching=(True, False))
    ),
    "at-once": Category("everything arrives at the same moment", Traits(arrivals=("at once",))),
    "poisson": Category("Poisson arrivals, fractions of a millisecond", Traits(arrivals=("poisson",))),
    "bursts": Category("bursts of equal timestamps, some traces out of order", Traits(arrivals=("bursts",))),
    "priorities": Category("priority jumps (negative too) and strict priorities", Traits(priorities=(True,))),
    "fcfs": Category("every class first come, first served", Traits(orders=("fcfs",))),
    "wspt": Category("every class by weighted shortest processing time", Traits(orders=("wspt",))),
    "thresholds": Category("busy thresholds in tokens, 0 included", Traits(thresholds=("tokens",))),
    "fractions": Category("busy thresholds as fractions of the token budget", Traits(thresholds=("fraction",))),
    "both-thresholds": Category("tokens and fraction at once, either is enough", Traits(thresholds=("both",))),
    "some-never-queue": Category(
        "classes without threshold beside ones that queue", Traits(thresholds=("none", "tokens"))
    ),
    "quanta": Category("quanta from 1 to 2^64-1 against the same costs", Traits(quanta=("any",), thresholds=("low",))),
    "many-classes": Category(
        "up to 24 classes in one ring", Traits(families=(4, 6, 8), buckets=(2, 3), thresholds=("low",))
    ),
    "shared-uncached": Category("shared prefixes, prefix caching off", Traits(sharing=("prefixes",))),
    "cache-buckets": Category("prefix caching with cache buckets and explicit classes", _CACHE),
    "cache-eviction": Category("prefix caching in a pool that evicts", _EVICTING),
    "second-copies": Category(
        "block-aligned equal prompts in a small cached pool",
        replace(_EVICTING, sharing=("aligned",), lengths=("equal",)),
    ),
    "small-pool": Category(
        "a KV pool small enough to preempt", Traits(pools=("snug",), outputs=("few", "long"), chunking=(True,))
    ),
    "max-model-len": Category("a model length that cuts outputs and refuses prompts", Traits(model_lengths=(True,))),
    "engine-refusals": Category("requests larger than the whole pool, dead ends included", Traits(pools=("tiny",))),
    "queue-limits": Category("queue limits: the real replay aborts at the first refusal", Traits(limits=("tight",))),
    "loose-limits": Category("queue limits that are configured and hardly reached", Traits(limits=("loose",))),
    "turns": Category("sessions of several turns with and without delay", Traits(turns=(True,))),
    "turns-cached": Category(
        "turns that extend their session's prompt, prefix caching on",
        replace(_CACHE, turns=(True,), sharing=("turns",)),
    ),
    "trace-blocks": Category(
        "trace blocks unlike engine blocks", replace(_CACHE, trace_blocks=("other",), block_sizes=(3, 16, 64, 512))
    ),
    "trace-blocks-eviction": Category(
        "trace blocks unlike engine blocks in a pool that evicts",
        replace(_EVICTING, trace_blocks=("other",), block_sizes=(5, 16, 64)),
    ),
    "fixed-timing": Category("fixed prefill and decode times, many events at one moment", Traits(timing=("fixed",))),
    "speed-ups": Category(
        "speed-ups of engine, decode and arrivals",
        Traits(speedups=(0.7, 1.7, 3.0, 10.0), decode_speedups=(1.0, 2.0, 3.3), arrival_speedups=(0.5, 1.7, 3.0, 20.0)),
    ),
    "chunking-off": Category(
        "no chunked prefill, now and then a prompt above the token budget",
        Traits(
            chunking=(False,),
            caching=(True, False),
            sharing=("none", "prefixes"),
            outputs=("one", "few", "long"),
            pools=("ample", "snug", "small"),
            budgets=("fits", "fits", "short"),
        ),
    ),
    "equal-lengths": Category("prompt lengths that repeat", Traits(lengths=("equal",), quanta=("near",))),
    "model-profile": Category("the profile of a named model beside a root profile", Traits(profile=("model",))),
    "no-policy-file": Category("no policy file: one synthetic class with a threshold", Traits(profile=("none",))),
    "several-output-1": Category("2 to 4 workers, one token", replace(_SEVERAL, outputs=("one",))),
    "several-output-50": Category("2 to 4 workers, up to 50 tokens", replace(_SEVERAL, outputs=("few",))),
    "several-cached": Category("2 to 4 workers, prefix caching with buckets", replace(_CACHE, workers=(2, 3, 4))),
    "several-eviction": Category(
        "2 to 4 workers, prefix caching in pools that evict", replace(_EVICTING, workers=(2, 3))
    ),
    "several-turns": Category(
        "2 or 3 workers, sessions, fixed times: many ties in time",
        Traits(workers=(2, 3), turns=(True,), timing=("fixed",), outputs=("one", "few", "some zero")),
    ),
    "everything": Category(
        "all traits at random, one worker",
        Traits(
            outputs=("one", "few", "some zero", "long"),
            sharing=("none", "prefixes", "aligned"),
            caching=(True, False),
            pools=("ample", "snug", "small", "tiny"),
            buckets=(1, 2, 3),
            explicit_classes=(0, 1, 2),
            trace_blocks=("same", "same", "other"),
            block_sizes=(3, 16, 64, 512),
            limits=("none", "none", "none", "loose", "tight"),
            lengths=("unlike", "equal"),
            model_lengths=(False, False, False, True),
            turns=(False, False, True),
            speedups=(1.0, 1.0, 0.7, 3.0),
            decode_speedups=(1.0, 1.0, 2.0),
            arrival_speedups=(1.0, 1.0, 0.5, 3.0),
            quanta=("small", "near", "any"),
            budgets=("fits", "fits", "fits", "short"),
        ),
    ),
}
"""Every category by name."""


def random_case(category: str, seed: int) -> ReplayCase:
    """The case ``category/seed``; the same one on every machine. Raises :class:`KeyError` for an unknown category."""
    rng = Random(f"{category}/{seed}")
    traits = CATEGORIES[category].traits.drawn(rng)
    engine, trace_block_size = _draw_engine(rng, traits)
    rows = draw_rows(rng, traits, engine=engine, trace_block_size=trace_block_size)
    _fit_engine(rng, traits, engine, rows)
    policy, options = _draw_policy(rng, traits, engine, rows)
    case = ReplayCase(
        policy_yaml=policy,
        workers=traits.workers[0],
        engine=engine,
        trace_block_size=trace_block_size,
        options=options,
        rows=tuple(rows),
        category=category,
        seed=seed,
    )
    return with_row_identity(case)


def _draw_engine(rng: Random, traits: Traits) -> tuple[dict[str, Any], int]:
    block_size = traits.block_sizes[0]
    engine: dict[str, Any] = {
        "backend": "vllm",
        "max_num_seqs": rng.choice((1, 2, 4, 8, 256)),
        "max_num_batched_tokens": rng.choice((256, 512, 2048, 8192, 30000)),
        "block_size": block_size,
        "num_gpu_blocks": rng.choice((16384, 8_000_000 // block_size)),
        "enable_prefix_caching": traits.caching[0],
    }
    if not traits.chunking[0]:
        engine["enable_chunked_prefill"] = False
    if traits.timing[0] == "fixed":
        step = rng.choice((5.0, 10.0, 7.3))
        engine["timing_model"] = {"type": "fixed", "prefill_ms": rng.choice((step, 2 * step)), "decode_ms": step}
    if traits.speedups[0] != 1.0:
        engine["speedup_ratio"] = traits.speedups[0]
    if traits.decode_speedups[0] != 1.0:
        engine["decode_speedup_ratio"] = traits.decode_speedups[0]
    other = rng.choice([size for size in (7, 16, 24, 48, 100, 512) if size != block_size])
    return engine, other if traits.trace_blocks[0] == "other" else block_size


def _fit_engine(rng: Random, traits: Traits, engine: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """Choose pool, model length and token budget by what the rows need."""
    block_size = engine["block_size"]
    sizes = [row["input_length"] + row["output_length"] for row in rows]
    needs = [-(-size // block_size) for size in sizes]
    pool = traits.pools[0]
    if pool == "snug":  # everything fits alone, two large ones don't fit together
        engine["num_gpu_blocks"] = max(needs) + rng.randint(0, max(1, max(needs)))
    elif pool == "small":  # a few typical requests at a time
        engine["num_gpu_blocks"] = max(max(needs), rng.randint(1, 5) * sum(needs) // len(needs)) + rng.randint(0, 3)
    elif pool == "tiny":  # the largest requests never fit, or outgrow the pool while they run
        engine["num_gpu_blocks"] = max(1, sorted(needs)[-rng.randint(2, len(needs) // 2)])
    if not traits.chunking[0] and traits.budgets[0] == "fits":  # a prompt above the budget would wait forever
        longest = max(row["input_length"] for row in rows)
        engine["max_num_batched_tokens"] = max(engine["max_num_batched_tokens"], longest + rng.randint(0, longest))
    if traits.model_lengths[0]:
        engine["max_model_len"] = sorted(sizes)[rng.randrange(len(sizes) // 3, len(sizes))]


def _draw_policy(
    rng: Random, traits: Traits, engine: dict[str, Any], rows: list[dict[str, Any]]
) -> tuple[str, dict[str, Any]]:
    """The policy file's text and the replay options that go with it."""
    options: dict[str, Any] = {}
    if traits.arrival_speedups[0] != 1.0:
        options["arrival_speedup_ratio"] = traits.arrival_speedups[0]
    lengths = sorted(row["input_length"] for row in rows)
    if traits.profile[0] == "none":
        return "", options | {"router_queue_threshold": rng.choice((0.0, 0.1, 0.5, 1.0))}
    profile = _draw_profile(rng, traits, engine, lengths)
    if traits.profile[0] == "root":
        return profile, options
    model = rng.choice(("m", "org/model-7b", "a b"))
    text = _draw_profile(rng, traits, engine, lengths) if rng.random() < 0.7 else ""
    indented = "".join(f"    {line}\n" for line in profile.splitlines())
    return f"{text}models:\n  {model}:\n{indented}", options | {"model_name": rng.choice((model, model, "another"))}


def _draw_profile(rng: Random, traits: Traits, engine: dict[str, Any], lengths: list[int]) -> str:
    floors = [0, *sorted(rng.sample(range(1, lengths[-1] + 2), traits.buckets[0] - 1))]
    families = [f"c{i}" for i in range(traits.families[0])]
    classes = [
        [f"name: {family}b{b}", f"policy_family: {family}", f"cache_bucket: b{b}"]
        for family in families
        for b in range(len(floors))
    ]
    classes += [[f"name: {name}"] for name in ("direct", "special")[: traits.explicit_classes[0]]]
    rng.shuffle(classes)
    lines = [f"default_policy_family: {rng.choice(families)}", "uncached_isl_buckets:"]
    for b, floor in enumerate(floors):
        lines += [f"  - min_tokens: {floor}", f"    bucket: b{b}"]
    lines.append("policy_classes:")
    for keys in classes:
        keys = keys + _draw_class(rng, traits, engine, lengths)
        lines += [f"  {'-' if i == 0 else ' '} {key}" for i, key in enumerate(keys)]
    return "\n".join(lines) + "\n"


def _draw_class(rng: Random, traits: Traits, engine: dict[str, Any], lengths: list[int]) -> list[str]:
    typical = lengths[len(lengths) // 2]
    quantum = {
        "small": lambda: rng.randint(1, 8),
        "near": lambda: rng.randint(max(1, typical // 4), 2 * typical),
        "any": lambda: rng.choice((1, 2**64 - 1, 10**12, rng.randint(1, 10 * typical), lengths[-1], typical)),
    }[rng.choice(traits.quanta)]()
    keys = [f"queue_policy: {rng.choice(traits.orders)}", f"quantum: {quantum}"]
    kind = rng.choice(traits.thresholds)
    if kind == "low":
        keys.append(f"prefill_busy_threshold: {rng.choice((0, typical // 2, typical, 3 * typical))}")
    if kind in ("tokens", "both"):
        keys.append(f"prefill_busy_threshold: {rng.choice((0, 100, typical, 2000, 4 * typical, 40000))}")
    if kind in ("fraction", "both"):
        keys.append(
            f"prefill_busy_threshold_frac: {rng.choice(('0', '0.0', '0.1', '0.25', '0.5', '1.0', '1.7', '0.333'))}"
        )
    if traits.limits[0] == "none":
        return keys
    low, high = (2, 40) if traits.limits[0] == "tight" else (60, 200)
    for name, size in (
        ("request_queue_limit_per_worker", 1),
        ("raw_isl_token_queue_limit_per_worker", typical),
        ("cached_token_queue_limit_per_worker", typical),
    ):
        if rng.random() < 0.5:
            keys.append(f"{name}: {rng.randint(low, high) * size}")
    return keys
