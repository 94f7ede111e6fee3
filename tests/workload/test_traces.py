"""Trace formats. Azure, BurstGPT heads and Mooncake are real rows (see the shared folder); rows in this file are made
by hand in the published forms: Azure 2024, BurstGPT, Qwen-Bailian."""

from __future__ import annotations

import csv
import gzip
import json
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drr.errors import WorkloadError
from drr.simulation.manual import Arrive, At, Call, run_manual
from drr.workload.traces import read_trace
from drr.workload.traces_formats import TraceSpec, look_at
from drr.workload.traces_values import ms_of_cell, ns_of_date, whole_of_cell
from drr.workload.typed import profile_of

MOONCAKE = '{"timestamp": 0, "input_length": 900, "output_length": 12, "hash_ids": [0, 1]}\n'
AZURE = (
    "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
    "2023-11-16 18:56:22.0732650,406,90\r\n2023-11-16 18:56:22.3411871,252,94"
)
AZURE_2024 = (
    "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,2162,5\n2024-05-10 00:00:01+00:00,16,2\n"
)
BURST = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Conversation log\n"
BURST_3 = (
    "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    "19440110.0,1722ac82,43,GPT-4,906,0,906,Conversation log\n19440161.5,,2,ChatGPT,36,29,65,API log\n"
)
QWEN = [
    {"chat_id": 7, "parent_chat_id": -1, "timestamp": 61.114, "input_length": 40, "output_length": 9, "type": "text"},
    {"chat_id": 8, "parent_chat_id": 7, "timestamp": 62.5, "input_length": 60, "output_length": 3, "type": "search"},
    {"chat_id": 9, "parent_chat_id": 8, "timestamp": 63.0, "input_length": 16, "output_length": 1, "type": "text"},
    {"chat_id": 10, "parent_chat_id": -1, "timestamp": 63.0, "input_length": 17, "output_length": 1, "type": "image"},
]
for _row, _ids in zip(QWEN, ([5, 6, 7], [5, 6, 7, 8], [5], [9, 10]), strict=True):
    _row |= {"turn": 1, "hash_ids": _ids}
QWEN_TEXT = "\n".join(map(json.dumps, QWEN))
EXCEL = (
    "arrival_ms;policy_class; raw_isl_tokens ;cached_tokens\n"
    "0;premium;1,024;0\n10,5;regular;2.048;0\n20;premium;512;\n;;;\n"
)


@pytest.mark.parametrize(
    ("text", "form", "unit", "block"),
    [
        (MOONCAKE, "mooncake", "ms", 512),
        (MOONCAKE.replace("timestamp", "created_time"), "mooncake", "ms", 512),
        (MOONCAKE.replace("input_length", "input_tokens"), "mooncake", "ms", 512),
        (MOONCAKE.replace(": 0,", ": 1700000000,"), "mooncake", "s", 512),
        (QWEN_TEXT, "qwen_bailian", "s", 16),
        ('{"arrival_s": 1.5, "prompt_tokens": 5, "completion_tokens": 6}', "jsonl", "s", 512),
        (AZURE, "azure", "date", 512),
        (AZURE_2024, "azure", "date", 512),
        (BURST, "burstgpt", "s", 512),
        (BURST_3, "burstgpt", "s", 512),
        (EXCEL, "csv", "ms", 512),
        ("time,isl\n1700000000123,5\n", "csv", "ms", 512),
        ("time,isl\n1700000000.25,5\n", "csv", "s", 512),
        ("time\tisl\n1700000000123456789\t5\n", "csv", "ns", 512),
        ("created_at|isl\n2024-01-01T00:00:00Z|5\n", "csv", "date", 512),
    ],
)
def test_a_format_is_recognised_by_its_content(text, form, unit, block):
    spec = look_at(text).require()
    assert (spec.format, spec.time_unit, spec.block_size_tokens) == (form, unit, block)
    assert spec.why_unit
    assert TraceSpec.from_mapping(json.loads(json.dumps(spec.to_mapping()))) == spec
    for source in (text, text.encode(), gzip.compress(text.encode()), text.splitlines(keepends=True)):
        assert look_at(source).spec == spec


def test_azure_rows_keep_seven_digits_and_a_missing_final_newline():
    reading = read_trace(AZURE)
    assert reading.requests.isl_tokens == [406, 252]
    assert reading.requests.output_tokens == [90, 94]
    assert reading.requests.timestamp_ms == [73.265, 341.1871]
    assert reading.lines == [2, 3]
    assert "time 0 is 2023-11-16 18:56:22 (UTC where the file names no zone)" in reading.notes


def test_azure_2024_rows_have_a_zone_and_whole_seconds():
    assert read_trace(AZURE_2024).requests.timestamp_ms == [9.93, 1000.0]
    east = AZURE_2024.replace("00:00:01+00:00", "01:00:01.25+01:00")
    assert read_trace(east).requests.timestamp_ms == [9.93, 1250.0]


def test_burstgpt_seconds_models_and_failures():
    reading = read_trace(BURST_3)
    assert reading.requests.timestamp_ms == [19440110000.0, 19440161500.0]
    assert (reading.requests.isl_tokens, reading.requests.output_tokens) == ([906, 36], [0, 29])
    assert reading.columns["Model"] == ["GPT-4", "ChatGPT"]
    assert reading.columns["Log Type"] == ["Conversation log", "API log"]
    assert reading.columns["session"] == ["1722ac82", None]
    assert reading.requests.session == [None, None]
    assert any("sessions are kept as a column" in note for note in reading.notes)
    assert read_trace(BURST).requests.timestamp_ms == [5000.0]


def test_qwen_rows_are_seconds_with_blocks_of_16_tokens():
    reading = read_trace(QWEN_TEXT)
    assert reading.block_size_tokens == 16
    assert reading.requests.timestamp_ms == [61114.0, 62500.0, 63000.0, 63000.0]
    assert reading.requests.hash_ids == [(5, 6, 7), (5, 6, 7, 8), (5,), (9, 10)]
    assert reading.columns["chat"] == ["7", "7", "7", "10"]
    assert reading.columns["type"] == ["text", "search", "text", "image"]
    short = QWEN_TEXT.replace("[5, 6, 7]", "[5, 6]")
    with pytest.raises(WorkloadError, match="line 1: hash_ids holds 2 blocks; input_length needs 3"):
        read_trace(short)


@pytest.mark.parametrize("session", [7, "7", None, [7], {"a": 7}, True, 1e9])
def test_anything_may_stand_in_a_session_that_is_kept_as_a_column(session):
    row = {"arrival_s": 1, "prompt_tokens": 7, "completion_tokens": 6, "session": session}
    reading = read_trace("\n".join(json.dumps({**row, "arrival_s": at}) for at in (5, 3)))
    assert reading.requests.session == [None, None]
    shown = session if isinstance(session, str | None) else json.dumps(session)
    assert reading.columns.get("session", [None, None]) == [shown, shown]


def test_a_spec_of_before_reads_as_it_did():
    spec = look_at(QWEN_TEXT).spec
    assert TraceSpec.from_mapping({**spec.to_mapping(), "closed_loop": False}) == spec
    with pytest.raises(WorkloadError, match="'closed_loop' is unknown"):
        TraceSpec.from_mapping({**spec.to_mapping(), "closed_loop": True})


@pytest.mark.parametrize("text", [EXCEL, "\ufeff" + EXCEL.replace("\n", "\r\n")])
def test_a_sheet_from_a_european_excel_is_not_guessed_at(text):
    reading = read_trace(text, lenient=True)
    assert reading.requests.isl_tokens == [512]
    assert reading.requests.cached_tokens == [0]
    assert reading.counts_text() == "1 row loaded, 2 left out"
    first, second = (problem.text() for problem in reading.problems)
    assert first.startswith(
        'line 2: raw_isl_tokens is "1,024"; a whole number from 1 to 1,000,000,000 is allowed; digits'
    )
    assert second.startswith('line 3: arrival_ms is "10,5"; a number of milliseconds is allowed; digits in groups')
    assert 'raw_isl_tokens is "2.048"' in second
    assert "cached tokens empty in 1 row: read as 0" in reading.notes
    assert "1 row with nothing but empty cells ignored" in reading.notes
    assert "no column for output tokens: every request generates 1 token" in reading.notes
    with pytest.raises(WorkloadError, match="2 bad trace lines: line 2: raw_isl_tokens"):
        read_trace(text)


def test_the_clean_sheet_has_three_rows():
    clean = "arrival_ms,policy_class,raw_isl_tokens,cached_tokens\n"
    clean += "0,premium,1024,0\n10.5,regular,2048,0\n20,premium,512,0\n"
    table = read_trace(clean).requests
    assert (table.isl_tokens, table.timestamp_ms) == ([1024, 2048, 512], [0.0, 10.5, 20.0])
    assert table.policy_header == ["premium", "regular", "premium"]


@pytest.mark.parametrize(("policy", "forth", "back"), [("fcfs", "1234", "4321"), ("wspt", "2431", "4231")])
@pytest.mark.parametrize("again", range(3))
def test_equal_times_keep_file_order(policy, forth, back, again):
    rows = ["862,r1,300", "862,r2,100", "862,r3,200", "862,r4,100"]
    spec = TraceSpec(
        "csv", columns=(("timestamp", "column 1"), ("name", "column 2"), ("input_length", "column 3")), has_header=False
    )
    profile = profile_of({"only": 500}, {"only": policy})
    for lines, expected in ((rows, forth), (rows[::-1], back)):
        table = read_trace("\n".join(lines), spec).requests
        script = [At(862.0), *(Arrive(row, wait=True) for row in range(4)), At(1000.0), *[Call()] * 4]
        run = run_manual(profile, table, script, capacity="open")
        order = [run.step_request[step] for step in run.decision_steps]
        assert "".join(table.name[row][1:] for row in order) == expected


def test_a_table_without_header_has_numbered_columns():
    look = look_at("862,r1,300\n863,r2,200\n")
    assert look.column_names == ("column 1", "column 2", "column 3")
    assert look.missing == ("timestamp", "input_length")
    with pytest.raises(
        WorkloadError, match="hold timestamp and input_length; the file has: column 1, column 2, column 3"
    ):
        look.require()


def test_quoted_headers_and_cells_and_empty_cells():
    text = '"Arrival Time (s)","Prompt Tokens","Completion Tokens","who, exactly",note\n'
    text += '"1.5","12","3","a ""b"", c",\n2,13,4,,x\n'
    spec = TraceSpec(
        "csv",
        "s",
        columns=(
            ("timestamp", "Arrival Time (s)"),
            ("input_length", "Prompt Tokens"),
            ("output_length", "Completion Tokens"),
        ),
    )
    reading = read_trace(text, spec)
    assert reading.requests.timestamp_ms == [1500.0, 2000.0]
    assert reading.requests.isl_tokens == [12, 13]
    assert reading.columns == {"who, exactly": ['a "b", c', None], "note": [None, "x"]}


CSV = "timestamp,input_tokens,output_tokens,policy_class,strict_priority,hash_ids\n"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("0,12 80,1,,,", 'input_tokens is "12 80"'),
        ("0,true,1,,,", 'input_tokens is "true"'),
        ("0,NaN,1,,,", 'input_tokens is "NaN"'),
        ("inf,5,1,,,", 'timestamp is "inf"'),
        ("1e999,5,1,,,", "timestamp is 1e999; a finite number"),
        (",5,1,,,", "timestamp is empty; a number of milliseconds is needed"),
        ("0,,1,,,", "input_tokens is empty"),
        ("0,5,,,,", "output_tokens is empty"),
        ("0,0,1,,,", 'input_tokens is "0"; a whole number from 1'),
        ("0,5,-1,,,", 'output_tokens is "-1"; a whole number from 0'),
        ("0,5.5,1,,,", 'input_tokens is "5.5"'),
        ("0,1_000,1,,,", 'input_tokens is "1_000"'),
        ("0,١٢,1,,,", 'input_tokens is "١٢"'),
        ("0,1e999999999,1,,,", 'input_tokens is "1e999999999"'),
        ("0,5,1", "3 cells; the header has 6"),
        ("0,5,1,,,,9", "7 cells; the header has 6"),
        ('0,5,1,"gold,,', "quotes do not match"),
        ("0,5,1,,x,", 'strict_priority is "x"'),
        ("0,5,1,,,[1", "a list like"),
        ("0,5,1,,,3 ４ 5", "a list like"),
        ("0,5,1,,,４", "a list like"),
        ("0,5,1,,,3 é 5", "a list like"),
        ("0,5,1,,,+3", "a list like"),
        ("0,5,1,,,-3", "a list like"),
        ("0,5,1,,,1_0", "a list like"),
        ("0,5,1,,,3.0", "a list like"),
        ("0,5,1,,," + "[" * 100_000, "a list like"),
        ("0,5,1,,," + "9" * 5_000, "a list like"),
        ("0,5,1,,,[1.5]", "list of whole numbers"),
        ("0,600,1,,,1", "hash_ids holds 1 blocks; input_tokens? ?"),
    ],
)
def test_a_bad_cell_is_refused_with_line_column_and_reason(row, message):
    good = "7,5,1,,,"
    reading = read_trace(f"{CSV}{good}\n{row}\n{good}\n", lenient=True)
    assert len(reading.requests) == 2
    (problem,) = reading.problems
    assert problem.line == 3
    assert message.removesuffix("input_tokens? ?") in problem.message


def test_good_cells_in_all_their_forms():
    reading = read_trace(f'{CSV} 1e3 ,512.0,5E1,gold,3,1 2\n-2.5,5.12e2,0,,,"[3, 4]"\n')
    table = reading.requests
    assert table.timestamp_ms == [1000.0, -2.5]
    assert (table.isl_tokens, table.output_tokens) == ([512, 512], [50, 0])
    assert (table.policy_header, table.strict_priority) == (["gold", None], [3, 0])
    assert table.hash_ids == [(1, 2), (3, 4)]
    assert "1 row earlier than one above: requests arrive by time, equal times in file order" in reading.notes


def test_other_json_names_and_a_wrong_type():
    rows = ['{"arrival_s": 0.1, "prompt_tokens": 5, "completion_tokens": 6, "user": "u", "n": 1}']
    rows += ['{"arrival_s": true, "prompt_tokens": 5, "completion_tokens": 6}']
    rows += ['{"arrival_s": 0.3, "prompt_tokens": "5", "completion_tokens": 6}', '{"arrival_s": 1, "prompt_tokens": 7}']
    reading = read_trace("\n".join(rows), lenient=True)
    assert reading.requests.timestamp_ms == [100.0]
    assert reading.columns == {"user": ["u"], "n": ["1"]}
    assert [p.text() for p in reading.problems] == [
        "line 2: arrival_s is true; a finite number of seconds is allowed",
        'line 3: prompt_tokens is "5"; a whole number of at least 1 is allowed',
        "line 4: completion_tokens is missing; a whole number of at least 0 is needed",
    ]


def test_mooncake_in_seconds_when_the_unit_is_changed():
    text = MOONCAKE.replace(": 0,", ": 0.1,") + MOONCAKE.replace(": 0,", ": 1.25,")
    assert read_trace(text, TraceSpec("mooncake", "s")).requests.timestamp_ms == [100.0, 1250.0]
    assert read_trace(text).requests.timestamp_ms == [0.1, 1.25]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the trace is empty"),
        ("[\n{}\n]", "one JSON object per line, without brackets"),
        ("{broken\n{too", "none of the first lines is a JSON object"),
        ("a,b\n1,2\n", "hold timestamp and input_length; the file has: a, b"),
        ("time,isl,time\n1,2,3\n", "the column 'time' stands twice"),
        ('{"when": 5}', "hold timestamp and input_length; the file has: when"),
        ("timestamp,isl\n", "the trace has no request"),
    ],
)
def test_what_is_no_trace_is_refused_in_words(text, message):
    with pytest.raises(WorkloadError, match=message):
        read_trace(text)


@pytest.mark.parametrize("head", ["time,isl,tier\n", "1,2,3\n"])
def test_every_sample_row_has_as_many_cells_as_there_are_columns(head):
    look = look_at(head + '0,1\n0,1,a,b,c\n0\n\n0,"1\n,,,,,,\n')
    assert len(look.column_names) == 3
    assert {len(row) for row in look.sample_rows} == {3}
    assert ("0", "1", "") in look.sample_rows
    assert ("0", "1", "a") in look.sample_rows


def test_a_picture_is_no_trace_and_a_broken_byte_in_a_sample_row_can_be_shown():
    with pytest.raises(WorkloadError, match="the first line is no UTF-8 text: byte 0x89 at column 1"):
        look_at(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    look = look_at(b"time_s,isl,tier\n1,2,gr\xfcn\n2,3,ok\n")
    assert look.sample_rows == (("1", "2", "gr?n"), ("2", "3", "ok"))
    reading = read_trace(b"time_s,isl,tier\n1,2,gr\xfcn\n2,3,ok\n", lenient=True)
    assert [each.text() for each in reading.problems] == ["line 2: no UTF-8 text: byte 0xfc at column 7"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"format": "excel"}, "trace format 'excel' is unknown; there are: mooncake"),
        ({"time_unit": "h"}, "trace time_unit 'h' is unknown"),
        ({"block_size_tokens": 0}, "block_size_tokens is 0"),
        ({"columns": [["length", "x"]]}, "trace columns 'length' is unknown"),
        ({"columns": [["timestamp"]]}, "no list of pairs"),
        ({"colour": 1}, "'colour' is unknown"),
        *(({"delimiter": mark}, "trace delimiter .* is unknown") for mark in ("", ",;", "\t|", " ", 5, None, [","])),
        *(({"has_header": value}, "has_header is .*; true or false") for value in (1, "yes", None, [])),
        *(({"why_unit": value}, "why_unit is .*; text is allowed") for value in (1, None, ["x"])),
        *(({"format": value}, "trace format .* is unknown") for value in (1, None, ["csv"])),
    ],
)
def test_a_bad_spec_is_refused_with_what_is_allowed(data, message):
    with pytest.raises(WorkloadError, match=message):
        TraceSpec.from_mapping(data)


def test_a_spec_for_another_file_is_refused():
    spec = look_at(BURST).spec
    with pytest.raises(WorkloadError, match="the file has no column 'Timestamp'; it has: TIMESTAMP, ContextTokens"):
        read_trace(AZURE, spec)


@given(st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1)), st.integers(-14 * 60, 14 * 60))
def test_dates_are_what_the_calendar_says(moment, offset_minutes):
    sign = "-" if offset_minutes < 0 else "+"
    hours, minutes = divmod(abs(offset_minutes), 60)
    text = f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond:06d}7{sign}{hours:02d}:{minutes:02d}"
    since = moment - datetime(1970, 1, 1) - timedelta(minutes=offset_minutes)
    assert ns_of_date("t", text) == (since // timedelta(microseconds=1)) * 1000 + 700


@given(st.integers(0, 10**9))
def test_whole_numbers_survive_every_way_of_writing(number):
    for text in (str(number), f"{number}.0", f"{number}e0", f"{number}0e-1", f"{number}.000E+0"):
        assert whole_of_cell("n", text, least=0) == number


@given(st.decimals(-(10**6), 10**6, places=6))
def test_seconds_become_the_nearest_milliseconds(seconds):
    assert ms_of_cell("t", f"{seconds:f}", "s") == float(seconds * 1000)


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("mooncake_conversation.jsonl", 3000),
        ("mooncake_mixed_1000.jsonl", 1000),
        ("mooncake_synthetic.jsonl", 600),
        ("azure2023_conv.csv", 5000),
        ("azure2023_code.csv", 1481),
        ("burstgpt1_head3.csv", 3),
        ("burstgpt3_head4.csv", 4),
    ],
)
def test_every_shared_trace_loads_whole(shared_folder, name, rows, tmp_path):
    path = shared_folder / "traces" / name
    reading = read_trace(path)
    assert (len(reading.requests), len(reading.problems), reading.name) == (rows, 0, name)
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read_trace(packed).requests == reading.requests


def test_azure_times_are_exact_to_the_digit(shared_folder):
    path = shared_folder / "traces" / "azure2023_conv.csv"
    stamps = read_trace(path).requests.timestamp_ms
    with path.open(newline="") as file:
        texts = [row["TIMESTAMP"] for row in csv.DictReader(file)]
    start = datetime(2023, 11, 16, 18, 56, 22)
    for text, stamp in zip(texts, stamps, strict=True):
        whole = datetime.fromisoformat(text[:-1]) - start  # Python's dates end at microseconds
        assert stamp == ((whole // timedelta(microseconds=1)) * 10 + int(text[-1])) / 10_000
