"""Comparing our verdict on policy files with the recorded verdict of the real router's loader."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

from drr.errors import DrrError
from drr.policy.reading import read_policy


def verify_policy_files(path: str | Path) -> Iterator[tuple[str, bool, str]]:
    """For every recorded file its name, whether the verdicts agree, and what each side says.

    ``path`` is a JSON list (or the same gzipped) of ``name``, ``latin1`` (the file's bytes read as Latin-1) and
    ``rejected_because`` (null where the router accepts). A file that is loaded here with a warning that the router
    refuses it agrees with a router that does. Raises :class:`DrrError` where the recording cannot be read.
    """
    try:
        data = Path(path).read_bytes()
        cases = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
        files = [(case["name"], case["latin1"].encode("latin-1"), case["rejected_because"]) for case in cases]
    except (OSError, EOFError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise DrrError(f"{path} is no recording of policy files: {error}") from error
    for name, content, refusal in files:
        reading = read_policy(content, source=name)
        agrees = reading.router_accepts == (refusal is None)
        ours = next((each.text() for each in reading.diagnostics if each.severity == "error"), "")
        ours = ours or next((each.text() for each in reading.diagnostics if each.router_refuses), "accepted")
        yield name, agrees, f"router: {refusal or 'accepted'}; here: {ours}"
