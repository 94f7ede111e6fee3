"""A policy file on disk that the Lab follows: named by whoever starts the server, never by a browser.

``streamlit run app.py -- --policy PATH`` or the environment variable ``RINGSIDE_POLICY`` names it. One
:class:`PolicyFile` per server watches its folder, so every way of saving is seen: in place, by an atomic replacement,
through a temporary file, or by deleting and writing anew. What a session does with it is in :mod:`drr.ui.file_bar`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from drr.errors import DrrError
from drr.policy.source_text import MAX_BYTES, readable_text

VARIABLE = "RINGSIDE_POLICY"
SETTLE_SECONDS = 0.05
"""After a change in place the file is read when nothing more has changed for so long, or when it is closed."""
_CHANGES = frozenset({"modified", "created", "moved", "deleted", "closed"})


class PolicyFileError(DrrError):
    """The policy file cannot be written, or holds another text than the one that is to be replaced."""


def named_path(arguments: Sequence[str] | None = None) -> Path | None:
    """The file named on the command line of the app or else in the environment; None where none is."""
    named = _policy_argument(tuple(sys.argv[1:] if arguments is None else arguments)) or os.environ.get(VARIABLE)
    return Path(named).absolute() if named else None


@lru_cache(maxsize=4)
def _policy_argument(arguments: tuple[str, ...]) -> str | None:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--policy", default=None)
    try:
        given, _ = parser.parse_known_args(arguments)
    except argparse.ArgumentError:  # --policy without a path
        return None
    policy: str | None = given.policy
    return policy


class PolicyFile(FileSystemEventHandler):
    """The newest text of one file. Its fields are written by the watching thread and may be read by anybody."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text: str | None = None
        """The last text that could be read; None until there was one."""
        self.problem = ""
        """Why the file cannot be read now; "" where it can."""
        self.version = 0
        """Goes up whenever ``text`` or ``problem`` changes."""
        self._lock = threading.Lock()
        self._settling: threading.Timer | None = None
        self._observer = Observer()
        self.read()
        try:
            self._observer.schedule(self, str(path.parent))
            # A link may lead to another folder, as files of a mounted ConfigMap do.
            real = path.resolve().parent
            if real != path.parent and real.is_dir():
                self._observer.schedule(self, str(real))
            self._observer.start()
        except OSError as error:
            self.problem = f"the folder {path.parent} cannot be watched: {error.strerror or error}"
            self.version += 1

    def close(self) -> None:
        """Stop watching."""
        if self._settling is not None:
            self._settling.cancel()
        if self._observer.is_alive():
            self._observer.stop()
            self._observer.join()

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Something happened in the folder: look at the file, now or when it has settled."""
        if event.event_type not in _CHANGES or (event.is_directory and event.event_type == "modified"):
            return
        if self._settling is not None:
            self._settling.cancel()
        # Something else in the folder says nothing about our file, which may just be half written.
        is_ours = self.path.name in (Path(os.fsdecode(event.src_path)).name, Path(os.fsdecode(event.dest_path)).name)
        if event.event_type == "modified" or not is_ours:
            self._settling = threading.Timer(SETTLE_SECONDS, self.read)
            self._settling.daemon = True
            self._settling.start()
        else:
            self.read()

    def read(self) -> None:
        """Take in what the file holds now."""
        text, problem = _read(self.path)
        with self._lock:
            if (text is not None and text != self.text) or problem != self.problem:
                self.text = self.text if text is None else text
                self.problem = problem
                self.version += 1

    def save(self, text: str, *, expected: str | None) -> None:
        """Write ``text`` so that a reader sees the old file or the new one, never a part.

        Raises :class:`PolicyFileError` where the file holds another text than ``expected`` by now (somebody else has
        saved it), cannot be read, or cannot be written. A symbolic link stays one, and so do the permissions.
        """
        self.read()
        target = self.path.resolve()
        if self.problem and target.exists():
            raise PolicyFileError(f"{self.problem}, and what cannot be read is not replaced")
        if self.problem == "" and self.text not in (expected, text):
            raise PolicyFileError("the file has changed on disk in the meantime")
        try:
            handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(text.encode("utf-8"))
                    file.flush()
                    os.fsync(file.fileno())
                mode = target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask()
                os.chmod(name, mode)
                os.replace(name, target)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(name)
                raise
        except (OSError, UnicodeEncodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it holds characters that no file can"
            raise PolicyFileError(f"{self.path.name} cannot be written: {why}") from None
        self.read()


def _read(path: Path) -> tuple[str | None, str]:
    """The text of a file, or why there is none."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None, f"{path.name} is not there now; when it comes back, it is read again"
    except OSError as error:
        return None, f"{path.name} cannot be read: {error.strerror or error}"
    if len(data) > MAX_BYTES:
        return None, f"{path.name} is longer than {MAX_BYTES:,} bytes"
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError:
        return None, f"{path.name}: {readable_text(data)[1][0].text()}"


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
