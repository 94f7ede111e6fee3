"""The event log: rows, windows, filters, and a CSV that reads back as it was and runs nothing in a spreadsheet."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drr.analysis.log import CSV_COLUMNS, KIND_WORDS, log_csv, log_rows, matching_steps, policy_fingerprint, safe_cell
from drr.policy import CacheBucket, PolicyClass, Profile, load_policy, synthetic_profile
from drr.policy.samples import sample
from drr.router.endpoints import Worker
from drr.router.requests import Constraint, RequestTable
from drr.scheduler.ring import CursorRule
from drr.simulation.engine_options import EngineOptions
from drr.simulation.manual import Action, Arrive, Call, Change, Drain, Finish, run_manual
from drr.simulation.recording import Run
from drr.simulation.replay import replay
from drr.simulation.snapshots import CHECKPOINT_STEPS, Snapshots
from drr.simulation.state import StepKind
from tests.support import ROOT

SEED = load_policy(sample("premium_4_to_1").text()).profile_for()


def seed_run(requests: int = 320, *, cursor_rule: CursorRule = "documented", names: bool = False) -> Run:
    table = RequestTable()
    for row in range(requests):
        for header in ("premium", "regular"):
            table.append(512, policy_header=header, name=f"{header} {row}" if names else "")
    engine = EngineOptions(max_num_seqs=4, block_size=512, num_gpu_blocks=100_000, enable_prefix_caching=False)
    return replay(SEED, table, engine=engine, cursor_rule=cursor_rule)


@pytest.fixture(scope="module")
def run() -> Run:
    return seed_run()


def a_class(name: str, quantum: int) -> PolicyClass:
    return PolicyClass(name, quantum, policy_family=name, cache_bucket="all")


def one_by_one(cursor_rule: CursorRule) -> Run:
    table = RequestTable()
    for header in ("a", "a", "a", "b", "b", "b"):
        table.append(50, policy_header=header)
    profile = Profile("a", (CacheBucket(0, "all"),), (a_class("a", 1_000), a_class("b", 100)))
    script = [*(Arrive(row, wait=True) for row in range(6)), Drain(), Finish(), Finish(), Finish()]
    return run_manual(profile, table, script, capacity="one", cursor_rule=cursor_rule)


# --- rows ----------------------------------------------------------------------------------------------------------


def test_every_step_has_a_row_that_says_when_what_who_and_why(run: Run) -> None:
    rows = log_rows(run)
    assert len(rows) == run.n_steps
    first_queued, first_decision = rows[4], rows[run.decision_steps[0]]
    assert (first_queued.kind, first_queued.request, first_queued.policy_class) == ("arrival", "request 4", "premium")
    assert (first_queued.lane, first_queued.worker, first_queued.cost_tokens) == ("any worker", "", 512)
    assert first_queued.why == "worker 0 busy: 2,048 > 1,536"
    assert (first_decision.decision, first_decision.lane, first_decision.worker) == (1, "any worker", "worker 0")
    assert first_decision.why == "0 kept + 512 granted = 512 pays 512, 0 left; cursor moves to regular"
    assert rows[0].why == "class empty, 1 of 1 free"
    assert rows[640].why == "512 off worker 0: 2,048 to 1,536"
    assert rows[642].why == "2 classes blocked; cursor stays"
    assert [row.decision for row in rows if row.decision is not None] == list(range(1, len(run.decision_steps) + 1))
    assert Counter(row.kind for row in rows) == Counter(KIND_WORDS[StepKind(kind)] for kind in run.kinds)


def test_a_step_has_one_name_in_the_log_on_the_stage_and_in_the_browser() -> None:
    script = (ROOT / "drr/ui/player/assets/words.js").read_text(encoding="utf-8")
    table = script.partition("KIND_WORDS = {")[2].partition("};")[0]
    assert dict(re.findall(r"\[KIND\.(\w+)\]: \"([^\"]+)\"", table)) == {
        kind.name: word for kind, word in KIND_WORDS.items()
    }
    assert set(KIND_WORDS) == set(StepKind)
    assert len(set(KIND_WORDS.values())) == len(KIND_WORDS)


def test_a_burst_is_told_under_both_cursor_rules() -> None:
    told = {
        rule: [row.why for row in log_rows(one_by_one(rule), kinds={StepKind.DECISION, StepKind.EMPTY_CALL})][:3]
        for rule in ("documented", "carry")
    }
    assert told["documented"] == [
        "0 kept + 1,000 granted = 1,000 pays 50, 950 left; cursor stays",
        "2 classes blocked; cursor stays",
        "950 kept pays 50, 900 left; cursor stays",
    ]
    assert told["carry"] == [
        "0 kept + 1,000 granted = 1,000 pays 50, 950 left; cursor moves to b, a carried",
        "2 classes blocked; cursor stays, carry of a forgotten",
        "0 kept + 100 granted = 100 pays 50, 50 left; cursor moves to a, b carried",
    ]


def test_a_carried_class_and_a_bulk_grant_are_told() -> None:
    table = RequestTable()
    for header, tokens in (("a", 7_000), ("b", 9_000), ("b", 500), ("b", 100)):
        table.append(tokens, policy_header=header)
    profile = Profile("a", (CacheBucket(0, "all"),), (a_class("a", 1_000), a_class("b", 2_000)))
    script = [*(Arrive(row, wait=True) for row in range(4)), Call(3)]
    rows = log_rows(run_manual(profile, table, script, cursor_rule="carry"))
    assert [row.why for row in rows if row.decision is not None] == [
        "2,000 + 4 × 2,000 = 10,000 pays 9,000, 1,000 left; cursor comes round to a again, b carried",
        "carried: 1,000 kept pays 500, 500 left; cursor comes round to a again, b carried",
        "carried: 500 kept pays 100, class empty, 0 left; cursor comes round to a again",
    ]
    assert rows[3].why == "2 requests of its class wait already"


def test_lanes_workers_changes_and_errors_are_told() -> None:
    table = RequestTable()
    table.append(10, policy_header="a", constraint=Constraint(pin_worker=1))
    table.append(10, policy_header="a", constraint=Constraint(pin_worker=9))
    profile = Profile("a", (CacheBucket(0, "all"),), (a_class("a", 100),))
    script: list[Action] = [
        Change("hold", 1),
        Arrive(0),
        Change("free", 1),
        Arrive(1),
        Change("join", Worker(3, dp_size=2)),
    ]
    rows = log_rows(run_manual(profile, table, [*script, Change("leave", 0), Change("overload", 1)], workers=2))
    rows = [row for row in rows if row.kind != KIND_WORDS[StepKind.EMPTY_CALL]]
    told = [(row.kind, row.lane, row.worker, row.why) for row in rows]
    assert told[:5] == [
        ("worker change", "", "worker 1", "held busy by the script"),
        ("arrival", "worker 1", "", "worker 1 held busy"),
        ("worker change", "", "worker 1", "let go by the script"),
        ("decision", "worker 1", "worker 1", "0 kept + 100 granted = 100 pays 10, class empty, 0 left; cursor stays"),
        ("completion", "", "worker 1", "10 off worker 1: 10 to 0"),
    ]
    assert told[5:7] == [
        ("arrival", "worker 9", "", "sent through the ring, nothing holds it up"),
        (
            "decision, ends in an error",
            "worker 9",
            "",
            "0 kept + 100 granted = 100 pays 10, class empty, 0 left; cursor stays; "
            "error: the worker it is pinned to is not there",
        ),
    ]
    assert [row.why for row in rows[7:]] == [
        "joins with 2 dp ranks",
        "leaves; nothing that waits is thrown out",
        "overloaded: out of every choice",
    ]


def test_refusals_name_kind_current_and_limit() -> None:
    only = PolicyClass("a", 1, "a", "all", prefill_busy_threshold=0, request_queue_limit_per_worker=1)
    table = RequestTable()
    for _ in range(3):
        table.append(10)
    run = run_manual(
        Profile("a", (CacheBucket(0, "all"),), (only,)),
        table,
        [Arrive(0), Arrive(1), Arrive(2)],
        capacity="policy",
        arrivals="bypass",
    )
    assert log_rows(run)[-1].why == "requests: 1 wait, limit 1 = 1 per worker × 1 worker"
    without = run_manual(synthetic_profile(), table, [Arrive(0)], capacity="policy")
    assert log_rows(without)[0].why == "no busy threshold: never waits"


# --- windows and filters -------------------------------------------------------------------------------------------


def test_a_filter_gives_what_looking_at_every_row_gives(run: Run) -> None:
    whole = log_rows(run)
    decisions = log_rows(run, 600, 900, kinds={StepKind.DECISION})
    assert decisions == [row for row in whole[600:900] if row.kind == "decision"]
    regular = log_rows(run, class_index=1, kinds=[StepKind.DECISION, StepKind.COMPLETION])
    assert regular == [r for r in whole if r.policy_class == "regular" and r.kind in ("decision", "completion")]
    assert log_rows(run, 100, 700, endpoint=0) == [row for row in whole[100:700] if row.worker]
    assert list(matching_steps(run, -5, 10**9)) == list(range(run.n_steps))
    assert log_rows(run, 10, 10) == []


def test_a_window_far_into_a_run_is_read_from_the_nearest_checkpoint(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = log_rows(run)
    advanced = 0
    original = Snapshots._advance

    def counting(self: Snapshots, walker: object, **options: bool) -> None:
        nonlocal advanced
        advanced += 1
        original(self, walker, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Snapshots, "_advance", counting)
    start = run.n_steps - 20
    assert log_rows(run, start) == whole[start:]
    assert advanced <= CHECKPOINT_STEPS + 20


def test_a_light_run_has_no_log() -> None:
    light = replay(synthetic_profile(), RequestTable(), record=False)
    with pytest.raises(ValueError, match="without recording"):
        log_rows(light)


# --- CSV -----------------------------------------------------------------------------------------------------------


def test_the_csv_reads_back_as_the_table_and_names_policy_and_rule() -> None:
    run = seed_run(8, cursor_rule="carry", names=True)
    lines = list(csv.DictReader(io.StringIO(log_csv(run), newline="")))
    rows = log_rows(run)
    assert len(lines) == len(rows)
    for line, row in zip(lines, rows, strict=True):
        assert tuple(line) == CSV_COLUMNS
        assert int(line["step"]) == row.step + 1
        assert line["decision"] == ("" if row.decision is None else str(row.decision))
        assert float(line["time_ms"]) == row.time_ms
        assert line["cost_tokens"] == ("" if row.cost_tokens is None else str(row.cost_tokens))
        texts = (row.kind, row.request, row.policy_class, row.lane, row.worker, row.why)
        assert tuple(line[name] for name in ("kind", "request", "policy_class", "lane", "worker", "why")) == texts
        assert (line["cursor_rule"], line["policy_sha256"]) == ("carry", policy_fingerprint(SEED))


NAMES = [
    '=HYPERLINK("http://example.invalid","x")',
    "+1",
    "-1",
    "@a",
    "\tx",
    "\rx",
    "<b onmouseover=alert(1)>x</b>",
    "a,b",
    'a"b',
    "日本",
    "two\nlines",
]


def test_names_that_look_like_formulas_are_made_harmless_and_all_others_come_back_unchanged() -> None:
    table = RequestTable()
    for name in NAMES:
        table.append(10, name=name)
    run = run_manual(synthetic_profile(), table, [Arrive(row) for row in range(len(NAMES))], capacity="policy")
    back = [line["request"] for line in csv.DictReader(io.StringIO(log_csv(run), newline=""))]
    assert back == [f"'{name}" for name in NAMES[:6]] + NAMES[6:]


@given(st.text())
def test_no_cell_begins_like_a_formula(text: str) -> None:
    cell = safe_cell(text)
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert cell.removeprefix("'") == text.removeprefix("'")


def test_the_fingerprint_is_of_the_rules_and_not_of_the_comments() -> None:
    text = sample("premium_4_to_1").text()
    assert policy_fingerprint(load_policy(text + "# a note\n").profile_for()) == policy_fingerprint(SEED)
    assert policy_fingerprint(load_policy(text.replace("quantum: 128", "quantum: 129")).profile_for()) != (
        policy_fingerprint(SEED)
    )
