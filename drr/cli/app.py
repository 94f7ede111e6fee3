"""``app``: the pages in the browser, from a checkout or an installed wheel."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from drr.dynamo.probe_plan import is_loopback
from drr.errors import DrrError

if TYPE_CHECKING:
    from argparse import _SubParsersAction

LOOPBACK = "127.0.0.1"
_PACKAGE = Path(__file__).resolve().parents[1]
# In the repository the script is next to the package; an installed wheel carries it inside.
_SCRIPTS = (_PACKAGE.parent / "app.py", _PACKAGE / "_app" / "app.py")


def add_parser(verbs: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("app", help="the pages in the browser", description=__doc__)
    parser.add_argument("--port", type=_port, default=8501, metavar="N", help="port to listen on (default 8501)")
    parser.add_argument(
        "--address", default=LOOPBACK, help=f"address to listen on (default {LOOPBACK}: this machine alone)"
    )
    parser.add_argument("--policy", type=Path, metavar="FILE", help="a policy file that the Lab follows as it is saved")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Serve until interrupted. Raises :class:`DrrError` where the installation has no pages."""
    if not is_loopback(options.address):
        said = f"Listening on {options.address}: whoever reaches it can run work here, and needs no password."
        print(said, file=sys.stderr, flush=True)
    command = command_line(port=options.port, address=options.address, policy=options.policy)
    if os.name == "posix":
        # No process in between, so that whoever ends this one ends the server.
        os.execv(command[0], command)
    return subprocess.call(command)


def command_line(*, port: int, address: str, policy: Path | None) -> list[str]:
    """The command that serves the pages. What the script's folder says in ``.streamlit/config.toml`` holds too."""
    command = [sys.executable, "-m", "streamlit", "run", str(script())]
    command += ["--server.address", address, "--server.port", str(port)]
    return command if policy is None else [*command, "--", "--policy", str(policy.absolute())]


def script() -> Path:
    """The script of the app; raises :class:`DrrError` where there is none."""
    for path in _SCRIPTS:
        if path.is_file():
            return path
    raise DrrError(f"the pages are not installed: neither {_SCRIPTS[0]} nor {_SCRIPTS[1]} is there")


def _port(text: str) -> int:
    if text.isascii() and text.isdigit() and 1 <= int(text) <= 65535:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no port; a whole number from 1 to 65535 is allowed")
