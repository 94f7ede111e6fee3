"""The process that runs experiments, so that a heavy run never freezes a page: ``python -m drr.ui.worker_process``.

It talks over its standard streams with :class:`drr.ui.jobs.RunPool`, its parent, in pickled messages with a length in
front. In: ``("run", job, task)`` or ``("cancel", job)``. Out: ``("ready", 0)`` once, ``("progress", job, over,
total, part)``, ``("done", job, result)`` or ``("failed", job, error text)``. When the parent goes away, so does the
process, whatever it is doing.
"""

from __future__ import annotations

import importlib
import os
import pickle
import queue
import sys
import threading
from typing import BinaryIO, NoReturn, Protocol

from drr.errors import DrrError
from drr.ui.limits import error_words

LENGTH_BYTES = 8


class Progress(Protocol):
    """Is told how far a task is; may raise to end it."""

    def __call__(self, over: int, total: int, part: object = None, /) -> object:
        """``part`` is something of the result that is finished and stays, however the task ends."""


class Task(Protocol):
    """Something a worker process can do: picklable, with a picklable result."""

    def run(self, progress: Progress) -> object:
        """Do it; ``progress`` is called now and then."""


class CancelledError(Exception):
    """The parent does not want the result any more."""


def send(stream: BinaryIO, message: object) -> None:
    """Write one message."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(len(data).to_bytes(LENGTH_BYTES, "little") + data)
    stream.flush()


def receive(stream: BinaryIO) -> object:
    """Read one message; raises EOFError when the other side is gone."""
    head = stream.read(LENGTH_BYTES)
    if len(head) < LENGTH_BYTES:
        raise EOFError
    size = int.from_bytes(head, "little")
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return pickle.loads(data)


class _Inbox:
    """Reads messages in a thread of its own, so that a cancel is seen while a job runs."""

    def __init__(self, stream: BinaryIO) -> None:
        self.jobs: queue.SimpleQueue[tuple[int, Task]] = queue.SimpleQueue()
        self.cancelled: set[int] = set()
        self._stream = stream
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            while True:
                message = receive(self._stream)
                assert isinstance(message, tuple)
                if message[0] == "run":
                    self.jobs.put((message[1], message[2]))
                else:
                    self.cancelled.add(message[1])
        except (EOFError, OSError):
            os._exit(0)


def main() -> NoReturn:
    """Serve jobs until the parent goes away."""
    inbox = _Inbox(sys.stdin.buffer)
    out = sys.stdout.buffer
    sys.stdout = sys.stderr  # a stray print must not break the protocol
    importlib.import_module("drr.ui.run_task")  # now, and not while somebody waits for the first run
    send(out, ("ready", 0))
    while True:
        number, task = inbox.jobs.get()

        def progress(over: int, total: int, part: object = None, /, *, number: int = number) -> None:
            if number in inbox.cancelled:
                raise CancelledError
            send(out, ("progress", number, over, total, part))

        try:
            answer: tuple[object, ...] = ("done", number, task.run(progress))
        except CancelledError:
            answer = ("failed", number, "cancelled")
        except DrrError as error:
            answer = ("failed", number, error_words(error))
        except Exception as error:
            fault = f"this is a fault of the program, not of the input: {type(error).__name__}: {error}"
            answer = ("failed", number, fault)
        inbox.cancelled.discard(number)
        send(out, answer)


if __name__ == "__main__":
    main()
