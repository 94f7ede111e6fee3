from __future__ import annotations

import pytest

from drr.analysis.slo import RateSearch, Target, highest_rate, slo_figures
from drr.errors import WorkloadError
from drr.policy.schema import CacheBucket, PolicyClass, Profile
from drr.router.requests import RequestTable
from drr.simulation.engine_options import EngineOptions, FixedTiming
from drr.simulation.recording import Run
from drr.simulation.replay import replay

PROFILE = Profile(
    "chat",
    (CacheBucket(0, "all"),),
    (
        PolicyClass("chat", 512, "chat", "all", prefill_busy_threshold=0, request_queue_limit_per_worker=3),
        PolicyClass("batch", 512, "batch", "all", prefill_busy_threshold=0),
    ),
)
ONE_BY_ONE = EngineOptions(max_num_seqs=1, timing_model=FixedTiming(10.0, 5.0), enable_prefix_caching=False)


def run_of(arrivals_ms: list[float], *, header: str = "chat", output_tokens: int = 1, speedup: float = 1.0) -> Run:
    """One worker that takes 10 ms per prompt, and 5 ms more per token after the first."""
    table = RequestTable()
    for time in arrivals_ms:
        table.append(100, timestamp_ms=time, policy_header=header, output_tokens=output_tokens)
    return replay(PROFILE, table, engine=ONE_BY_ONE, arrival_speedup_ratio=speedup, record=False)


def test_a_target_is_kept_up_to_and_with_its_very_time() -> None:
    run = run_of([0.0, 0.0, 0.0])  # first tokens after 10, 20 and 30 ms
    (figures,) = slo_figures(run, {"chat": Target(ttft_ms=20.0)})
    assert figures.requests == 3
    assert figures.ttft_share == pytest.approx(2 / 3)
    assert figures.met_share == pytest.approx(2 / 3)
    assert figures.end_to_end_share is None


def test_both_targets_have_to_be_kept() -> None:
    run = run_of([0.0, 1000.0], output_tokens=3)  # first token after 10 ms, last one after 20 ms
    (figures,) = slo_figures(run, {"chat": Target(ttft_ms=10.0, end_to_end_ms=19.0)})
    assert (figures.ttft_share, figures.end_to_end_share, figures.met_share) == (1.0, 0.0, 0.0)
    (figures,) = slo_figures(run, {"chat": Target(ttft_ms=10.0, end_to_end_ms=20.0)})
    assert figures.met_share == 1.0


def test_refused_requests_miss_every_target() -> None:
    run = run_of([0.0] * 10)  # one goes, three wait, six are refused
    (figures,) = slo_figures(run, {"chat": Target(ttft_ms=1e9)})
    assert run.outcome.count("refused") == 6
    assert (figures.requests, figures.met_share) == (10, 0.4)


def test_requests_without_a_token_are_left_out_and_classes_without_requests_have_no_share() -> None:
    run = run_of([0.0, 5.0], output_tokens=0)
    chat, batch = slo_figures(run, {"batch": Target(ttft_ms=1.0), "chat": Target(ttft_ms=1.0)})
    assert (chat.name, chat.requests, chat.met_share) == ("chat", 0, None)
    assert (batch.name, batch.requests, batch.met_share) == ("batch", 0, None)


def test_a_class_that_promises_nothing_has_no_share_and_an_unknown_one_is_told() -> None:
    run = run_of([0.0])
    (figures,) = slo_figures(run, {"chat": Target()})
    assert figures.met_share is None
    with pytest.raises(WorkloadError, match=r"'chats'.*chat, batch"):
        slo_figures(run, {"chats": Target(ttft_ms=1.0)})


GAPS_MS = [40.0 * k for k in range(100)]


def search(target: Target, **how: object) -> RateSearch:
    def run_at(ratio: float) -> Run:
        return run_of(GAPS_MS, header="batch", speedup=ratio)

    return highest_rate(run_at, {"batch": target}, **how)  # type: ignore[arg-type]


def test_the_highest_rate_is_that_of_the_worker_where_nobody_may_wait() -> None:
    # Every 40 ms comes one that takes 10 ms: up to four times as fast nobody waits.
    found = search(Target(ttft_ms=10.5), share=1.0, tolerance=0.01)
    assert found.best is not None
    assert found.next_miss is not None
    assert 3.96 <= found.best.speedup_ratio <= 4.1
    assert found.best.speedup_ratio < found.next_miss.speedup_ratio <= found.best.speedup_ratio * 1.01
    assert found.best.per_second == pytest.approx(25 * found.best.speedup_ratio, rel=1e-6)
    assert found.best.is_met
    assert not found.next_miss.is_met


def test_a_slower_rate_than_the_given_one_is_found_too() -> None:
    def run_at(ratio: float) -> Run:
        return run_of([2.0 * k for k in range(100)], header="batch", speedup=ratio)

    found = highest_rate(run_at, {"batch": Target(ttft_ms=10.5)}, share=1.0)
    assert found.best is not None
    assert 0.19 <= found.best.speedup_ratio <= 0.21


def test_a_target_below_the_time_of_service_is_met_at_no_rate_and_one_without_end_at_every_rate() -> None:
    found = search(Target(ttft_ms=9.0))
    assert found.best is None
    assert len(found.trials) == 13
    found = search(Target(end_to_end_ms=1e12))
    assert found.next_miss is None
    assert found.best is found.trials[-1]


def test_progress_counts_trials_and_may_end_the_search() -> None:
    seen: list[tuple[int, int]] = []
    found = search(Target(ttft_ms=10.5), progress=lambda made, expected: seen.append((made, expected)))
    assert [made for made, _ in seen] == list(range(1, len(found.trials) + 1))
    assert seen[-1][0] == seen[-1][1]

    def stop(made: int, expected: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(Target(ttft_ms=10.5), progress=stop)


def test_a_search_without_targets_or_without_a_rate_is_refused() -> None:
    with pytest.raises(WorkloadError, match="at least one class"):
        search(Target())
    with pytest.raises(WorkloadError, match="arrive at once"):
        highest_rate(lambda _: run_of([0.0, 0.0]), {"chat": Target(ttft_ms=1.0)})
