"""``validate FILE``: what is right and wrong with a policy file, at the exact places."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from drr.policy import read_policy

if TYPE_CHECKING:
    from argparse import _SubParsersAction


def add_parser(verbs: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("validate", help="check a policy file", description=__doc__)
    parser.add_argument("file", type=Path, metavar="FILE", help="policy file (YAML); - for standard input")
    parser.add_argument("--json", action="store_true", help="print the diagnostics as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Exit code 0: accepted, 1: refused, 2: unreadable."""
    try:
        data = sys.stdin.buffer.read() if str(options.file) == "-" else options.file.read_bytes()
    except OSError as error:
        print(f"error: cannot read {options.file}: {error.strerror or error}", file=sys.stderr)
        return 2
    reading = read_policy(data, source=str(options.file))
    if options.json:
        found = {"file": str(options.file), "accepted": reading.ok, "router_accepts": reading.router_accepts}
        diagnostics = [diagnostic.as_dict() for diagnostic in reading.diagnostics]
        print(json.dumps({**found, "diagnostics": diagnostics}, indent=2, ensure_ascii=False))
    else:
        for diagnostic in reading.diagnostics:
            print(diagnostic.text(str(options.file)))
        print(f"{options.file}: {'accepted' if reading.ok else 'refused'}")
    return 0 if reading.ok else 1
