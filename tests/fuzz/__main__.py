"""``python -m tests.fuzz --minutes 60``: round all targets with ever new seeds until the time is up.

Prints the inputs tried per target. A finding is printed as small as it could be made, kept beside the others in
``--findings``, ready for the corpus, and makes the exit code 1. Its target rests for the remaining time.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import resource
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.errors import HypothesisWarning

from tests.fuzz import talk, texts
from tests.fuzz.target import Target, packed

TARGETS = (*texts.TARGETS, *talk.TARGETS)
INPUTS_PER_TURN = 150
MEMORY_BYTES = 3 * 2**30
"""More memory than this is refused to the process, so an input that wants it is a finding."""


TELL_SECONDS = 60


class TooLongError(Exception):
    """An input cost more CPU time than its target allows."""


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TooLongError("the input cost more CPU time than its target allows")


def main() -> int:
    """Fuzz; the exit code is 1 where there is a finding."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="how long (default 1)")
    parser.add_argument("--seed", type=int, default=None, help="the first seed (default: another one every time)")
    parser.add_argument("--only", action="append", choices=[each.name for each in TARGETS], help="a target; repeatable")
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"), help="folder of what was found")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    faulthandler.enable()
    warnings.simplefilter("ignore", HypothesisWarning)
    signal.signal(signal.SIGPROF, _too_long)
    first = int(time.time()) if options.seed is None else options.seed
    print(f"seed {first}", flush=True)
    chosen = [each for each in TARGETS if not options.only or each.name in options.only]
    tried: Counter[str] = Counter()
    found: dict[str, str] = {}
    end = time.monotonic() + 60 * options.minutes
    told = time.monotonic()
    dice = Random(first)
    while time.monotonic() < end and len(found) < len(chosen):
        for target in chosen:
            if target.name not in found and time.monotonic() < end:
                problem = one_turn(target, dice.getrandbits(64), tried, options.findings)
                if problem:
                    found[target.name] = problem
                    print(f"FOUND in {target.name}: {problem}", flush=True)
        if time.monotonic() - told > TELL_SECONDS:
            told = time.monotonic()
            print(f"{tried.total():,} inputs, {(end - told) / 60:.0f} minutes to go", flush=True)
    report(chosen, tried, found)
    return 1 if found else 0


def one_turn(target: Target, turn_seed: int, tried: Counter[str], folder: Path) -> str:
    """Some inputs for one target; returns what was found, "" for nothing."""
    last: list[Any] = [None]

    @seed(turn_seed)
    @settings(
        max_examples=INPUTS_PER_TURN,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )
    @given(target.inputs)
    def turn(value: Any) -> None:
        tried[target.name] += 1
        last[0] = value
        signal.setitimer(signal.ITIMER_PROF, target.cpu_seconds)
        try:
            target.check(value)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    try:
        turn()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        folder.mkdir(parents=True, exist_ok=True)
        what = "".join(traceback.format_exception(error))
        kept = [{"why": what[-2000:], "input": packed(last[0])}]
        (folder / f"{target.name}.json").write_text(json.dumps(kept, indent=1))
        (folder / f"{target.name}.txt").write_text(what)
        return f"{type(error).__name__}: {str(error)[:300]}"
    return ""


def report(chosen: list[Target], tried: Counter[str], found: dict[str, str]) -> None:
    """The inputs tried per target, and what was found."""
    for target in chosen:
        print(f"{target.name:18} {tried[target.name]:>10,}  {found.get(target.name, 'no finding')}")
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{'all':18} {tried.total():>10,}  {len(found)} findings; peak memory {peak_mib:,.0f} MiB")


if __name__ == "__main__":
    sys.exit(main())
