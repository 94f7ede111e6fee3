from __future__ import annotations

import base64
import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drr.errors import WorkloadError
from drr.simulation.engine_options import EngineOptions
from drr.workload.experiment import Experiment, SpecWorkload, TraceWorkload, TypedWorkload
from drr.workload.link import FILE_SUFFIX, MAX_INFLATED_BYTES, decode, encode, from_file, to_file
from drr.workload.mapping import ClassMapping
from drr.workload.scenarios import SCENARIOS

LIMIT = 7_000
TYPED = Experiment(policy_text="", workload=TypedWorkload("A (60): 25 45 10\n"))
TRACE = Experiment(
    policy_text="# é 日本\n",
    workload=TraceWorkload("t.jsonl", "ab" * 32, ClassMapping("first_block"), path="/somebody/t.jsonl"),
)


def packed(data: bytes, checksum: int | None = None) -> str:
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = deflate.compress(data) + deflate.flush()
    check = zlib.crc32(data) if checksum is None else checksum
    return "1." + base64.urlsafe_b64encode(check.to_bytes(4, "big") + body).rstrip(b"=").decode()


def refused(code: str, limit: int = LIMIT) -> str:
    with pytest.raises(WorkloadError) as caught:
        decode(code, max_characters=limit)
    return str(caught.value)


@given(
    policy_text=st.text(max_size=300),
    text=st.text(max_size=100),
    step=st.none() | st.integers(-1, 10**9),
    workers=st.integers(1, 64),
    rule=st.sampled_from(["documented", "carry"]),
)
def test_a_link_and_a_file_give_back_what_went_in(
    policy_text: str, text: str, step: int | None, workers: int, rule: str
) -> None:
    experiment = Experiment(
        policy_text=policy_text,
        workload=SpecWorkload(text),
        workers=workers,
        cursor_rule=rule,  # type: ignore[arg-type]
        engine=EngineOptions(max_num_seqs=workers),
    )
    back = decode(encode(experiment, step), max_characters=100_000)
    assert (back.experiment, back.step) == (experiment, step)
    filed = from_file(to_file(experiment, step).encode())
    assert (filed.experiment, filed.step, filed.trace_text) == (experiment, step, None)


def test_the_part_of_a_trace_travels_along() -> None:
    for window in (None, (0.0, None), (1500.5, 60_000.0)):
        trace = TraceWorkload("t.jsonl", "ab" * 32, lenient=True, window_ms=window, spread=window is not None)
        experiment = Experiment(policy_text="", workload=trace, arrival_speedup_ratio=2.5)
        assert decode(encode(experiment), max_characters=LIMIT).experiment == experiment
        assert from_file(to_file(experiment).encode()).experiment == experiment


@pytest.mark.parametrize("window", ["all", [1], [None, None], [0, True], ["0", 1], [0, float("inf")]])
def test_a_window_of_a_wrong_kind_is_refused(window: object) -> None:
    data = json.loads(to_file(TRACE))
    data["experiment"]["workload"]["window_ms"] = window
    with pytest.raises(WorkloadError, match="window_ms"):
        from_file(json.dumps(data).encode())


@pytest.mark.parametrize("each", SCENARIOS, ids=lambda each: each.name)
def test_every_scenario_fits_into_a_link(each: object) -> None:
    code = encode(each.experiment, 319)  # type: ignore[attr-defined]
    assert len(code) < 1_500
    assert decode(code, max_characters=LIMIT).experiment == each.experiment  # type: ignore[attr-defined]


def test_a_link_has_no_paths_and_is_safe_in_an_address() -> None:
    code = encode(TRACE, 3)
    data = zlib.decompress(base64.urlsafe_b64decode(code[2:] + "==")[4:], -15)
    assert b"somebody" not in data
    assert json.loads(data)["experiment"]["policy_text"] == "# é 日本\n"
    assert all(c.isalnum() or c in "._-" for c in code)


@given(st.data())
def test_a_cut_or_changed_link_says_so_and_loads_nothing(data: st.DataObject) -> None:
    code = encode(TYPED, 5)
    at = data.draw(st.integers(2, len(code) - 2))
    if data.draw(st.booleans()):
        broken = code[:at]
    else:
        letter = data.draw(st.sampled_from("AZaz09_-").filter(lambda letter: letter != code[at]))
        broken = code[:at] + letter + code[at + 1 :]
    assert "cut or changed" in refused(broken)


@pytest.mark.parametrize("code", ["", "1", "1.", "x", "1.!!!", "1.AAAA", "hello world", "1." + "A" * 500, "é.é"])
def test_what_was_never_a_link_is_refused(code: str) -> None:
    assert "cut or changed" in refused(code)


def test_a_link_of_another_version_is_refused_by_name() -> None:
    assert refused("2." + encode(TYPED)[2:]) == "the link is of version 2; this program reads version 1"


def test_a_long_link_is_refused_unread() -> None:
    assert refused("1." + "A" * 100_000).startswith("the link carries 100,002 characters, at most 7,000 are read")


def test_a_small_link_that_inflates_without_end_is_refused() -> None:
    bomb = packed(b" " * (MAX_INFLATED_BYTES * 4))
    assert len(bomb) < LIMIT
    assert "it holds more than 1,048,576 bytes" in refused(bomb)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"[" * 100_000, "no JSON text"),
        (b"\xff\xfe", "no JSON text"),
        (b"[1]", "carries no experiment"),
        (b'{"experiment": 3}', "carries no experiment"),
        (b'{"experiment": {"format": 9}}', "format 9 is unknown"),
        (b'{"experiment": {"format": 1, "workload": {"kind": "shell"}}}', "kind 'shell' is unknown"),
        (
            b'{"experiment": {"format": 1, "workload": '
            b'{"kind": "trace", "name": "t", "sha256": "0", "path": "/etc/passwd"}}}',
            "'path' is unknown",
        ),
    ],
)
def test_a_well_packed_link_with_other_things_in_it_is_refused(data: bytes, says: str) -> None:
    assert says in refused(packed(data))


def test_steps_and_traces_of_a_wrong_kind_are_refused() -> None:
    good = {"experiment": TYPED.to_mapping()}
    assert "names step -2" in refused(packed(json.dumps({**good, "step": -2}).encode()))
    assert "names step True" in refused(packed(json.dumps({**good, "step": True}).encode()))
    assert "unknown key 'then'" in refused(packed(json.dumps({**good, "then": 1}).encode()))
    assert "its workload is no trace" in refused(packed(json.dumps({**good, "trace_text": "x"}).encode()))


def test_a_file_carries_its_trace() -> None:
    back = from_file(to_file(TRACE, trace_text='{"timestamp": 0}\n').encode())
    assert back.trace_text == '{"timestamp": 0}\n'
    assert back.experiment == TRACE


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"{}", f"no {FILE_SUFFIX} file"),
        (b"[1]", f"no {FILE_SUFFIX} file"),
        (b"\xff\xfe{}", "no JSON text"),
        (b'{"ringside": 2}', "of version 2"),
        (b'{"ringside": 1}', "carries no experiment"),
        (b"[" * 100_000, "no JSON text"),
        (b" " * (16 * 1024 * 1024 + 1), "at most 16,777,216 are read"),
    ],
)
def test_a_file_of_another_kind_is_refused(content: bytes, says: str) -> None:
    with pytest.raises(WorkloadError, match=says):
        from_file(content)
