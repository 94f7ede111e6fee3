"""Words and numbers of the sentences that explain a step: exact figures, thousands separators, plain listings."""

from __future__ import annotations

from collections.abc import Sequence

from drr.analysis.words import counted, listing
from drr.policy.schema import PolicyClass
from drr.simulation.recording import Run

MINUS, TIMES, AT_MOST = "\u2212", "\u00d7", "\u2264"
CEIL, CEIL_END = "\u2308", "\u2309"

LONGEST_NAME = 48


def number(value: int) -> str:
    """A whole number, exact whatever its size, with thousands separators."""
    return f"{value:,}"


def folded(names: Sequence[str], shown: int = 2, noun: str = "class") -> str:
    """A listing of at most ``shown`` names and a count of the rest; a rest of one is named instead."""
    if len(names) <= shown + 1:
        return listing(names)
    return listing([*names[:shown], counted(len(names) - shown, f"other {noun}")])


def verb(subjects: int, singular: str, plural: str) -> str:
    """The form of a verb for so many subjects."""
    return singular if subjects == 1 else plural


def cleaned(text: str) -> str:
    """A name from outside on one line and of bounded length; a long one keeps its two ends."""
    line = "".join(c if c.isprintable() else " " for c in text).strip()
    if len(line) <= LONGEST_NAME:
        return line
    half = LONGEST_NAME // 2
    return f"{line[:half]}\u2026{line[-half:]}"


def label(run: Run, row: int) -> str:
    """What a request is called in a sentence."""
    return cleaned(run.requests.label(row)) or f"request {row}"


def first_up(text: str) -> str:
    """The text with ``worker`` or ``request`` at its head capitalised; names of classes stay as they are written."""
    for word in ("worker ", "request "):
        if text.startswith(word):
            return word.capitalize() + text[len(word) :]
    return text


def workers_noun(run: Run) -> str:
    """What endpoints are called in this run: workers, or worker ranks where some worker has several."""
    return "worker rank" if any(" rank " in name for name in run.endpoint_names) else "worker"


def ceil_rounds(cost_tokens: int, deficit_tokens: int, quantum: int) -> tuple[str, int]:
    """The rounds a class needs until it can pay, written out, and their number."""
    rounds = -((deficit_tokens - cost_tokens) // quantum)
    above = f"{number(cost_tokens)} {MINUS} {number(deficit_tokens)}"
    return f"{CEIL}({above}) / {number(quantum)}{CEIL_END} = {number(rounds)}", rounds


def ratio_text(policy_class: PolicyClass, eligible: int, stopped: int) -> str:
    """``busy_worker_ratio`` x eligible endpoints, rounded only as far as the comparison with ``stopped`` stays true."""
    ratio = policy_class.busy_worker_ratio
    assert ratio is not None, "asked only for classes with a ratio"
    product = ratio * eligible
    short = f"{product:.6g}"
    if (stopped >= float(short)) != (stopped >= product):
        short = repr(product)
    return f"{ratio!r} {TIMES} {eligible:,} = {short}"
