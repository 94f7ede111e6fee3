"""Telling rows of the real router apart, and putting its answer into line order."""

from __future__ import annotations

import json
import random

import pytest

from drr.dynamo.case import ReplayCase, in_line_order, rows_have_identity, with_row_identity
from drr.errors import DrrError


def a_case(*rows, **options) -> ReplayCase:
    return ReplayCase("", 1, {"block_size": 16}, 16, options, rows, "made", 7)


def a_row(length: int, **fields) -> dict:
    return {"timestamp": 5.0, "input_length": length, "output_length": 1, "hash_ids": [1] * -(-length // 16)} | fields


def test_rows_of_unlike_lengths_need_no_late_session():
    case = a_case(a_row(10), a_row(11))
    assert with_row_identity(case) is case


def test_equal_lengths_get_a_late_two_turn_session_of_an_unused_name_and_unused_blocks():
    case = with_row_identity(a_case(a_row(10), a_row(10, session_id="zz"), a_row(40), arrival_speedup_ratio=2.0))
    late = case.rows[3:]
    assert [row["session_id"] for row in late] == ["zzz", "zzz"]
    assert all(row["timestamp"] >= 5.0 + 2.0e9 for row in late)
    assert not {block for row in late for block in row["hash_ids"]} & {1}
    assert rows_have_identity(case.rows)
    assert with_row_identity(case) is case


def test_a_session_of_one_turn_is_no_identity():
    assert not rows_have_identity([a_row(10, session_id="a"), a_row(10, session_id="b")])
    assert rows_have_identity([a_row(10, session_id="a"), a_row(10, session_id="a")])


def test_answers_come_back_in_line_order_by_length_where_lengths_are_unlike():
    rows = [a_row(length) for length in (30, 10, 20)]
    answers = [{"session_id": None, "turn_index": None, "input_length": length} for length in (10, 20, 30)]
    assert [answer["input_length"] for answer in in_line_order(rows, answers)] == [30, 10, 20]


def test_answers_come_back_in_line_order_by_session_and_turn_where_lengths_repeat():
    rows = [a_row(10), a_row(10, session_id="s"), a_row(10), a_row(10, session_id="s")]
    names = [("request_1", 0), ("s", 0), ("request_3", 0), ("s", 1)]
    answers = [{"session_id": name, "turn_index": turn, "input_length": 10} for name, turn in names]
    random.Random(1).shuffle(answers)
    assert [(a["session_id"], a["turn_index"]) for a in in_line_order(rows, answers)] == names


@pytest.mark.parametrize("lengths", [(10,), (10, 11, 12), (10, 12)])
def test_answers_that_belong_to_other_rows_are_refused(lengths):
    answers = [{"session_id": None, "turn_index": None, "input_length": length} for length in lengths]
    with pytest.raises(DrrError, match="the real router reports"):
        in_line_order([a_row(10), a_row(11)], answers)


def test_a_case_survives_the_form_of_the_recordings():
    case = a_case(a_row(10, policy_class="c0"), a_row(11), arrival_speedup_ratio=2.0)
    again = ReplayCase.from_mapping(json.loads(json.dumps(case.to_mapping())))
    assert again.to_mapping() == case.to_mapping()
    assert again.case_id == "made/7"


def test_the_trace_has_one_line_per_row_and_keeps_every_float():
    case = a_case(a_row(10, timestamp=0.1 + 0.2), a_row(11))
    lines = case.trace_text().splitlines()
    assert [json.loads(line) for line in lines] == [dict(row) for row in case.rows]
