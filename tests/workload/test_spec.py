from __future__ import annotations

import itertools
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from drr.errors import WorkloadError
from drr.workload.arrivals import Burst, ClosedLoop, Constant, Diurnal, OnOff, Poisson, Ramp, Spike
from drr.workload.distributions import Bimodal, Empirical, Exponential, Fixed, Lognormal, Uniform, Zipf
from drr.workload.generate import generate
from drr.workload.spec import (
    AllowedWorkers,
    BetaHits,
    FixedHits,
    JumpShare,
    Pinned,
    RequiredTaints,
    SessionHits,
    Stream,
    StrictShare,
    WorkloadSpec,
)
from drr.workload.spec_fields import ARRIVALS, DISTRIBUTIONS, STREAM_FIELDS
from drr.workload.spec_reading import dump_spec, load_spec, read_spec

GOOD = """
seed: 7
trace_block_size: 64
streams:
  - header: premium
    requests: 320
    arrivals: {shape: burst}
    input_tokens: 512
    output_tokens: {shape: fixed, value: 1}
  - name: chat
    header: null
    start_ms: 500
    duration_ms: 60_000
    arrivals: {shape: spike, per_second: 5, spike_per_second: 50, start_ms: 10000, end_ms: 2e4}
    input_tokens: {shape: lognormal, median: 800, sigma: 0.8, max: 32000}
    output_tokens: {shape: zipf, exponent: 1.2, max: 400}
    think_time_ms: {shape: exponential, mean: 900}
    cache_hits: {shape: sessions, turns: {shape: uniform, min: 1, max: 6}}
    pinned: {share: 0.25, workers: [0, 1.10]}
    allowed_workers: {share: 0.5, workers: [0, 1]}
    required_taints: {share: 0.1, taints: [fast, no]}
    strict_priority: [{share: 0.1, level: 2}]
    priority_jump: [{share: 0.2, seconds: 2.5}, {share: 0.1, seconds: 1}]
    missing_header_share: 0.05
    unknown_header_share: 0.02
""".replace("60_000", "60000")


def test_a_spec_says_what_is_written_in_it() -> None:
    spec = load_spec(GOOD)
    burst, chat = spec.streams
    assert (spec.seed, spec.trace_block_size) == (7, 64)
    assert burst == Stream(
        name="premium",
        header="premium",
        requests=320,
        arrivals=Burst(),
        input_tokens=Fixed(512),
        output_tokens=Fixed(1),
    )
    assert chat == Stream(
        name="chat",
        header=None,
        start_ms=500,
        duration_ms=60_000,
        arrivals=Spike(5, 50, 10_000, 20_000),
        input_tokens=Lognormal(800, 0.8, max=32_000),
        output_tokens=Zipf(1.2, 400),
        think_time_ms=Exponential(900),
        cache_hits=SessionHits(Uniform(1, 6)),
        pinned=Pinned(0.25, ((0, None), (1, 10))),
        allowed_workers=AllowedWorkers(0.5, (0, 1)),
        required_taints=RequiredTaints(0.1, ("fast", "no")),
        strict_priority=(StrictShare(0.1, 2),),
        priority_jump=(JumpShare(0.2, 2.5), JumpShare(0.1, 1)),
        missing_header_share=0.05,
        unknown_header_share=0.02,
    )


def test_the_example_gives_requests() -> None:
    assert len(generate(load_spec(GOOD))) > 320


tokens = st.integers(1, 10_000)
share = st.floats(0, 1)
part = st.floats(0, 0.3)
time_ms = st.floats(0, 1e9)
span_ms = st.floats(1, 1e9)
rate = st.floats(0.001, 1e6)
word = st.text(max_size=12).filter(lambda text: text.isprintable())
pair = st.tuples(tokens, tokens).map(sorted)
distributions = st.one_of(
    st.builds(Fixed, tokens),
    pair.map(lambda p: Uniform(*p)),
    st.builds(lambda m, s, p: Lognormal(m, s, *p), tokens, st.floats(0, 10), pair),
    st.builds(Lognormal, tokens, st.floats(0, 10), st.none(), st.none() | tokens),
    st.builds(Exponential, tokens, st.none() | tokens),
    st.builds(lambda p, s, v: Bimodal(*p, s, v), pair, share, share),
    st.builds(lambda e, p, step: Zipf(e, p[1], p[0], step), st.floats(0, 20), pair, tokens),
    st.lists(tokens, min_size=1, max_size=5).map(lambda values: Empirical(tuple(values))),
    st.lists(st.tuples(tokens, st.floats(0.1, 1e6)), min_size=1, max_size=4).map(
        lambda pairs: Empirical(tuple(v for v, _ in pairs), tuple(s for _, s in pairs))
    ),
)
open_arrivals = st.one_of(
    st.builds(Constant, rate),
    st.builds(Poisson, rate),
    st.builds(OnOff, rate, span_ms, time_ms),
    st.builds(Ramp, rate, rate, span_ms),
    st.builds(lambda a, b, start, more: Spike(a, b, start, start + more), rate, rate, st.floats(0, 1e6), span_ms),
    st.builds(Diurnal, rate, share, span_ms, time_ms),
)
some_workers = st.lists(st.tuples(st.integers(0, 99), st.none() | st.integers(0, 99)), min_size=1, max_size=3).map(
    tuple
)
optional_parts = st.fixed_dictionaries(
    {},
    optional={
        "start_ms": time_ms,
        "think_time_ms": distributions,
        "cache_hits": st.one_of(
            st.builds(FixedHits, share, st.integers(1, 4096)),
            st.builds(BetaHits, st.floats(0.01, 1000), st.floats(0.01, 1000)),
            st.builds(SessionHits, distributions, tokens),
        ),
        "pinned": st.builds(Pinned, share, some_workers),
        "allowed_workers": st.builds(AllowedWorkers, share, st.lists(tokens, min_size=1, max_size=3).map(tuple)),
        "required_taints": st.builds(RequiredTaints, share, st.lists(word, min_size=1, max_size=3).map(tuple)),
        "strict_priority": st.lists(st.builds(StrictShare, part, tokens), min_size=1, max_size=3).map(tuple),
        "priority_jump": st.lists(st.builds(JumpShare, part, st.floats(0, 1e9)), min_size=1, max_size=3).map(tuple),
        "missing_header_share": part,
        "unknown_header_share": part,
    },
)


@st.composite
def specs(draw: Any) -> WorkloadSpec:
    streams = []
    names = itertools.count()
    for _ in range(draw(st.integers(1, 3))):
        header = draw(st.none() | word)
        name = f"{next(names)}{draw(word)}"
        arrivals = draw(open_arrivals | st.builds(Burst) | st.builds(ClosedLoop, tokens))
        ends = draw(st.sampled_from(["requests", "duration_ms"]))
        if isinstance(arrivals, Burst | ClosedLoop) or ends == "requests":
            limits = {"requests": draw(tokens)}
        else:
            limits = {"duration_ms": draw(span_ms)}
        lengths = {"input_tokens": draw(distributions), "output_tokens": draw(distributions)}
        streams.append(Stream(name=name, header=header, arrivals=arrivals, **lengths, **limits, **draw(optional_parts)))
    return WorkloadSpec(tuple(streams), draw(st.integers(0, 2**63 - 1)), draw(st.integers(1, 1_000_000)))


@given(specs())
def test_what_is_written_reads_as_an_equal_spec(spec: WorkloadSpec) -> None:
    text = dump_spec(spec)
    reading = read_spec(text)
    assert reading.spec == spec, [each.text() for each in reading.diagnostics]
    assert dump_spec(load_spec(text)) == text


def test_what_has_its_default_is_not_written() -> None:
    spec = load_spec(
        "streams:\n- {header: a, requests: 3, arrivals: {shape: burst}, input_tokens: 5, output_tokens: 1}"
    )
    assert dump_spec(spec) == (
        "streams:\n- header: a\n  arrivals: {shape: burst}\n  input_tokens: 5\n  output_tokens: 1\n  requests: 3\n"
    )


BASE = {
    "requests": "3",
    "arrivals": "{shape: poisson, per_second: 5}",
    "input_tokens": "512",
    "output_tokens": "1",
}


def one_stream(**values: str) -> str:
    lines = [f"    {key}: {value}" for key, value in {**BASE, **values}.items() if value]
    return "streams:\n  - header: a\n" + "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("change", "path", "part", "suggestion"),
    [
        ({"arivals": "1"}, "arivals", "does not know the key", "arrivals"),
        ({"arrivals": "{shape: poison, per_second: 5}"}, "arrivals.shape", "`closed_loop`", "poisson"),
        ({"arrivals": "{per_second: 5}"}, "arrivals", "`shape` is missing", None),
        ({"arrivals": "poisson"}, "arrivals", "must be a mapping", None),
        ({"arrivals": "{shape: poisson, rate: 5}"}, "arrivals", "lacks `per_second`", None),
        ({"arrivals": "{shape: poisson, per_second: 0}"}, "arrivals.per_second", "above 0", None),
        ({"arrivals": "{shape: poisson, per_second: .inf}"}, "arrivals.per_second", "at most 1,000,000", None),
        ({"arrivals": "{shape: poisson, per_second: .nan}"}, "arrivals.per_second", "out of range", None),
        (
            {"arrivals": "{shape: spike, per_second: 1, spike_per_second: 2, start_ms: 9, end_ms: 9}"},
            "arrivals.end_ms",
            "ends before it starts",
            None,
        ),
        (
            {"arrivals": "{shape: ramp, from_per_second: 0, to_per_second: 0, over_ms: 9}"},
            "arrivals.to_per_second",
            "no request ever comes",
            None,
        ),
        ({"arrivals": "{shape: burst}", "requests": ""}, "arrivals", "`requests:` beside it", None),
        ({"arrivals": "{shape: closed_loop, clients: 2}", "duration_ms": "9"}, "duration_ms", "no duration", None),
        ({"requests": ""}, "arrivals", "nothing ends this stream", None),
        ({"requests": "0"}, "requests", "from 1 to 10,000,000", None),
        ({"requests": "1e3"}, "requests", "is a decimal number", "1000"),
        ({"requests": "x"}, "requests", "from 1 to 10,000,000", None),
        ({"requests": '"0"'}, "requests", "from 1 to 10,000,000", None),
        ({"requests": "99999999999999999999"}, "requests", "from 1 to 10,000,000", None),
        ({"arrivals": "{shape: poisson, per_second: 1000001}"}, "arrivals.per_second", "1,000,001 is out of", None),
        ({"start_ms": "-0.125"}, "start_ms", "-0.125 is out of range", None),
        ({"input_tokens": "0"}, "input_tokens", "at least 1 token", None),
        ({"input_tokens": "1_000"}, "input_tokens", "is text, not a whole number", "1000"),
        ({"input_tokens": "{shape: uniform, min: 9, max: 8}"}, "input_tokens.max", "below `min` 9", None),
        ({"input_tokens": "{shape: zipf, exponent: 1, max: 9999999}"}, "input_tokens.max", "larger `step`", None),
        ({"input_tokens": "{shape: zipf, exponent: 1, max: 0}"}, "input_tokens.max", "below 1", None),
        ({"input_tokens": "{shape: empirical, values: []}"}, "input_tokens.values", "is empty", None),
        ({"input_tokens": "{shape: empirical, values: [1], shares: [1, 2]}"}, "input_tokens.shares", "1 values", None),
        ({"input_tokens": "{shape: empirical, values: [1], shares: [0]}"}, "input_tokens.shares", "is 0", None),
        ({"input_tokens": "[512]"}, "input_tokens", "must be a mapping", None),
        ({"cache_hits": "{shape: fixed, share: 1.5}"}, "cache_hits.share", "from 0 to 1", None),
        ({"pinned": "{share: 1, workers: [x]}"}, "pinned.workers[0]", "`id.rank`", None),
        (
            {"strict_priority": "[{share: 0.7, level: 1}, {share: 0.7, level: 2}]"},
            "strict_priority",
            "more than 1",
            None,
        ),
        (
            {"missing_header_share": "0.6", "unknown_header_share": "0.6"},
            "unknown_header_share",
            "together at most 1",
            None,
        ),
    ],
)
def test_a_bad_value_is_told_with_its_path_and_what_is_allowed(
    change: dict[str, str], path: str, part: str, suggestion: str | None
) -> None:
    text = one_stream(**change)
    found = read_spec(text).errors
    assert found
    mine = next(each for each in found if each.path == f"streams[0].{path}" and part in each.text())
    assert mine.suggestion == suggestion
    key = path.split(".")[0].split("[")[0]
    assert text.splitlines()[mine.line - 1].lstrip().startswith(f"{key}:")
    assert mine.column > 4
    assert "router" not in mine.text()


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "the spec is empty"),
        ("# nothing", "the spec is empty"),
        ("- a", "the top level must be a mapping"),
        ("seed: 3", "lacks `streams`"),
        ("streams: []", "1 to 1,000 streams"),
        ("streams:\n  - 3", "a stream must be a mapping"),
        ("streams: [", "line"),
        ("seed: -1\nstreams: []", "negative"),
        ("\x00", "NUL"),
        ("streams: []\n---\nstreams: []", "a second document"),
        ("<<: {}", "does not know the key `<<`: YAML 1.2 has no merge keys"),
    ],
)
def test_a_text_that_is_no_spec_gets_a_sentence(text: str, part: str) -> None:
    reading = read_spec(text)
    assert not reading.ok
    assert part in " ".join(each.text() for each in reading.errors)
    with pytest.raises(WorkloadError, match="workload has errors"):
        load_spec(text)


def test_no_number_of_warnings_is_an_error_and_too_many_errors_end_with_one() -> None:
    entry = "requests: 1, arrivals: {shape: burst}, input_tokens: 1, output_tokens: 1"
    for count in (99, 100, 300):
        items = "".join(f"  - {{name: s{number}, {entry}, think_time_ms: 5}}\n" for number in range(count))
        reading = read_spec(f"streams:\n{items}")
        assert reading.ok
        assert sum(each.severity == "warning" for each in reading.diagnostics) == min(count, 100)
        assert [each.message for each in reading.diagnostics if each.severity == "info"] == [
            "200 more warnings are not listed"
        ] * (count > 100)
        reading = read_spec(f"streams:\n{items.replace('requests: 1', 'requests: x')}")
        assert not reading.ok
        assert len(reading.errors) == (99 if count == 99 else 101)
        assert ("the rest of the file was not looked at" in reading.errors[-1].message) is (count >= 100)


def test_a_misspelt_alias_gets_a_suggestion() -> None:
    text = one_stream(input_tokens="&long 512", output_tokens="*log")
    (found,) = read_spec(text).errors
    assert found.suggestion is not None
    assert found.suggestion.removeprefix("*") == "long"


def test_all_problems_are_told_at_once_in_file_order() -> None:
    text = one_stream(requests="x", input_tokens="y", output_tokens="z")
    assert [each.path.split(".")[1] for each in read_spec(text).errors] == ["requests", "input_tokens", "output_tokens"]


def test_two_streams_of_one_name_are_told() -> None:
    item = "  - {header: a, requests: 1, arrivals: {shape: burst}, input_tokens: 1, output_tokens: 1}\n"
    (found,) = read_spec("streams:\n" + item * 2).errors
    assert 'another stream "a" on line 2' in found.message
    assert found.line == 3


def test_more_requests_than_a_workload_may_have_are_told() -> None:
    item = "  - {{name: {0}, requests: 9000000, arrivals: {{shape: burst}}, input_tokens: 1, output_tokens: 1}}\n"
    (found,) = read_spec("streams:\n" + item.format("a") + item.format("b")).errors
    assert "18,000,000 requests in all" in found.message


def test_a_think_time_that_nobody_needs_is_a_warning() -> None:
    reading = read_spec(one_stream(think_time_ms="50"))
    assert reading.ok
    (found,) = reading.diagnostics
    assert (found.severity, found.path) == ("warning", "streams[0].think_time_ms")


def test_bytes_and_a_byte_order_mark_are_read() -> None:
    assert read_spec(("\ufeff" + GOOD).encode()).spec == load_spec(GOOD)
    assert not read_spec(GOOD.encode("utf-16")).ok


KEYS = st.sampled_from([*STREAM_FIELDS, "shape", "share", "value", "min", "max", "per_second", "workers", "streams"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**70) | st.floats() | st.sampled_from([*ARRIVALS, *DISTRIBUTIONS, ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)


@given(st.dictionaries(KEYS, VALUES, max_size=8))
def test_any_stream_is_answered_with_a_spec_or_with_places(stream: dict[str, Any]) -> None:
    text = yaml.safe_dump({"streams": [stream]})
    reading = read_spec(text)
    if reading.ok:
        assert load_spec(dump_spec(load_spec(text))) == reading.spec
    else:
        assert reading.errors
        assert all(d.line >= 1 and d.column >= 1 and "Traceback" not in d.text() for d in reading.errors)


@given(st.text(max_size=80))
def test_any_text_is_answered(text: str) -> None:
    reading = read_spec(text)
    assert reading.ok or reading.errors
