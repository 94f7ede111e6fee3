"""The same sweep on a Dask cluster of this machine: `make dask`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from drr.analysis.sweep import Axis, Span, Sweep
from drr.analysis.sweep_frame import sweep_frame, write_csv
from drr.analysis.sweep_running import Journal, Progress, run_sweep
from drr.errors import DrrError
from drr.workload.scenarios import scenario
from tests.browser.helpers import free_port
from tests.support import ROOT

pytestmark = pytest.mark.slow
pytest.importorskip("distributed")


def start(*arguments: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-m", *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address of a scheduler on loopback, and its two worker processes."""
    distributed = pytest.importorskip("distributed")
    address = f"tcp://127.0.0.1:{free_port()}"
    host, port = "127.0.0.1", address.rpartition(":")[2]
    local = ("--local-directory", str(tmp_path))
    scheduler = start("distributed.cli.dask_scheduler", "--host", host, "--port", port, "--no-dashboard")
    worker = ("distributed.cli.dask_worker", address, "--host", host, "--nthreads", "1", "--no-nanny", "--no-dashboard")
    workers = [start(*worker, *local) for _ in range(2)]
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                with distributed.Client(address, timeout=5, set_as_default=False) as client:
                    client.wait_for_workers(2, timeout=30)
                break
            except OSError:
                assert time.monotonic() < deadline, "the cluster did not start"
        yield address, workers
    finally:
        for process in (*workers, scheduler):
            end(process)


def sweep() -> Sweep:
    axis = Axis("policy_classes.premium.quantum", Span(16, 4096, "log", True).values(60))
    return Sweep(base=scenario("premium_burst").experiment, axes=(axis,), replications=2)


def test_a_worker_killed_in_the_middle_loses_nothing_and_doubles_nothing(
    cluster: tuple[str, list[subprocess.Popen[bytes]]], tmp_path: Path
) -> None:
    address, workers = cluster
    journal = Journal(tmp_path / "sweep.journal")
    told: list[Progress] = []

    def kill_one(progress: Progress) -> None:
        told.append(progress)
        if len(told) == 10:
            workers[0].send_signal(signal.SIGKILL)
            workers[0].wait(10)

    on_dask = run_sweep(sweep(), journal=journal, jobs=2, backend="dask", scheduler=address, report=kill_one)
    assert workers[0].poll() is not None
    assert told[-1].over == told[-1].total == 120
    lines = journal.path.read_bytes().splitlines()
    assert len(lines) == 120
    assert len(journal.read()) == 120
    write_csv(sweep_frame(on_dask), tmp_path / "dask.csv")
    write_csv(sweep_frame(run_sweep(sweep())), tmp_path / "serial.csv")
    assert (tmp_path / "dask.csv").read_bytes() == (tmp_path / "serial.csv").read_bytes()


def test_a_scheduler_that_is_not_there_is_named() -> None:
    address = f"tcp://127.0.0.1:{free_port()}"
    with pytest.raises(DrrError, match=f"no Dask scheduler answers at {address}"):
        run_sweep(sweep(), backend="dask", scheduler=address)
