"""The numbers of docs/drr.md come from runs: every block and every figure in its prose is made again and compared.

``python -m tests.analysis.test_explain_document`` writes the blocks anew after a change of the engine's words.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence

import pytest

from drr.analysis.explain import explain
from drr.analysis.log import log_rows
from drr.policy import CacheBucket, PolicyClass, Profile, load_policy
from drr.policy.samples import sample
from drr.router.requests import Constraint, RequestTable
from drr.scheduler.ring import CURSOR_RULES, CursorRule
from drr.simulation.engine_options import EngineOptions
from drr.simulation.manual import Action, Arrive, Call, Change, Drain, Finish, run_manual
from drr.simulation.recording import Run
from drr.simulation.replay import replay
from drr.simulation.state import CALL_KINDS, StepKind
from tests.support import ROOT

DOCUMENT = ROOT / "docs/drr.md"
GLOSSARY = ROOT / "docs/glossary.md"
BLOCK = re.compile(r"(<!-- run: ([\w-]+) -->\n```text\n)(.*?)(```\n)", re.DOTALL)
FIRST = 320
"""Shares are counted over so many completions."""


def manual(
    quanta: dict[str, int], costs: dict[str, Sequence[int]], script: Sequence[Action] = (), **more: object
) -> Run:
    """All requests wait, then the script is played; without one, the ring is drained."""
    table = RequestTable()
    for name, tokens in costs.items():
        for each in tokens:
            table.append(each, policy_header=name)
    classes = tuple(PolicyClass(name, quantum, name, "all") for name, quantum in quanta.items())
    profile = Profile(next(iter(quanta)), (CacheBucket(0, "all"),), classes)
    everything = [Arrive(row, wait=True) for row in range(len(table))]
    return run_manual(profile, table, [*everything, *(script or [Drain()])], **more)  # type: ignore[arg-type]


def calls_table(run: Run, kinds: frozenset[StepKind] = CALL_KINDS) -> str:
    """The calls of a run, one line each: who goes, why, and all deficits afterwards."""
    lines = [("goes", "deficits", "why")]
    for row in log_rows(run, kinds=kinds):
        deficits = " ".join(f"{each.deficit_tokens:,}" for each in run.state_at(row.step).classes)
        lines.append((row.policy_class or "-", deficits, row.why))
    widths = [max(len(line[i]) for line in lines) for i in range(2)]
    return "".join(f"{line[0]:<{widths[0]}}  {line[1]:<{widths[1]}}  {line[2]}\n" for line in lines)


def first_call(run: Run) -> int:
    return next(step for step, kind in enumerate(run.kinds) if kind in CALL_KINDS)


def told(run: Run, step: int) -> str:
    """A step with its visits, wrapped at sentence ends."""
    found = explain(run, step)
    text = re.sub(r"(?<=\.) ", "\n", str(found))
    return text + "\n" + "".join(f"  {line.visit_index + 1}. {line.text}\n" for line in found.details)


# --- the runs of the document --------------------------------------------------------------------------------------

DECISIONS = frozenset({StepKind.DECISION})


def first_rounds() -> str:
    return calls_table(manual({"chat": 300, "mail": 100}, {"chat": [200, 200, 200], "mail": [150, 150]}), DECISIONS)


def one_call() -> str:
    run = manual({"chat": 300, "mail": 100}, {"chat": [200, 200, 200], "mail": [150, 150]})
    return told(run, run.decision_steps[1])


def bulk() -> str:
    run = manual({"standard": 1_000, "latency": 2_000}, {"standard": [7_000], "latency": [9_000, 500]}, [Call()])
    return told(run, first_call(run))


def blocked_and_empty() -> str:
    table = RequestTable()
    for name, worker in (("gold", 1), ("silver", 0), ("silver", 0), ("gold", 1)):
        table.append(100, policy_header=name, constraint=Constraint(pin_worker=worker))
    classes = tuple(PolicyClass(name, 150, name, "all") for name in ("gold", "silver", "bronze"))
    script: list[Action] = [*(Arrive(row, wait=True) for row in range(4)), Call(), Change("hold", 1)]
    run = run_manual(Profile("gold", (CacheBucket(0, "all"),), classes), table, script, workers=2)
    return calls_table(run)


def one_slot(rule: CursorRule) -> Run:
    """Quanta 1,000 and 100, every cost 50, a worker that takes one request at a time."""
    return manual(
        {"a": 1_000, "b": 100},
        {"a": [50] * 120, "b": [50] * 120},
        [Drain(), *[Finish()] * 109],
        capacity="one",
        cursor_rule=rule,
    )


def one_slot_start(rule: CursorRule) -> str:
    table = calls_table(one_slot(rule)).splitlines(keepends=True)
    return "".join(table[:6])


SEED_ENGINE = EngineOptions(max_num_seqs=4, block_size=512, num_gpu_blocks=100_000, enable_prefix_caching=False)


def seed(policy: str, *, quanta: tuple[int, int] | None = None) -> Run:
    """320 requests of 512 tokens per class, alternating, all at once, on one worker with four sequences."""
    text = sample(policy).text()
    if quanta is not None:
        text = text.replace("quantum: 512", f"quantum: {quanta[0]}").replace("quantum: 128", f"quantum: {quanta[1]}")
    table = RequestTable()
    for _ in range(320):
        table.append(512, policy_header="premium")
        table.append(512, policy_header="regular")
    return replay(load_policy(text).profile_for(), table, engine=SEED_ENGINE)


def premium_in_first(run: Run) -> int:
    return sum(run.class_index[row] == 0 for row in run.completion_order[:FIRST])


def regular_left(run: Run) -> int:
    """Regular requests that are not done when the last premium one is."""
    order = [run.class_index[row] for row in run.completion_order]
    return len(order) - 1 - max(place for place, index in enumerate(order) if index == 0)


SCALES = ((64, 16), (512, 128), (1_024, 256), (2_048, 512), (262_144, 65_536))


def recorded() -> dict[tuple[int, int], int]:
    """What the real router gave premium of the first 320, by quanta; costs 512, four sequences, threshold 1,536."""
    with (ROOT / "tests/recordings/quantum_scale.csv").open(encoding="utf-8") as file:
        return {
            (int(row["quantum_premium"]), int(row["quantum_regular"])): int(row["real_router_premium_in_first_320"])
            for row in csv.DictReader(file)
            if (row["cost_tokens"], row["max_num_seqs"], row["prefill_busy_threshold"]) == ("512", "4", "1536")
        }


def scale_table() -> str:
    real = recorded()
    lines = [f"{'quanta':>18}  {'real router':>11}  {'rule carry':>10}  {'rule documented':>15}\n"]
    for premium, regular in SCALES:
        run = seed("premium_4_to_1", quanta=(premium, regular))
        counts = premium_in_first(run.other_rule), premium_in_first(run)
        names = f"{premium:,} : {regular:,}"
        lines.append(f"{names:>18}  {real[premium, regular]:>11}  {counts[0]:>10}  {counts[1]:>15}\n")
    return "".join(lines)


BLOCKS: dict[str, Callable[[], str]] = {
    "first-rounds": first_rounds,
    "one-call": one_call,
    "bulk": bulk,
    "blocked-and-empty": blocked_and_empty,
    "one-slot-documented": lambda: one_slot_start("documented"),
    "one-slot-carry": lambda: one_slot_start("carry"),
    "scale": scale_table,
}


def rewritten(text: str) -> str:
    """The document with every block made anew."""
    return BLOCK.sub(lambda found: f"{found[1]}{BLOCKS[found[2]]()}{found[4]}", text)


# --- tests ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def document() -> str:
    return DOCUMENT.read_text(encoding="utf-8")


def flowing(text: str) -> str:
    return " ".join(text.split())


def test_every_block_of_the_document_is_what_the_engine_says(document: str) -> None:
    assert {found[2] for found in BLOCK.finditer(document)} == set(BLOCKS)
    assert document.count("```text") == len(BLOCKS)
    assert rewritten(document) == document


def test_the_shares_of_the_seed_experiment_in_the_prose_are_those_of_runs(document: str) -> None:
    text = flowing(document)
    weighted, equal = seed("premium_4_to_1"), seed("equal_share")
    won = premium_in_first(weighted)
    assert f"premium gets {won} of the first {FIRST} and regular {FIRST - won}" in text
    assert f"{regular_left(weighted)} requests of regular are left" in text
    assert f"With equal quanta it is {premium_in_first(equal)} : {FIRST - premium_in_first(equal)}" in text
    admitted = sum(outcome == "immediate" for outcome in weighted.outcome)
    assert admitted == 4
    assert "so four requests of 512 start (2,048 > 1,536)" in text


@pytest.mark.parametrize("rule", CURSOR_RULES)
def test_the_ratio_with_one_slot_in_the_prose_is_that_of_a_run(document: str, rule: CursorRule) -> None:
    run = one_slot(rule)
    gone = [run.class_index[run.step_request[step]] for step in run.decision_steps]
    assert len(gone) == 110
    assert f"`{rule}` lets {gone.count(0)} requests of a and {gone.count(1)} of b go" in flowing(document)


def test_a_quantum_above_the_cost_is_worth_no_more_than_the_cost_where_slots_come_back_singly() -> None:
    for premium, regular in SCALES[:-1]:
        per_round = min(1, premium / 512), min(1, regular / 512)
        expected = FIRST * per_round[0] / sum(per_round)
        assert abs(premium_in_first(seed("premium_4_to_1", quanta=(premium, regular)).other_rule) - expected) <= 2


def test_every_word_of_the_glossary_has_one_sentence() -> None:
    entries = re.findall(
        r"^\*\*(.+?)\*\* +- (.+?)(?=^\*\*|^#|\Z)", GLOSSARY.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    words = [word for word, _ in entries]
    assert words == sorted(words, key=str.casefold)
    for word, meaning in entries:
        sentence = flowing(meaning)
        assert re.fullmatch(r"[^.]+(?:\.\d[^.]*)*\.", sentence), f"{word}: {sentence}"
    needed = (
        "policy class, policy family, cache bucket, quantum, deficit, ring cursor, virtual rounds, shared lane, "
        "exact-worker lane, lane head, blocked, dispatchable, eligible, backlogged, service, TTFT"
    )
    assert set(needed.split(", ")) <= set(words)


if __name__ == "__main__":
    DOCUMENT.write_text(rewritten(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
