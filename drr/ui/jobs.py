"""Runs in worker processes: queued, reported on, cancelled, superseded by newer ones of the same owner, retried.

One :class:`RunPool` serves all sessions of a server. An owner (a session's page) has at most one job that counts: a
newer one supersedes it. A job whose process dies says so and can be submitted again; a process that does not answer a
cancel in time, or exceeds the time limit, is ended and replaced.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal, cast

from drr.ui.limits import CONCURRENT_RUNS, SECONDS_PER_RUN
from drr.ui.worker_process import Task, receive, send

CANCEL_GRACE_SECONDS = 0.5
"""How long a process may take to give a cancelled run up before it is ended."""
WATCH_SECONDS = 0.1
_COMMAND = (sys.executable, "-m", "drr.ui.worker_process")
_PACKAGE_FOLDER = str(Path(__file__).resolve().parents[2])

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
    parts: list[object] = field(default_factory=list)
    """What the task gave away before its end: it is there however the job ends."""
    result: object = None
    error: str = ""
    submitted_s: float = 0.0
    started_s: float = 0.0
    finished: threading.Event = field(default_factory=threading.Event)

    def wait(self, seconds: float) -> bool:
        """Wait until the job is over, at most so long; True when it is."""
        return self.finished.wait(seconds)

    @property
    def is_over(self) -> bool:
        """Whether it is done, failed or cancelled."""
        return self.finished.is_set()

    def end(self, state: JobState, *, error: str = "", result: object = None) -> None:
        """Write down how it ended, and wake up who waits for it."""
        self.state, self.error, self.result = state, error, result
        self.finished.set()


class _Process:
    """One worker process and the thread that listens to it."""

    def __init__(self, pool: RunPool, command: Sequence[str]) -> None:
        self.job: Job | None = None
        self.has_answered = False
        self._pool = pool
        # The app may have been started from any folder; the process has to find the same package.
        path = os.pathsep.join([_PACKAGE_FOLDER, *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "PYTHONPATH": path}
        self._popen = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self._in = cast("BinaryIO", self._popen.stdin)
        self._out = cast("BinaryIO", self._popen.stdout)
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def pid(self) -> int:
        """The operating system's number of the process."""
        return self._popen.pid

    def start(self, job: Job) -> None:
        """Give it a job; call with the pool's lock held."""
        self.job = job
        job.state = "running"
        job.started_s = time.monotonic()
        try:
            self._send(("run", job.number, job.task))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            self.job = None
            job.end("failed", error=f"this is a fault of the program: the run cannot be handed over ({error})")

    def cancel(self, job: Job) -> None:
        """Ask it to give its job up; call with the pool's lock held."""
        self._send(("cancel", job.number))

    def kill(self) -> None:
        """End the process."""
        self._popen.kill()

    def close(self) -> None:
        """End the process, and wait until it is gone."""
        self._popen.kill()
        self._popen.wait()

    def _send(self, message: object) -> None:
        with contextlib.suppress(OSError, ValueError):
            # A dead process is noticed by the listener, which fails the job.
            send(self._in, message)

    def _listen(self) -> None:
        try:
            while True:
                self._pool._heard(self, cast("tuple[object, ...]", receive(self._out)))
        except (EOFError, OSError, ValueError):
            self._popen.wait()
            self._in.close()
            self._out.close()
            self._pool._died(self, self._popen.returncode)


class RunPool:
    """Runs tasks in worker processes. All methods may be called from any thread."""

    def __init__(
        self,
        processes: int | None = None,
        *,
        seconds_per_run: float | None = None,
        cancel_grace_s: float = CANCEL_GRACE_SECONDS,
        command: Sequence[str] = _COMMAND,
    ) -> None:
        self._lock = threading.RLock()
        self._numbers = itertools.count(1)
        self._waiting: deque[Job] = deque()
        self._seconds = float(SECONDS_PER_RUN.value) if seconds_per_run is None else seconds_per_run
        self._grace_s = cancel_grace_s
        self._command = command
        self._places = processes or CONCURRENT_RUNS.value
        self._closed = threading.Event()
        self._processes: list[_Process] = []
        self._fill()
        threading.Thread(target=self._watch, daemon=True).start()

    def submit(self, owner: str, task: Task) -> Job:
        """Ask for a run; an unfinished older one of the same owner is superseded."""
        with self._lock:
            self.cancel(owner)
            job = Job(next(self._numbers), owner, task, submitted_s=time.monotonic())
            if self._closed.is_set():
                job.end("failed", error="the server is going down")
                return job
            self._fill()
            self._waiting.append(job)
            self._start_next()
            return job

    def cancel(self, owner: str) -> None:
        """Give up what an owner asked for."""
        with self._lock:
            for job in [job for job in self._waiting if job.owner == owner]:
                self._waiting.remove(job)
                job.end("cancelled", error="cancelled")
            for process in self._processes:
                current = process.job
                if current is not None and current.owner == owner and current.state == "running":
                    current.end("cancelled", error="cancelled")
                    current.started_s = time.monotonic()  # from here the grace counts
                    process.cancel(current)

    def ahead_of(self, job: Job) -> int:
        """How many runs have to end or be given up before a queued job starts; 0 once it has started."""
        with self._lock:
            return self._waiting.index(job) + 1 if job in self._waiting else 0

    def pids(self) -> list[int]:
        """The process numbers of the worker processes there are now."""
        with self._lock:
            return [process.pid for process in self._processes]

    def close(self) -> None:
        """End all worker processes; what was asked for and is not done fails."""
        with self._lock:
            self._closed.set()
            processes = list(self._processes)
            while self._waiting:
                self._waiting.popleft().end("failed", error="the server is going down")
        for process in processes:
            process.close()

    def _fill(self) -> None:
        """Start processes until there is one for every place."""
        while len(self._processes) < self._places:
            self._processes.append(_Process(self, self._command))

    def _start_next(self) -> None:
        for process in self._processes:
            while self._waiting and process.job is None:
                process.start(self._waiting.popleft())

    def _heard(self, process: _Process, message: tuple[object, ...]) -> None:
        with self._lock:
            process.has_answered = True
            job = process.job
            if job is None or message[1] != job.number:
                return
            if message[0] == "progress":
                if job.state == "running":
                    job.over, job.total, part = cast("tuple[int, int, object]", message[2:])
                    if part is not None:
                        job.parts.append(part)
                return
            if job.state == "running":
                if message[0] == "done":
                    job.end("done", result=message[2])
                else:
                    job.end("failed", error=str(message[2]))
            process.job = None
            self._start_next()

    def _died(self, process: _Process, code: int | None) -> None:
        with self._lock:
            job = process.job
            if job is not None and job.state == "running":
                job.end("failed", error=_death(code))
            if process in self._processes:
                self._processes.remove(process)
            # One that could not even start is not replaced until somebody asks for a run: it would die again and again.
            if not self._closed.is_set() and (process.has_answered or self._waiting):
                self._fill()
                self._start_next()

    def _watch(self) -> None:
        """End processes that run over the limit or do not answer a cancel."""
        while not self._closed.wait(min(WATCH_SECONDS, self._grace_s, self._seconds / 4)):
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
                        job.end("failed", error=text)
                        process.kill()
                    elif job.state == "cancelled" and now - job.started_s > self._grace_s:
                        process.kill()


def _death(code: int | None) -> str:
    """What to say where a process ended by itself; a negative code is a signal."""
    how = f"was ended by signal {-code}" if code is not None and code < 0 else f"ended with code {code}"
    perhaps = ", perhaps because the machine ran out of memory" if code == -9 else ""
    return f"the process of this run {how}{perhaps}; nothing else was lost"
