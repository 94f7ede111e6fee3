from __future__ import annotations

import json
from collections import Counter

import pytest

from drr.errors import WorkloadError
from drr.policy import load_policy
from drr.policy.schema import synthetic_profile
from drr.router.requests import RequestTable
from drr.workload.mapping import ClassMapping, apply, possible_headers, preview, unknown_headers

POLICY = """
default_policy_family: chat
uncached_isl_buckets:
  - {bucket: short, min_tokens: 0}
  - {bucket: long, min_tokens: 1000}
policy_classes:
  - {name: urgent, quantum: 512}
  - {name: a, policy_family: agent, cache_bucket: short, quantum: 512}
  - {name: b, policy_family: agent, cache_bucket: long, quantum: 512}
  - {name: c, policy_family: chat, cache_bucket: short, quantum: 512}
  - {name: d, policy_family: chat, cache_bucket: long, quantum: 512}
"""


@pytest.fixture
def profile():
    return load_policy(POLICY).profile_for()


def requests(*rows):
    """Rows of (input tokens, hash ids, policy header)."""
    table = RequestTable()
    for isl, hash_ids, header in rows:
        table.append(isl, hash_ids=hash_ids, policy_header=header)
    return table


@pytest.fixture
def table():
    first_ids = [7, 7, 3, 3, 3, 9, None]
    return requests(*((100 * (i + 1), () if n is None else (n, 50 + i), "x") for i, n in enumerate(first_ids)))


def test_as_written_leaves_the_table_alone(table, profile):
    assert apply(ClassMapping(), table, profile) is table


def test_the_most_frequent_first_blocks_go_to_the_headers_in_order_and_the_rest_to_the_default(table):
    mapping = ClassMapping("first_block", headers=("one", "two"), default="rest")
    assert apply(mapping, table).policy_header == ["two", "two", "one", "one", "one", "rest", "rest"]
    assert table.policy_header == ["x"] * 7


def test_equally_frequent_blocks_go_by_first_appearance():
    table = requests((1, (5,), None), (1, (4,), None), (1, (4,), None), (1, (5,), None))
    mapping = ClassMapping("first_block", headers=("one", "two"))
    assert apply(mapping, table).policy_header == ["one", "two", "two", "one"]


def test_headers_come_from_the_policy_where_the_rule_names_none(table, profile):
    assert possible_headers(profile) == ("agent", "chat", "urgent")
    mapped = apply(ClassMapping("first_block"), table, profile)
    assert mapped.policy_header == ["chat", "chat", "agent", "agent", "agent", "urgent", None]


def test_named_first_blocks_get_their_headers(table):
    mapping = ClassMapping("first_block", given=(("9", "nine"), ("7", None)), default="rest")
    assert apply(mapping, table).policy_header == [None, None, "rest", "rest", "rest", "nine", "rest"]


def test_a_column_maps_by_value(table):
    columns = {"model": ["m1", "m2", "m2", None, "m3", "m2", "m1"]}
    named = ClassMapping("column", column="model", given=(("m2", "two"),), default="rest")
    assert apply(named, table, columns=columns).policy_header == ["rest", "two", "two", "rest", "rest", "two", "rest"]
    counted = ClassMapping("column", column="model", headers=("most", "then"))
    assert apply(counted, table, columns=columns).policy_header == ["then", "most", "most", None, None, "most", "then"]


def test_the_policy_class_of_the_trace_is_a_column_too(table):
    mapping = ClassMapping("column", column="policy_class", given=(("x", "y"),))
    assert apply(mapping, table).policy_header == ["y"] * 7


def test_a_missing_column_is_refused_with_the_list(table):
    with pytest.raises(WorkloadError, match="no column 'client'; it has: policy_class, file, model"):
        apply(ClassMapping("column", column="client"), table, columns={"file": ["f"] * 7, "model": ["m"] * 7})


def test_a_length_at_a_bound_belongs_above_it(table):
    mapping = ClassMapping("length", headers=("short", "medium", "long"), bounds_tokens=(200, 600))
    expected = ["short", "medium", "medium", "medium", "medium", "long", "long"]
    assert apply(mapping, table).policy_header == expected


def test_a_length_rule_needs_one_header_more_than_bounds(table):
    with pytest.raises(WorkloadError, match=r"3 policy families or classes are needed, there are 2 \(a, b\)"):
        apply(ClassMapping("length", headers=("a", "b"), bounds_tokens=(1, 2)), table)


def test_percentages_are_drawn_by_the_seed_and_about_right():
    table = requests(*((10, (), None) for _ in range(20_000)))
    mapping = ClassMapping("percentage", headers=("a", "b"), percents=(20, 50), seed=3)
    counts = Counter(apply(mapping, table).policy_header)
    assert counts["a"] == pytest.approx(4_000, abs=250)
    assert counts["b"] == pytest.approx(10_000, abs=300)
    assert counts[None] == 20_000 - counts["a"] - counts["b"]
    again = apply(mapping, table).policy_header
    assert again == apply(mapping, table).policy_header
    other = apply(ClassMapping("percentage", headers=("a", "b"), percents=(20, 50), seed=4), table)
    assert again != other.policy_header


def test_a_hundred_percent_leaves_nothing_to_the_default():
    table = requests(*((10, (), None) for _ in range(1000)))
    thirds = ClassMapping("percentage", headers=("a", "b", "c"), percents=(33.3, 33.3, 33.4))
    assert None not in apply(thirds, table).policy_header


@pytest.mark.parametrize("kind", ["percentage", "round_robin"])
def test_turns_of_a_session_stay_together(kind):
    table = RequestTable()
    for row in range(60):
        table.append(10, session=f"s{row % 20}" if row % 3 else None)
    mapping = ClassMapping(kind, headers=("a", "b"), percents=(50, 50) if kind == "percentage" else ())
    headers = apply(mapping, table).policy_header
    of_session = {}
    for session, header in zip(table.session, headers, strict=True):
        assert session is None or of_session.setdefault(session, header) == header
    assert set(headers) == {"a", "b"}


def test_round_robin_takes_turns(table):
    headers = apply(ClassMapping("round_robin", headers=("a", "b", "c")), table).policy_header
    assert headers == ["a", "b", "c", "a", "b", "c", "a"]


def test_the_synthetic_policy_has_nothing_to_map_to(table):
    with pytest.raises(WorkloadError, match="1 policy families or classes are needed, there are 0"):
        apply(ClassMapping("round_robin"), table, synthetic_profile())


@pytest.mark.parametrize(
    "mapping",
    [
        ClassMapping(),
        ClassMapping("first_block", headers=("a",), default="b", given=(("7", None), ("8", "c"))),
        ClassMapping("column", column="model"),
        ClassMapping("length", bounds_tokens=(10, 20)),
        ClassMapping("percentage", percents=(12.5, 50.0), seed=9),
        ClassMapping("round_robin", headers=("a", "b")),
    ],
)
def test_a_rule_survives_json(mapping):
    assert ClassMapping.from_mapping(json.loads(json.dumps(mapping.to_mapping()))) == mapping
    assert hash(mapping) == hash(ClassMapping.from_mapping(mapping.to_mapping()))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"kind": "magic"}, "'magic' is unknown; there are: as_written"),
        ({"kind": "length"}, "bounds are nothing"),
        ({"kind": "length", "bounds_tokens": [20, 10]}, "bounds are 20, 10; rising"),
        ({"kind": "length", "bounds_tokens": [True]}, "bounds_tokens is True; a whole number"),
        ({"kind": "percentage", "percents": [60, 50]}, "percentages are 60, 50"),
        ({"kind": "percentage", "percents": [-1]}, "percentages are -1"),
        ({"kind": "column"}, "name of a column is missing"),
        ({"kind": "first_block", "given": [["1", "a"], ["1", "b"]]}, "'1' is named twice"),
        ({"kind": "first_block", "given": [["1"]]}, "list of pairs"),
        ({"seeds": 1}, "'seeds' is unknown"),
        ({"headers": "premium"}, "headers is 'premium'; a list"),
    ],
)
def test_a_bad_rule_is_refused_with_what_is_allowed(data, message):
    with pytest.raises(WorkloadError, match=message):
        ClassMapping.from_mapping(data)


def test_the_preview_counts_requests_and_tokens_per_class_without_cache_hits(profile):
    table = requests((999, (), "agent"), (1000, (), "agent"), (5, (), None), (7, (), "urgent"), (8, (), "nonsense"))
    figures = [(p.class_name, p.requests, p.input_tokens, p.output_tokens) for p in preview(table, profile)]
    assert figures == [("urgent", 1, 7, 1), ("a", 1, 999, 1), ("b", 1, 1000, 1), ("c", 2, 13, 2), ("d", 0, 0, 0)]
    assert unknown_headers(table, profile) == {"nonsense": 1}
