"""A real frontend with its mock engine on loopback, probed with 320 + 320 requests: ``make live``.

Exit code 0 where premium has its share of the first 320 completions under both policies, 1 where it has not, 2 where
it could not be tried.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from drr.dynamo.live import MODEL, LiveRouter
from drr.errors import DrrError

ROOT = Path(__file__).resolve().parent.parent
LOAD = ("--class", "premium=320", "--class", "regular=320", "--tokens", "512", "--at-once", "--yes")
ENGINE = ("--engine", "max_num_seqs=4", "--engine", "enable_prefix_caching=false")
# Policy, and how many of the first 320 completions are premium's.
CHECKS = (("premium_4_to_1", "premium=250..262"), ("equal_share", "premium=154..166"))


def check(python: Path, policy: Path, expected: str, out: Path) -> int:
    """One policy: start, probe, end. Returns the probe's exit code."""
    with tempfile.TemporaryDirectory(prefix="live-router-") as folder, LiveRouter(python, Path(folder), policy) as live:
        ids = ", ".join(f"{name} {number}" for name, number in live.process_ids.items())
        print(f"{policy.name}: frontend at {live.url} (processes: {ids})", flush=True)
        prediction = ("--policy", str(policy), *ENGINE)
        command = [sys.executable, "-m", "drr", "probe", live.url, "--model", MODEL, *LOAD, *prediction]
        return subprocess.run([*command, "--expect", expected, "--save", str(out)], cwd=ROOT, check=False).returncode


def main() -> int:
    """Check every policy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", type=Path, required=True, help="interpreter of the environment with ai-dynamo")
    parser.add_argument("--out", type=Path, default=Path("live"), help="folder for the probes' results (default live)")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    code = 0
    for name, expected in CHECKS:
        policy = ROOT / "sample_policies" / f"{name}.yaml"
        try:
            code = max(code, check(options.python.absolute(), policy, expected, options.out / f"{name}.csv"))
        except DrrError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
        print(flush=True)
    print("live: " + ("as expected" if code == 0 else "not as expected"))
    return code


if __name__ == "__main__":
    sys.exit(main())
