"""Runs in worker processes: queued, reported on, cancelled, superseded by newer ones of the same owner, retried.

One :class:`RunPool` serves all sessions of a server. An owner (a session's page) has at most one job that counts: a
newer one supersedes it. A job whose process dies says so and can be submitted again; a process that does not answer a
cancel in time, or exceeds the time limit, is ended and replaced.
"""

from __future__ import annotations

import contextlib
import itertools
import subprocess
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Literal, cast

from drr.ui.limits import CONCURRENT_RUNS, SECONDS_PER_RUN
from drr.ui.worker_process import Task, receive, send

CANCEL_GRACE_SECONDS = 1.0

JobState = Literal["queued", "running", "done", "failed", "cancelled"]


@dataclass(slots=True)
class Job:
    """One run that was asked for. Its fields are written by the pool's threads and may be read by anybody."""

    number: int
    owner: str
    task: Task
    state: JobState = "queued"
    over: int = 0
    total: int = 0
    result: object = None
    error: str = ""
    started_s: float = 0.0
    finished: threading.Event = field(default_factory=threading.Event)

    def wait(self, seconds: float) -> bool:
        """Wait until the job is over, at most so long; True when it is."""
        return self.finished.wait(seconds)


class _Process:
    """One worker process and the thread that listens to it."""

    def __init__(self, pool: RunPool) -> None:
        self.job: Job | None = None
        self._pool = pool
        self._popen = subprocess.Popen(
            [sys.executable, "-m", "drr.ui.worker_process"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        self._in, self._out = self._popen.stdin, self._popen.stdout
        threading.Thread(target=self._listen, daemon=True).start()

    def start(self, job: Job) -> None:
        """Give it a job; call with the pool's lock held."""
        self.job = job
        job.state = "running"
        job.started_s = time.monotonic()
        with contextlib.suppress(OSError):
            # A dead process is noticed by the listener, which fails the job.
            send(self._in, ("run", job.number, job.task))  # type: ignore[arg-type]

    def cancel(self) -> None:
        """Ask it to give its job up; call with the pool's lock held."""
        if self.job is not None:
            with contextlib.suppress(OSError):
                send(self._in, ("cancel", self.job.number))  # type: ignore[arg-type]

    def kill(self) -> None:
        """End the process."""
        self._popen.kill()

    def close(self) -> None:
        """Let it end by itself, or end it."""
        with contextlib.suppress(OSError):
            self._in.close()
        try:
            self._popen.wait(2.0)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()

    def _listen(self) -> None:
        try:
            while True:
                self._pool._heard(self, cast("tuple[object, ...]", receive(self._out)))  # type: ignore[arg-type]
        except (EOFError, OSError, ValueError):
            self._popen.wait()
            self._pool._died(self, self._popen.returncode)


class RunPool:
    """Runs tasks in worker processes. All methods may be called from any thread."""

    def __init__(self, processes: int | None = None, *, seconds_per_run: float | None = None) -> None:
        self._lock = threading.RLock()
        self._numbers = itertools.count(1)
        self._queue: deque[Job] = deque()
        self._seconds = float(SECONDS_PER_RUN.value) if seconds_per_run is None else seconds_per_run
        self._closed = False
        self._processes = [_Process(self) for _ in range(processes or CONCURRENT_RUNS.value)]
        threading.Thread(target=self._watch, daemon=True).start()

    def submit(self, owner: str, task: Task) -> Job:
        """Ask for a run; an unfinished older one of the same owner is superseded."""
        with self._lock:
            self.cancel(owner)
            job = Job(next(self._numbers), owner, task)
            self._queue.append(job)
            self._start_next()
            return job

    def cancel(self, owner: str) -> None:
        """Give up what an owner asked for."""
        with self._lock:
            for job in [job for job in self._queue if job.owner == owner]:
                self._queue.remove(job)
                self._finish(job, "cancelled", "cancelled")
            for process in self._processes:
                current = process.job
                if current is not None and current.owner == owner and current.state == "running":
                    self._finish(current, "cancelled", "cancelled")
                    current.started_s = time.monotonic()  # from here the grace counts
                    process.cancel()

    def close(self) -> None:
        """End all worker processes."""
        with self._lock:
            self._closed = True
            processes = list(self._processes)
        for process in processes:
            process.close()

    def _start_next(self) -> None:
        for process in self._processes:
            if self._queue and process.job is None:
                process.start(self._queue.popleft())

    @staticmethod
    def _finish(job: Job, state: JobState, error: str = "", result: object = None) -> None:
        job.state, job.error, job.result = state, error, result
        job.finished.set()

    def _heard(self, process: _Process, message: tuple[object, ...]) -> None:
        with self._lock:
            job = process.job
            if job is None or message[1] != job.number:
                return
            if message[0] == "progress":
                job.over, job.total = cast("tuple[int, int]", message[2:])
                return
            if job.state == "running":
                if message[0] == "done":
                    self._finish(job, "done", result=message[2])
                else:
                    self._finish(job, "failed", str(message[2]))
            process.job = None
            self._start_next()

    def _died(self, process: _Process, code: int | None) -> None:
        with self._lock:
            job = process.job
            if job is not None and job.state == "running":
                text = f"the process of this run ended (code {code}); nothing else was lost, try again"
                self._finish(job, "failed", text)
            if process in self._processes and not self._closed:
                self._processes[self._processes.index(process)] = _Process(self)
                self._start_next()

    def _watch(self) -> None:
        """End processes that run over the limit or do not answer a cancel."""
        while not self._closed:
            time.sleep(0.1)
            now = time.monotonic()
            with self._lock:
                for process in self._processes:
                    job = process.job
                    if job is None:
                        continue
                    if job.state == "running" and now - job.started_s > self._seconds:
                        text = (
                            f"the run took longer than the {self._seconds:g} seconds that are allowed here "
                            f"({SECONDS_PER_RUN.variable} sets it)"
                        )
                        self._finish(job, "failed", text)
                        process.kill()
                    elif job.state == "cancelled" and now - job.started_s > CANCEL_GRACE_SECONDS:
                        process.kill()
