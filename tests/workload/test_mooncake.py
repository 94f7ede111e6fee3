from __future__ import annotations

import gzip
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drr.errors import WorkloadError
from drr.workload import mooncake
from drr.workload.mooncake import read_mooncake
from drr.workload.traces_json import parse_row, parse_rows
from drr.workload.traces_reading import BadRowError

ROW = {"timestamp": 0, "input_length": 900, "output_length": 12, "hash_ids": [0, 1]}


def text_of(*rows):
    return "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)


def test_one_broken_number_in_the_middle_is_named_and_not_guessed():
    text = text_of(
        '{"timestamp": 0, "input_length": 900, "output_length": 12, "hash_ids": [0, 1]}',
        '{"timestamp": 20, "input_length": 512, "output_length": 7, "hash_ids": [0]}',
        '{"timestamp": 40, "input_length": 700, "output_length": 12 80, "hash_ids": [0, 3]}',
        '{"timestamp": 60, "input_length": 512, "output_length": 9, "hash_ids": [4]}',
    )
    text += '{"timestamp": 80, "input_length": 51'
    reading = read_mooncake(text, lenient=True)
    assert reading.counts_text() == "3 rows loaded, 2 left out"
    assert reading.lines == [1, 2, 4]
    assert [(p.line, p.message[:13]) for p in reading.problems] == [(3, "no valid JSON"), (5, "no valid JSON")]
    assert reading.requests.output_tokens == [12, 7, 9]
    with pytest.raises(WorkloadError, match=r"2 bad trace lines: line 3: no valid JSON: .*; line 5: no valid JSON"):
        read_mooncake(text)


def test_json_that_python_alone_likes_is_refused_line_by_line():
    values = ["512", "", "NaN", "Infinity", "-5", "true", '"512"', "512.0", "512.5", "null", None, "1e400"]
    fields = ["" if value is None else f'"input_length": {value}, ' for value in values]
    lines = [f'{{"timestamp": {i}, {text}"output_length": 1}}' for i, text in enumerate(fields)]
    lines[1] = ""
    lines += ["[1, 2]", '{"timestamp": 20, "input_length": 10, "input_length": 20, "output_length": 1}']
    text = "\n".join([*lines, '{"timestamp": 21, "input_length": 640, "output_length": 1}'])
    reading = read_mooncake(text, lenient=True)
    assert reading.requests.isl_tokens == [512, 512, 640]
    assert all(type(tokens) is int for tokens in reading.requests.isl_tokens)
    assert reading.lines == [1, 8, 15]
    messages = {problem.line: problem.message for problem in reading.problems}
    assert sorted(messages) == [3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14]
    assert messages[3] == "NaN is no number that a trace may hold"
    assert messages[6] == "input_length is true; a whole number of at least 1 is allowed"
    assert messages[7] == 'input_length is "512"; a whole number of at least 1 is allowed'
    assert messages[10] == "input_length is null; a whole number of at least 1 is allowed"
    assert messages[11] == "input_length is missing; a whole number of at least 1 is needed"
    assert messages[12] == "input_length is a number beyond 1e308; a whole number of at least 1 is allowed"
    assert messages[14] == "the key 'input_length' stands twice"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"timestamp": None}, "timestamp is missing"),
        ({"timestamp": True}, "timestamp is true; a finite number"),
        ({"timestamp": "0"}, 'timestamp is "0"; a finite number'),
        ({"timestamp": 10**400}, r"timestamp is 10{59}\.\.\.; a finite number"),
        ({"output_length": -1}, "output_length is -1"),
        ({"output_length": 2**64}, "at most 18,446,744,073,709,551,615"),
        ({"hash_ids": [0]}, "hash_ids holds 1 blocks; input_length needs 2"),
        ({"hash_ids": [0, True]}, "list of whole numbers"),
        ({"hash_ids": [0, -1]}, "list of whole numbers"),
        ({"hash_ids": [0, 2**64]}, "list of whole numbers"),
        ({"hash_ids": [0, 1.0]}, "list of whole numbers"),
        ({"hash_ids": "0 1"}, "list of whole numbers"),
        ({"policy_class": 1}, "policy_class is 1; text is allowed"),
        ({"session_id": 1}, "session_id is 1; text is allowed"),
        ({"priority": 1.0}, "priority is 1.0; a whole number"),
        ({"priority": 2**31}, "priority is 2147483648; a whole number"),
        ({"strict_priority": -1}, "strict_priority is -1"),
        ({"strict_priority": 2**32}, "at most 4,294,967,295"),
        ({"delay": 1}, "delay is allowed only on later turns"),
        ({"session_id": "s", "delay": 1}, "delay is not allowed on the first row of a session"),
        ({"session_id": "s", "timestamp": None}, "timestamp is missing on the first row of a session"),
        ({"input_tokens": 5}, "input_length stands twice, the second time as input_tokens"),
        ({"hash_ids": None, "input_length": 10**10}, "without hash_ids at most 1,000,000,000"),
    ],
)
def test_a_bad_field_is_refused_and_nothing_of_its_row_stays(change, message):
    bad = {**ROW, **change}
    with pytest.raises(WorkloadError, match=f"1 bad trace line: line 2: .*{message}"):
        read_mooncake(text_of(ROW, bad, ROW))
    reading = read_mooncake(text_of(ROW, bad, ROW), lenient=True)
    assert len(reading.requests) == len(reading.requests.name) == len(reading.requests.hash_ids) == 2
    assert reading.lines == [1, 3]


def test_other_names_of_fields_are_understood():
    other = {"created_time": 5.5, "input_tokens": 100, "output_tokens": 2, "hash_ids": [1], "session_id": "s"}
    later = {"input_tokens": 101, "output_tokens": 3, "hash_ids": [1], "session_id": "s", "delay_ms": 700}
    table = read_mooncake(text_of(other, later)).requests
    assert (table.isl_tokens, table.output_tokens) == ([100, 101], [2, 3])
    assert (table.timestamp_ms, table.delay_ms) == ([5.5, None], [None, 700.0])


def test_every_field_reaches_its_column():
    full = {**ROW, "session_id": "s", "priority": -3, "strict_priority": 2, "policy_class": "gold", "other": [1]}
    table = read_mooncake(text_of(full, {**ROW, "session_id": "s", "delay": 1.5})).requests
    assert (table.priority_jump, table.strict_priority) == ([-3.0, 0.0], [2, 0])
    assert (table.policy_header, table.session, table.delay_ms) == (["gold", None], ["s", "s"], [None, 1.5])
    assert table.hash_ids == [(0, 1), (0, 1)]
    assert table.cached_tokens == [-1, -1]


@pytest.mark.parametrize("nothing", [{}, {"timestamp": None}, {"timestamp": None, "delay": None}])
def test_a_later_turn_may_have_neither_timestamp_nor_delay(nothing):
    bare = {key: value for key, value in ROW.items() if key != "timestamp"} | {"session_id": "s"}
    first = {**bare, "timestamp": 5}
    table = read_mooncake(text_of(first, {**bare, **nothing}, {**bare, **nothing}, {**bare, "timestamp": 7})).requests
    assert table.timestamp_ms == [5.0, None, None, 7.0]
    assert table.delay_ms == [None] * 4
    early = read_mooncake(
        text_of(first, {**bare, **nothing}, {**bare, "timestamp": 4}, {**bare, **nothing}), lenient=True
    )
    assert [problem.line for problem in early.problems] == [3]
    assert early.requests.timestamp_ms == [5.0, None, None]


def test_unknown_keys_are_ignored_or_kept_as_columns():
    rows = [ROW, {**ROW, "client": "a", "model": "m"}, {**ROW, "client": 7, "tags": ["x"]}, ROW]
    assert read_mooncake(text_of(*rows)).columns == {}
    assert read_mooncake(text_of(*rows), keep_columns=True).columns == {
        "client": [None, "a", "7", None],
        "model": [None, "m", None, None],
        "tags": [None, None, '["x"]', None],
    }


def test_files_with_marks_blank_lines_and_other_line_ends_are_the_same(tmp_path):
    rows = [{**ROW, "timestamp": t} for t in (0, 1.5, 2e3)]
    expected = read_mooncake(text_of(*rows)).requests
    lines = [json.dumps(row) for row in rows]
    texts = {
        "windows": "\ufeff" + "\r\n".join(lines) + "\r\n",
        "no_final_newline": "\n".join(lines),
        "blank_lines": "\n \n" + "\n\n\t\n".join(lines) + "\n\n",
        "old_mac": "\r".join(lines),
    }
    for name, text in texts.items():
        data = text.encode()
        (tmp_path / name).write_bytes(data)
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(data))
        for source in (text, data, gzip.compress(data), tmp_path / name, tmp_path / f"{name}.gz"):
            assert read_mooncake(source).requests == expected, name
    assert read_mooncake(iter(lines)).requests == expected
    assert read_mooncake(texts["blank_lines"]).lines == [3, 6, 9]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (json.dumps(ROW).encode("utf-16"), "UTF-16 text; save it as UTF-8"),
        (b"PK\x03\x04rest", "a zip or Excel file"),
        (b"PAR1rest", "a Parquet file"),
        (gzip.compress(b"x" * 1000, mtime=0)[:-9], "damaged gzip"),
        (gzip.compress(b"x" * 1000, mtime=0)[:12] + b"\xff" * 30, "damaged gzip"),
        (b"", "the trace has no request"),
        (b"\n\n", "the trace has no request"),
    ],
)
def test_what_is_no_trace_text_is_refused_in_words(data, message, tmp_path):
    (tmp_path / "file").write_bytes(data)
    for source in (data, tmp_path / "file"):
        with pytest.raises(WorkloadError, match=message):
            read_mooncake(source)


def test_a_missing_file_is_refused_in_words(tmp_path):
    with pytest.raises(WorkloadError, match=r"cannot read trace .*nothing.jsonl: No such file"):
        read_mooncake(tmp_path / "nothing.jsonl")


def test_a_byte_that_is_no_utf8_spoils_its_line_alone():
    rows = [ROW, {**ROW, "policy_class": "caf?"}, {**ROW, "policy_class": "café"}]
    data = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode().replace(b"?", b"\xe9")
    reading = read_mooncake(data, lenient=True)
    assert [p.text() for p in reading.problems] == ["line 2: no UTF-8 text: byte 0xe9 at column 100"]
    assert reading.requests.policy_header == [None, "café"]


def test_only_a_file_of_good_rows_is_taken_in_one_go(monkeypatch):
    """The quick way has to be taken where it can be, and to give the same rows as the careful one."""
    generator = random.Random(1)
    rows = [
        {**ROW, "timestamp": generator.randrange(9000) / 3, "hash_ids": [i, i + 1, i + 2], "policy_class": "aé"[i % 2]}
        for i in range(3000)
    ]
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    careful = []
    take_lines = mooncake.MooncakeTaker.take_lines
    monkeypatch.setattr(
        mooncake.MooncakeTaker, "take_lines", lambda self, *args: (careful.append(args[1]), take_lines(self, *args))[0]
    )
    quick = read_mooncake(text)
    assert careful == []
    monkeypatch.setattr(mooncake, "parse_rows", lambda lines: None)
    slow = read_mooncake(text)
    assert len(careful) == 3
    assert (quick.requests, quick.lines) == (slow.requests, slow.lines)


def test_progress_is_told_and_ends_with_all_lines():
    told = []
    read_mooncake(text_of(*[ROW] * 2500), progress=told.append)
    assert told == [1024, 2048, 2500]


LINE = st.one_of(
    st.sampled_from(
        ['{"a":1}', '{"a":{}}', '{"a":[{"b":1}', '{"b":2}]}', '{"a":1},{"b":2}', '{"a":1', '"b":2}', "[]", "", "null"]
    ),
    st.text('{}[]",:ab1 \n', max_size=12),
)


@given(st.lists(LINE, min_size=1, max_size=6))
def test_rows_parsed_together_are_the_rows_parsed_alone(lines):
    """Also where broken lines would make good rows together."""
    together = parse_rows(lines)
    if together is not None:
        assert together == [parse_row(line) for line in lines]


def test_lines_that_are_whole_only_together_are_not_taken_together():
    lines = ['{"a":[{"b":1}', '{"c":2}]}', '{"d":3},{"e":4}']
    assert json.loads("[" + ",".join(lines) + "]")[1:] == [{"d": 3}, {"e": 4}]
    assert parse_rows(lines) is None
    with pytest.raises(BadRowError, match="no valid JSON"):
        parse_row(lines[0])
