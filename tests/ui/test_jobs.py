from __future__ import annotations

import os
import pickle
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from drr.errors import TooManyRequestsError
from drr.ui.jobs import Job, RunPool
from drr.ui.run_task import RunTask
from drr.workload.scenarios import scenario
from tests.ui.pool_tasks import Answer, Deaf, Dies, Fails, PartByPart, UntilReleased

SECONDS = 20.0


@pytest.fixture(scope="module")
def pool() -> Iterator[RunPool]:
    made = RunPool(1)
    yield made
    made.close()


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "not reached"
        time.sleep(0.005)


def running(job: Job) -> bool:
    return job.state == "running" and job.total > 0


def test_a_run_that_is_too_large_names_the_limit_and_who_sets_it(pool: RunPool) -> None:
    job = pool.submit("anna", RunTask(scenario("premium_burst").experiment, 100))
    assert job.wait(SECONDS)
    assert job.error == (
        "640 requests in one run are more than the 100 that are allowed here (RINGSIDE_MAX_REQUESTS sets it): "
        "take fewer, or run it with python -m drr run"
    )


def test_a_workload_that_is_too_large_is_refused_alike_in_another_process() -> None:
    error = pickle.loads(pickle.dumps(TooManyRequestsError(640, 100)))
    assert (error.count, str(error)) == (640, "the workload has 640 requests, at most 100 are run here")


def test_a_job_gives_its_result_and_its_progress(pool: RunPool) -> None:
    job = pool.submit("anna", Answer(42))
    assert job.wait(SECONDS)
    assert (job.state, job.result, job.over, job.total, job.error) == ("done", 42, 42, 42, "")


def test_what_a_task_handed_over_is_there_when_it_is_given_up(pool: RunPool, tmp_path: Path) -> None:
    job = pool.submit("anna", PartByPart(3, tmp_path / "never"))
    wait_for(lambda: len(job.parts) == 3)
    pool.cancel("anna")
    assert (job.state, job.parts, job.over) == ("cancelled", [0, 1, 2], 3)


def test_a_newer_job_of_the_same_owner_supersedes_the_older_one(pool: RunPool, tmp_path: Path) -> None:
    older = pool.submit("anna", UntilReleased(tmp_path / "never"))
    wait_for(lambda: running(older))
    newer = pool.submit("anna", Answer(1))
    assert older.state == "cancelled"
    assert newer.wait(SECONDS)
    assert newer.result == 1
    assert older.result is None


def test_of_five_quick_jobs_of_one_owner_only_the_last_counts(pool: RunPool, tmp_path: Path) -> None:
    jobs = [pool.submit("anna", UntilReleased(tmp_path / "never")) for _ in range(4)]
    last = pool.submit("anna", Answer(5))
    assert last.wait(SECONDS)
    assert [job.state for job in jobs] == ["cancelled"] * 4
    assert last.result == 5


def test_another_owner_waits_in_turn_and_loses_nothing(pool: RunPool, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    first = pool.submit("anna", UntilReleased(gate))
    second = pool.submit("bert", Answer(2))
    third = pool.submit("carl", Answer(3))
    assert (pool.ahead_of(first), pool.ahead_of(second), pool.ahead_of(third)) == (0, 1, 2)
    assert second.state == "queued"
    gate.touch()
    assert third.wait(SECONDS)
    assert (first.result, second.result, third.result) == ("released", 2, 3)
    assert pool.ahead_of(third) == 0


def test_cancel_ends_a_running_and_a_queued_job_and_keeps_the_process(pool: RunPool, tmp_path: Path) -> None:
    pids = pool.pids()
    runs = pool.submit("anna", UntilReleased(tmp_path / "never"))
    queued = pool.submit("bert", Answer(1))
    wait_for(lambda: running(runs))
    pool.cancel("bert")
    pool.cancel("anna")
    assert (runs.state, queued.state) == ("cancelled", "cancelled")
    after = pool.submit("anna", Answer(7))
    assert after.wait(SECONDS)
    assert after.result == 7
    assert pool.pids() == pids


def test_a_process_that_does_not_answer_a_cancel_is_replaced() -> None:
    pool = RunPool(1, cancel_grace_s=0.05)
    try:
        pids = pool.pids()
        deaf = pool.submit("anna", Deaf())
        wait_for(lambda: running(deaf))
        after = pool.submit("anna", Answer(1))
        assert after.wait(SECONDS)
        assert after.result == 1
        assert pool.pids() != pids
    finally:
        pool.close()


def test_a_run_over_the_time_limit_is_ended_and_the_limit_is_named() -> None:
    pool = RunPool(1, seconds_per_run=0.3)
    try:
        slow = pool.submit("anna", Deaf())
        assert slow.wait(SECONDS)
        assert slow.state == "failed"
        assert "0.3 seconds" in slow.error
        assert "RINGSIDE_MAX_RUN_SECONDS" in slow.error
    finally:
        pool.close()


def test_a_killed_process_fails_its_job_alone_and_the_job_can_be_tried_again(pool: RunPool, tmp_path: Path) -> None:
    task = Dies(tmp_path / "mark")
    killed = pool.submit("anna", task)
    waiting = pool.submit("bert", Answer(2))
    assert killed.wait(SECONDS)
    assert killed.state == "failed"
    assert "signal 9" in killed.error
    assert "out of memory" in killed.error
    assert waiting.wait(SECONDS)
    assert waiting.result == 2
    again = pool.submit("anna", task)
    assert again.wait(SECONDS)
    assert again.result == "second try"


def test_a_process_killed_while_idle_is_replaced(pool: RunPool) -> None:
    first = pool.submit("anna", Answer(1))
    assert first.wait(SECONDS)
    pids = pool.pids()
    os.kill(pids[0], 9)
    wait_for(lambda: pool.pids() and pool.pids() != pids)
    second = pool.submit("anna", Answer(2))
    assert second.wait(SECONDS)
    assert second.result == 2


def test_processes_that_cannot_start_fail_each_job_once_and_are_not_started_for_ever() -> None:
    pool = RunPool(1, command=(sys.executable, "-c", "raise SystemExit(3)"))
    try:
        wait_for(lambda: not pool.pids())
        for number in range(2):
            job = pool.submit("anna", Answer(number))
            assert job.wait(SECONDS)
            assert job.state == "failed"
            assert "code 3" in job.error
        wait_for(lambda: not pool.pids())
    finally:
        pool.close()


@pytest.mark.parametrize(
    ("by_input", "text"),
    [(True, "row 3 has no length"), (False, "this is a fault of the program, not of the input: ZeroDivisionError")],
)
def test_what_a_run_raises_is_its_error_and_a_stray_print_does_no_harm(
    pool: RunPool, by_input: bool, text: str
) -> None:
    job = pool.submit("anna", Fails(by_input))
    assert job.wait(SECONDS)
    assert job.state == "failed"
    assert job.error.startswith(text)
    assert pool.submit("anna", Answer(1)).wait(SECONDS)


def test_a_task_that_cannot_be_handed_over_fails_and_blocks_nothing(pool: RunPool) -> None:
    job = pool.submit("anna", lambda progress: None)  # type: ignore[arg-type]
    assert job.wait(SECONDS)
    assert "the run cannot be handed over" in job.error
    assert pool.submit("anna", Answer(1)).wait(SECONDS)


def test_closing_the_pool_ends_everything(tmp_path: Path) -> None:
    pool = RunPool(1)
    runs = pool.submit("anna", UntilReleased(tmp_path / "never"))
    queued = pool.submit("bert", Answer(1))
    wait_for(lambda: running(runs))
    pool.close()
    assert runs.wait(SECONDS)
    assert queued.wait(SECONDS)
    assert (runs.state, queued.state) == ("failed", "failed")
    assert pool.submit("carl", Answer(1)).state == "failed"
