"""The proof that anybody can repeat: many random questions to the real router and to us, and where answers part."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from drr.dynamo.case import ReplayAnswer, ReplayCase
from drr.dynamo.cases import CATEGORIES, random_case
from drr.dynamo.compare import first_difference, ours
from drr.dynamo.policies import policy_case, random_policy, real_verdict
from drr.dynamo.process import RouterFailureError, RouterProcess, router_version
from drr.dynamo.replay import replay_real
from drr.errors import DrrError
from drr.policy import PolicyReading, read_policy

Progress = Callable[[int, int, str], None]
"""Called with questions done, questions in all and the id of the next one; it may raise to cancel."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A case on which ours and the real router part."""

    case: ReplayCase
    text: str
    real: ReplayAnswer
    own: ReplayAnswer | None

    def save(self, folder: Path) -> Path:
        """Write the case, both answers and the difference as JSON in the form of the recordings; returns the file.

        Raises :class:`~drr.errors.DrrError` where nothing can be written.
        """
        name = f"{self.case.category}-{self.case.seed}.json"
        return _save(folder, name, json.dumps(self.to_mapping(), indent=1).encode())

    def to_mapping(self) -> dict[str, object]:
        """Everything about the difference as plain data."""
        return {
            **self.case.to_mapping(),
            "router": f"ai-dynamo-runtime {router_version()}",
            "difference": self.text,
            **_answer(self.real, "observed", "replay_aborted_because"),
            **(_answer(self.own, "ours", "ours_aborted_because") if self.own is not None else {}),
        }


def _save(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise DrrError(f"cannot write {path}: {error.strerror or error}") from None
    return path


def _answer(answer: ReplayAnswer, rows: str, abort: str) -> dict[str, object]:
    observed = None if answer.observed is None else [row._asdict() for row in answer.observed]
    return {rows: observed, abort: answer.aborted_because or answer.failed_because}


@dataclass(slots=True)
class CategoryCount:
    """How one category fared, in cases and rows."""

    cases: int = 0
    identical: int = 0
    """Cases with every row bit for bit equal, or with the same end."""
    aborted_alike: int = 0
    """Those among the identical that ended in the same abort."""
    rows: int = 0
    """Rows compared."""
    queued_rows: int = 0
    """Those among them that went through the ring."""


@dataclass(slots=True)
class RouterVerification:
    """The result of :func:`verify_router`."""

    version: str | None
    counts: dict[str, CategoryCount] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)

    @property
    def cases(self) -> int:
        """Cases asked."""
        return sum(count.cases for count in self.counts.values())

    @property
    def identical(self) -> int:
        """Cases answered alike."""
        return sum(count.identical for count in self.counts.values())

    @property
    def ok(self) -> bool:
        """Whether there is no difference at all."""
        return not self.differences


def verify_router(
    cases: int = 1000,
    *,
    seed: int = 0,
    categories: Sequence[str] | None = None,
    progress: Progress | None = None,
    time_limit_s: float = 60.0,
) -> RouterVerification:
    """Ask the real router and us the same random cases and compare every row bit for bit.

    Cases go round the categories, so each gets its share; ``category/seed`` names a case for good. Raises
    :class:`~drr.dynamo.process.RouterUnavailableError` without a router, :class:`~drr.errors.DrrError` for an unknown
    category.
    """
    chosen = check_categories(categories)
    questions = (random_case(chosen[i % len(chosen)], seed + i // len(chosen)) for i in range(cases))
    result = RouterVerification(router_version(), {name: CategoryCount() for name in chosen})
    with RouterProcess(time_limit_s=time_limit_s) as router:
        for done, case in enumerate(questions):
            if progress is not None:
                progress(done, cases, case.case_id)
            count = result.counts[case.category]
            count.cases += 1
            difference = compare_case(case, router, count)
            if difference is not None:
                result.differences.append(difference)
    return result


def check_categories(categories: Sequence[str] | None) -> list[str]:
    """The named categories, all of them for none; raises :class:`~drr.errors.DrrError` for an unknown one."""
    for name in categories or ():
        if name not in CATEGORIES:
            raise DrrError(f"unknown category {name!r}; there are: {', '.join(CATEGORIES)}")
    return list(dict.fromkeys(categories or CATEGORIES))


def compare_case(case: ReplayCase, router: RouterProcess, count: CategoryCount | None = None) -> Difference | None:
    """One case through both; with several workers ours follows the real choice where costs tie."""
    count = count or CategoryCount()
    real = replay_real(case, router=router)
    if real.failed_because is not None:
        return Difference(case, real.failed_because, real, None)
    try:
        own = ours(case, real.workers_followed if case.workers > 1 else None)
    except DrrError as error:
        return Difference(case, f"ours raised {type(error).__name__}: {error}", real, None)
    text = first_difference(real, own)
    if real.observed is not None:
        count.rows += len(real.observed)
        count.queued_rows += sum(row.outcome == "queued" for row in real.observed)
    if text is not None:
        return Difference(case, text, real, own)
    count.identical += 1
    count.aborted_alike += real.aborted_because is not None
    return None


@dataclass(frozen=True, slots=True)
class PolicyDisagreement:
    """A policy file on which the loaders disagree, or on which the real one gave no verdict."""

    seed: int
    text: bytes
    real: str | None
    """Why the real loader refuses it; ``None``: it accepts."""
    own: str | None
    """Why the real loader refuses it by our reading; ``None``: by our reading it accepts."""
    failed_because: str | None = None
    """The real router's process crashed on it or went over its time limit, which is no verdict."""

    @property
    def kind(self) -> str:
        """Which side refuses, and its reason without names and numbers: one kind, one cause."""
        if self.failed_because is not None:
            return f"the real loader gives no verdict: {_shape(self.failed_because)}"
        if self.real is not None:
            return f"only the real loader refuses: {_shape(self.real)}"
        return f"only our reading refuses: {_shape(self.own or '')}"

    def save(self, folder: Path) -> Path:
        """Write the policy file as it is; returns its path, or raises :class:`~drr.errors.DrrError`."""
        return _save(folder, f"policy-{self.seed}.yaml", self.text)


def _shape(reason: str) -> str:
    """A reason without quoted names and numbers."""
    pieces = reason.replace('"', "`").replace("'", "`").split("`")
    words = " ".join(piece if i % 2 == 0 else "..." for i, piece in enumerate(pieces))
    return "".join("N" if character.isdigit() else character for character in words)


@dataclass(slots=True)
class PolicyVerification:
    """The result of :func:`verify_policies`."""

    version: str | None
    files: int = 0
    accepted: int = 0
    """Files the real loader accepts."""
    replayed: int = 0
    """Those among the accepted that were also replayed on both sides, to compare what they mean."""
    disagreements: list[PolicyDisagreement] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    """Replays that part: the file was accepted by both, but read differently."""

    @property
    def ok(self) -> bool:
        """Whether both loaders gave the same verdict on every file and took the same meaning from it."""
        return not self.disagreements and not self.differences

    @property
    def kinds(self) -> Counter[str]:
        """How many disagreements there are of each kind."""
        return Counter(disagreement.kind for disagreement in self.disagreements)


def verify_policies(
    files: int = 1000, *, seed: int = 0, progress: Progress | None = None, time_limit_s: float = 20.0
) -> PolicyVerification:
    """Ask the real loader and ours whether they accept randomly damaged policy files, and what the files mean.

    A file that both accept is replayed with a small workload on both sides: a number, name or null that is read
    differently shows in the order. Files with a section that steers more than the queues are not replayed.
    """
    result = PolicyVerification(router_version())
    with RouterProcess(time_limit_s=time_limit_s) as router:
        for number in range(seed, seed + files):
            if progress is not None:
                progress(number - seed, files, f"policy/{number}")
            _compare_policy(number, router, result)
    return result


def router_would_refuse(reading: PolicyReading) -> str | None:
    """Why the real loader refuses a file by our reading: an error, or a warning about what it alone refuses."""
    refusing = (d.message for d in reading.diagnostics if d.severity == "error" or d.router_refuses)
    return next(refusing, None)


def _compare_policy(number: int, router: RouterProcess, result: PolicyVerification) -> None:
    text = random_policy(number)
    reading = read_policy(text)
    own = router_would_refuse(reading)
    result.files += 1
    try:
        real = real_verdict(text, router)
    except RouterFailureError as failure:
        result.disagreements.append(PolicyDisagreement(number, text, None, own, str(failure)))
        return
    result.accepted += real is None
    if (real is None) != (own is None):
        result.disagreements.append(PolicyDisagreement(number, text, real, own))
    if real is None and own is None and reading.document is not None and not reading.document.sections:
        result.replayed += 1
        difference = compare_case(policy_case(text.decode(), reading.document, number), router)
        if difference is not None:
            result.differences.append(difference)
