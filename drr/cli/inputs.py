"""What several verbs need to make a run: the arguments, the files behind them, progress, files written whole."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from drr.errors import EngineOptionError, PolicyError, WorkloadError
from drr.policy import Profile, load_policy, synthetic_profile
from drr.router.requests import RequestTable
from drr.router.router import ARRIVAL_MODES
from drr.scheduler.ring import CURSOR_RULES
from drr.simulation.engine_options import SPEEDUPS, EngineOptions, in_speedup_range
from drr.simulation.recording import Run
from drr.simulation.replay import replay
from drr.workload.traces import read_trace
from drr.workload.traces_formats import look_at

PROGRESS_SECONDS = 0.5


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that describe a run."""
    add_case_arguments(parser)
    parser.add_argument("--cursor", choices=CURSOR_RULES, default="documented", help="cursor rule (default documented)")
    parser.add_argument(
        "--arrivals",
        choices=ARRIVAL_MODES,
        default="bypass",
        help="requests that need not wait go out at once, as in the offline replay (bypass, the default), or by an "
        "arbitration call, as in the live service (through_ring)",
    )
    parser.add_argument(
        "--queue-threshold",
        type=fraction,
        metavar="FRAC",
        help="without --policy: a worker is busy above this fraction of max_num_batched_tokens (default: never)",
    )
    parser.add_argument("--seed", type=int, default=0, help="breaks ties between equal workers (default 0)")
    parser.add_argument("--abort-on-refusal", action="store_true", help="end at a full class, as the real replay does")


def add_case_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that say what is run: policy, trace and workers."""
    parser.add_argument("--policy", type=Path, metavar="FILE", help="policy file (YAML); without: the synthetic class")
    parser.add_argument(
        "--trace", type=Path, metavar="FILE", required=True, help="trace: Mooncake JSONL or another format (.gz too)"
    )
    parser.add_argument("--model", metavar="NAME", help="model whose profile counts; without it the root profile")
    parser.add_argument("--workers", type=positive, default=1, metavar="N", help="number of equal workers (default 1)")
    parser.add_argument(
        "--engine",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help='mock engine option, as max_num_seqs=4 or timing_model=\'{"type": "fixed", ...}\'; may be repeated',
    )
    parser.add_argument("--trace-block-size", type=positive, metavar="TOKENS", help="tokens per hash id (default 512)")
    parser.add_argument("--speedup", type=ratio, default=1.0, metavar="X", help="arrival speed-up (default 1)")
    parser.add_argument("--lenient", action="store_true", help="leave bad trace lines out instead of refusing all")


def positive(text: str) -> int:
    """A number of things on the command line: whole, at least 1."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    return int(text)


def ratio(text: str) -> float:
    """A speed-up on the command line."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not in_speedup_range(value):
        raise argparse.ArgumentTypeError(f"{text!r} given, {SPEEDUPS} is allowed")
    return value


def fraction(text: str) -> float:
    """A number of at least 0 on the command line."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of at least 0")
    return value


def load_profile(path: Path | None, model: str | None, queue_threshold: float | None = None) -> Profile:
    """The profile of a policy file for a model; raises :class:`PolicyError` with everything that is wrong.

    Without a file there is the synthetic class, with ``queue_threshold`` as its ``prefill_busy_threshold_frac``.
    """
    if path is None:
        return synthetic_profile(queue_threshold)
    if queue_threshold is not None:
        raise PolicyError("--queue-threshold is for runs without --policy; a policy file has thresholds of its own")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise PolicyError(f"cannot read policy {path}: {error.strerror or error}") from None
    return load_policy(data, source=str(path)).profile_for(model)


def engine_options(pairs: list[str]) -> EngineOptions:
    """Options of the mock engine from ``key=value`` texts."""
    return EngineOptions.from_mapping(engine_mapping(pairs))


def engine_mapping(pairs: list[str]) -> dict[str, object]:
    """Options by name from ``key=value`` texts; values are JSON, or text where they are none."""
    options: dict[str, object] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise EngineOptionError(f"--engine {pair!r}: key=value is expected, as max_num_seqs=4")
        try:
            options[key] = json.loads(value)
        except ValueError:
            options[key] = value
    return options


def load_requests(options: argparse.Namespace) -> tuple[RequestTable, int]:
    """The requests of ``--trace`` and its tokens per hash id; lines that are left out are named on standard error."""
    spec = look_at(options.trace).require()
    if options.trace_block_size is not None:
        spec = replace(spec, block_size_tokens=options.trace_block_size)
    with progress_line("reading") as report:
        reading = read_trace(
            options.trace, spec, lenient=options.lenient, progress=lambda lines: report(f"{lines:,} lines")
        )
    for problem in reading.problems:
        print(f"{options.trace}: left out: {problem.text()}", file=sys.stderr)
    if reading.problems:
        loaded, skipped = len(reading.requests), len(reading.problems)
        print(f"{options.trace}: {loaded:,} rows loaded, {skipped:,} left out", file=sys.stderr)
    return reading.requests, reading.block_size_tokens


def load_run(options: argparse.Namespace, *, record: bool = True) -> Run:
    """Read the inputs and run them."""
    profile = load_profile(options.policy, options.model, options.queue_threshold)
    engine = engine_options(options.engine)
    requests, block_size_tokens = load_requests(options)
    with progress_line("running") as report:
        return replay(
            profile,
            requests,
            workers=options.workers,
            engine=engine,
            trace_block_size=block_size_tokens,
            arrival_speedup_ratio=options.speedup,
            cursor_rule=options.cursor,
            arrivals=options.arrivals,
            seed=options.seed,
            abort_on_refusal=options.abort_on_refusal,
            record=record,
            progress=lambda over, total: report(f"{over:,} of {total:,} requests"),
        )


@contextmanager
def progress_line(what: str) -> Iterator[Callable[[str], None]]:
    """A line on standard error that is rewritten while something takes long; nothing where that is no terminal."""
    shown = False
    last = time.monotonic()

    def report(text: str) -> None:
        nonlocal shown, last
        now = time.monotonic()
        if now - last >= PROGRESS_SECONDS and sys.stderr.isatty():
            print(f"\r\x1b[K{what}: {text}", end="", file=sys.stderr, flush=True)
            shown, last = True, now

    try:
        yield report
    finally:
        if shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Write a file beside ``path`` and put it there in one go, so that no half file ever stands there."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
    except OSError as error:
        raise WorkloadError(f"cannot write {path}: {error.strerror or error}") from None
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except OSError as error:
        raise WorkloadError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        temporary.unlink(missing_ok=True)


def write_bytes_whole(path: Path, data: bytes) -> None:
    """Write a file of these bytes as :func:`write_whole` does."""

    def write(temporary: Path) -> None:
        temporary.write_bytes(data)

    write_whole(path, write)
