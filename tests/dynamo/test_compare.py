"""The first difference between two answers, in words."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from drr.dynamo.case import ObservedRow, ReplayAnswer
from drr.dynamo.cases import random_case
from drr.dynamo.compare import first_difference, ours, profile_of
from drr.errors import WorkloadError

ROW = ObservedRow("queued", 10.0, 0, 12.0, 20.0, 30.0)
LATER = ObservedRow("immediate", None, 0, 40.0, 50.0, 60.0)


def test_equal_answers_have_no_difference():
    assert first_difference(ReplayAnswer((ROW, LATER)), ReplayAnswer((ROW, LATER))) is None


def test_one_unit_in_the_last_place_is_a_difference():
    close = ROW._replace(first_token_ms=math.nextafter(20.0, 21.0))
    text = first_difference(ReplayAnswer((ROW,)), ReplayAnswer((close,)))
    assert text == (
        "row 0 (the first in time of 1 that differ): first_token_ms is 20.0 on the real router, 20.000000000000004 here"
    )


def test_the_difference_that_comes_first_in_time_is_named_with_every_field():
    real = ReplayAnswer((LATER, ROW))
    own = ReplayAnswer((LATER._replace(last_token_ms=61.0), ROW._replace(outcome="immediate", released_at_ms=None)))
    text = first_difference(real, own)
    assert text is not None
    assert text.startswith("row 1 (the first in time of 2 that differ): outcome is 'queued' on the real router")
    assert "released_at_ms is 10.0 on the real router, None here" in text


def test_an_abort_is_compared_by_its_reason():
    rows, limit = ReplayAnswer((ROW,)), ReplayAnswer(None, aborted_because="limit=4")
    assert first_difference(limit, ReplayAnswer(None, aborted_because="limit=4")) is None
    other = first_difference(limit, ReplayAnswer(None, aborted_because="limit=5"))
    assert other == "end of the replay: aborted (limit=4) on the real router, aborted (limit=5) here"
    assert first_difference(limit, rows) == "end of the replay: aborted (limit=4) on the real router, complete here"


def test_a_followed_worker_that_is_not_among_the_cheapest_is_a_difference():
    own = ReplayAnswer((ROW,), not_cheapest={0: (0, (1, 2))})
    text = first_difference(ReplayAnswer((ROW,)), own)
    assert text == "row 0: worker is 0 on the real router, the cheapest here: 1, 2"


def test_a_missing_answer_is_no_agreement():
    text = first_difference(ReplayAnswer(None, failed_because="it ended"), ReplayAnswer((ROW,)))
    assert text == "no answer to compare: it ended"


def test_our_own_answer_follows_the_workers_it_is_given_and_names_the_ones_that_cost_more():
    case = random_case("several-output-1", 0)
    free = ours(case)
    assert free.observed is not None
    same = ours(case, free.workers_followed)
    assert same.observed == free.observed
    assert not same.not_cheapest
    forced = ours(case, [0] * len(case.rows))
    assert forced.workers_followed == (0,) * len(case.rows)
    assert forced.not_cheapest


@pytest.mark.parametrize("policy", [None, "fcfs", "wspt"])
@pytest.mark.parametrize("threshold", [None, 0.25])
def test_without_a_policy_file_the_routers_own_options_make_the_class(policy, threshold):
    options = {"router_queue_threshold": threshold, "router_queue_policy": policy}
    given = {name: value for name, value in options.items() if value is not None}
    case = replace(random_case("several-output-1", 0), policy_yaml="", options=given)
    (only,) = profile_of(case).classes
    assert (only.queue_policy, only.prefill_busy_threshold_frac) == (policy or "fcfs", threshold)


def test_an_order_that_is_not_modelled_is_refused():
    case = replace(random_case("several-output-1", 0), policy_yaml="", options={"router_queue_policy": "lcfs"})
    with pytest.raises(WorkloadError, match="'lcfs'; fcfs and wspt are modelled"):
        ours(case)
