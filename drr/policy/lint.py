"""Warnings about what is legal but surprising in a policy.

What can be said from the file alone is said when the file is read. What needs a workload takes its figures as
arguments (:func:`lint_workload`), so that whoever has one in hand can ask.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median

from drr.policy.diagnostics import Diagnostic, Position, joined, quoted
from drr.policy.schema import PolicyClass, PolicyDocument, Profile

Positions = Mapping[str, Position]

LIMITS = (
    "request_queue_limit_per_worker",
    "raw_isl_token_queue_limit_per_worker",
    "cached_token_queue_limit_per_worker",
)
FAR_ABOVE = 4
"""A quantum of so many typical costs is called far above them: measured, no ratio of quanta is left from there on."""
_NOTICEABLE_SHARE = 0.02


def lint_policy(document: PolicyDocument, *, positions: Positions | None = None) -> list[Diagnostic]:
    """The warnings that need no workload, for the root profile and every model profile."""
    found = [] if document.root is None else lint_profile(document.root, positions=positions)
    for name, profile in document.models.items():
        found += lint_profile(profile, path=joined("models", name), positions=positions)
    return found


def lint_profile(profile: Profile, *, path: str = "", positions: Positions | None = None) -> list[Diagnostic]:
    """The warnings that need no workload about one profile, the one at ``path`` in the file."""
    warn = _warner(path, positions or {})
    return [*_thresholds(profile, warn), *_limits(profile, warn), *_quanta(profile, warn)]


def lint_workload(
    profile: Profile,
    costs_tokens: Mapping[str, Sequence[int]],
    uncached_tokens: Iterable[int],
    *,
    path: str = "",
    positions: Positions | None = None,
) -> list[Diagnostic]:
    """The further warnings about the profile at ``path`` that a workload gives reason to.

    ``costs_tokens`` are the scheduling costs (at least 1) of its requests by class name, ``uncached_tokens`` the
    uncached lengths of those requests that are sorted into buckets.
    """
    warn = _warner(path, positions or {})
    return [*_quanta_and_costs(profile, costs_tokens, warn), *_unreached_buckets(profile, uncached_tokens, warn)]


Warn = Callable[..., Diagnostic]


def _warner(path: str, positions: Positions) -> Warn:
    def warn(where: str, message: str, allowed: str = "") -> Diagnostic:
        inner = f"{path}.{where}" if path else where
        at = _position(inner, positions)
        return Diagnostic("warning", at.line, at.column, inner, message, allowed)

    return warn


def _position(path: str, positions: Positions) -> Position:
    """Where the value at ``path`` stands, or the nearest thing around it."""
    while path:
        if path in positions:
            return positions[path]
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return Position(1, 1, 1, 1)


def _thresholds(profile: Profile, warn: Warn) -> list[Diagnostic]:
    allowed = "`prefill_busy_threshold` or `prefill_busy_threshold_frac` in the class"
    without = [(index, each) for index, each in enumerate(profile.classes) if not each.has_threshold]
    if len(without) == len(profile.classes):
        message = (
            "no class has a busy threshold, so no request ever waits: every one is sent on at once, and quanta, orders "
            "and limits decide nothing"
        )
        return [warn("policy_classes", message, allowed)]
    found = []
    for index, each in without:
        message = f"class {quoted(each.name)} has no busy threshold, so its requests never wait and bypass the ring"
        if any(getattr(each, limit) is not None for limit in LIMITS):
            message += "; its limits are never looked at either"
        found.append(warn(f"policy_classes[{index}]", message, allowed))
    return found


def _limits(profile: Profile, warn: Warn) -> list[Diagnostic]:
    found = []
    for index, each in enumerate(profile.classes):
        for limit in LIMITS:
            if each.has_threshold and getattr(each, limit) == 0:
                message = f"a limit of 0 refuses every request of class {quoted(each.name)} that would have to wait"
                found.append(warn(f"policy_classes[{index}].{limit}", message, "leave the key out for no limit"))
        if each.busy_worker_ratio == 1:
            message = "a ratio of 1 is what holds without the key: the class waits when every eligible worker is busy"
            found.append(warn(f"policy_classes[{index}].busy_worker_ratio", message))
    return found


def _quanta(profile: Profile, warn: Warn) -> list[Diagnostic]:
    quanta = {each.quantum for each in profile.classes}
    if len(profile.classes) < 2 or len(quanta) > 1:
        return []
    message = (
        f"all quanta are equal ({quanta.pop():,} tokens), so classes that wait together get equal shares of tokens"
    )
    return [warn("policy_classes", message, "different quanta to prefer a class")]


def _quanta_and_costs(profile: Profile, costs_tokens: Mapping[str, Sequence[int]], warn: Warn) -> list[Diagnostic]:
    found = []
    typical = {each.name: median(costs) for each in profile.classes if (costs := costs_tokens.get(each.name))}
    for index, each in enumerate(profile.classes):
        cost = typical.get(each.name)
        if cost is not None and each.quantum >= FAR_ABOVE * cost:
            message = (
                f"the quantum of class {quoted(each.name)}, {each.quantum:,} tokens, is far above the cost of its "
                f"typical request, {cost:,.0f} tokens: one turn pays for {each.quantum / cost:,.0f} requests"
            )
            found.append(warn(f"policy_classes[{index}].quantum", message, "a quantum near the cost of a request"))
    classes = [each for each in profile.classes if each.name in typical]
    if len(classes) > 1:
        found += _ratio_that_cannot_bind(classes, typical, warn)
    return found


def _ratio_that_cannot_bind(classes: list[PolicyClass], typical: Mapping[str, float], warn: Warn) -> list[Diagnostic]:
    """Where each drain releases one request, the shipped router serves min(1, quantum / cost) requests per round."""
    asked_tokens = sum(each.quantum for each in classes)
    served = {each.name: min(float(each.quantum), typical[each.name]) for each in classes}
    served_tokens = sum(served.values())
    pairs = [(each, each.quantum / asked_tokens, served[each.name] / served_tokens) for each in classes]
    if max(abs(asked - got) for _, asked, got in pairs) < _NOTICEABLE_SHARE:
        return []
    asked_text = " : ".join(f"{asked:.0%}" for _, asked, _ in pairs)
    got_text = " : ".join(f"{got:.0%}" for _, _, got in pairs)
    names = ", ".join(each.name for each in classes)
    message = (
        f"the quanta ask for {asked_text} of the tokens ({names}), but where capacity comes back one request at a time "
        f"the shipped router gives {got_text}, because a quantum is above the cost of a typical request"
    )
    return [warn("policy_classes", message, "quanta that are not above the costs of the requests")]


def _unreached_buckets(profile: Profile, uncached_tokens: Iterable[int], warn: Warn) -> list[Diagnostic]:
    floors = [each.min_tokens for each in profile.buckets]
    reached = {bisect_right(floors, tokens) - 1 for tokens in set(uncached_tokens)}
    return [
        warn(f"uncached_isl_buckets[{index}]", f"no request of the workload falls into bucket {quoted(each.name)}")
        for index, each in enumerate(profile.buckets)
        if index not in reached
    ]
