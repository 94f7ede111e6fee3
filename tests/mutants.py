"""Mutation testing, small and without a library: break the engine in one spot at a time; does a test notice?

``python tests/mutants.py [--only TEXT ...] [--jobs N]`` tries the mistakes of ``tests/mistakes``, each against the
tests named there, and says caught or survived. Exit code 1 if one survives or its text is no longer found.

``python tests/mutants.py --generic [FILE ...] [--tests PATH ...] [--sample N] [--seed S]`` makes mutants up, spot by
spot, in ``drr/scheduler`` or the given files, and prints the survivors. Each is a missing test or a change that
makes no difference: somebody has to look.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.util
import os
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # run as a script, this file would see its own folder alone

from tests.mistakes import MISTAKES, Mistake  # noqa: E402 - needs the line above

COPIED = ("drr", "tests", "pages", "sample_policies", "docs", "benchmarks", "app.py", "ringside.py", "pyproject.toml")

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """A broken file: where and how, for people, its whole changed source, and the tests that must notice."""

    path: str
    text: str
    source: str
    tests: tuple[str, ...]


def replacements(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in the place of ``node``, each a copy that differs in one spot."""
    changed = copy.deepcopy(node)
    match changed:
        case ast.Compare(ops=[first, *_]) if type(first) in COMPARISONS:
            changed.ops[0] = COMPARISONS[type(first)]()
        case ast.BinOp() | ast.AugAssign() if type(changed.op) in ARITHMETIC:
            changed.op = ARITHMETIC[type(changed.op)]()
        case ast.BoolOp():
            changed.op = ast.Or() if isinstance(changed.op, ast.And) else ast.And()
        case ast.UnaryOp(op=ast.Not()):
            changed = changed.operand
        case ast.Constant(value=bool()):
            changed.value = not changed.value
        case ast.Constant(value=int()):
            changed.value += 1
        case ast.Break():
            changed = ast.Continue()
        case ast.Continue():
            changed = ast.Break()
        case ast.If():
            changed.test = ast.Constant(value=False)
        case ast.Expr(value=ast.Call()):
            changed = ast.Pass()
        case _:
            return
    yield ast.copy_location(changed, node)


def spots(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Every child with its place: parent, field, index in the field's list (or None), child; no annotations."""
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if field in {"annotation", "returns", "decorator_list"}:
                continue
            if isinstance(value, list):
                yield from ((parent, field, i, child) for i, child in enumerate(value) if isinstance(child, ast.AST))
            elif isinstance(value, ast.AST):
                yield parent, field, None, value


def generic_mutants(path: str, tests: tuple[str, ...]) -> Iterator[Mutant]:
    """All made-up mutants of one file, given relative to the project."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    for parent, field, index, child in list(spots(tree)):
        for other in replacements(child):
            put(parent, field, index, other)
            before, after = (ast.unparse(node).splitlines()[0][:80] for node in (child, other))
            text = f"{path}:{child.lineno}: {before}  ->  {after}"  # type: ignore[attr-defined]
            yield Mutant(path, text, ast.unparse(ast.fix_missing_locations(tree)), tests)
            put(parent, field, index, child)


def put(parent: ast.AST, field: str, index: int | None, node: ast.AST) -> None:
    """Set one place in a tree."""
    if index is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[index] = node


class NotFoundError(Exception):
    """The text that a mistake changes does not stand in its file, or not just once."""


def mutant_of(mistake: Mistake) -> Mutant:
    """The sources with a mistake in them."""
    source = (ROOT / mistake.path).read_text(encoding="utf-8")
    for old, new in mistake.changes:
        if source.count(old) != 1:
            raise NotFoundError(f"{mistake.path}: {mistake.name}: found {source.count(old)} times: {old.strip()!r}")
        source = source.replace(old, new)
    return Mutant(mistake.path, f"{mistake.path}: {mistake.name}", source, mistake.tests)


# Finding that a mutant fails is enough; to look for the smallest example takes Hypothesis minutes.
FIRST_FAILURE_PLUGIN = """\
from hypothesis import HealthCheck, Phase, settings

settings.register_profile(
    "mutants",
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
"""


class Workshop:
    """A copy of the project in which one mutant at a time is tried."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        leave_out = shutil.ignore_patterns("__pycache__", "node_modules")
        for name in COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, folder / name, ignore=leave_out)
            elif (ROOT / name).is_file():
                shutil.copy2(ROOT / name, folder / name)
        (folder / "first_failure.py").write_text(FIRST_FAILURE_PLUGIN, encoding="utf-8")

    def tests_pass(self, tests: Sequence[str], timeout_seconds: float) -> bool:
        """Whether the tests pass on what is in the workshop; a hang counts as a failure."""
        shared = (ROOT / os.environ.get("RINGSIDE_SHARED", "../shared")).resolve()
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.folder),
            "RINGSIDE_SHARED": str(shared),
            "RINGSIDE_HYPOTHESIS": "mutants",
        }
        command = [
            *(sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "first_failure"),
            *("-m", "not slow and not browser and not router", "--ignore=tests/test_house.py", *tests),
        ]
        try:
            done = subprocess.run(
                command, cwd=self.folder, env=environment, capture_output=True, check=False, timeout=timeout_seconds
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def survives(self, mutant: Mutant, timeout_seconds: float) -> bool:
        """Whether no test notices ``mutant``."""
        target = self.folder / mutant.path
        original = target.read_text(encoding="utf-8")
        self._put(target, mutant.source)
        try:
            return self.tests_pass(mutant.tests, timeout_seconds)
        finally:
            self._put(target, original)

    @staticmethod
    def _put(target: Path, source: str) -> None:
        """Write a source, and drop its compiled form: two sources of one second and size would pass for one."""
        target.write_text(source, encoding="utf-8")
        Path(importlib.util.cache_from_source(target)).unlink(missing_ok=True)


def main() -> int:
    """Try the mutants, print what became of them and the score."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[""], help="only mistakes whose file or name holds one of these")
    parser.add_argument("--list", action="store_true", help="list the mistakes and stop")
    parser.add_argument("--generic", action="store_true", help="made-up mutants instead of the list of mistakes")
    parser.add_argument("files", nargs="*", help="with --generic: sources to break (default: drr/scheduler/*.py)")
    parser.add_argument("--tests", nargs="+", default=["tests"], help="with --generic: tests that must notice")
    parser.add_argument("--sample", type=int, help="with --generic: try only so many, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="of the draw (default: 0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="at a time (default: one per core)")
    options = parser.parse_args()
    missing: list[str] = []
    if options.generic:
        mutants = made_up(options)
    else:
        mutants, missing = listed(options.only)
        if options.list:
            print(*(mutant.text for mutant in mutants), *missing, sep="\n")
            return 1 if missing else 0
    with tempfile.TemporaryDirectory(prefix="ringside-mutants-") as scratch:
        survivors = try_all(mutants, Path(scratch), options.jobs, quiet=options.generic)
    for text in missing:
        print(f"not found: {text}")
    print(f"mutants caught: {len(mutants) - len(survivors)}/{len(mutants) + len(missing)}")
    return 1 if survivors or missing else 0


def listed(only: Sequence[str]) -> tuple[list[Mutant], list[str]]:
    """The mutants of the list of mistakes, and those whose text is no longer found."""
    mutants: list[Mutant] = []
    missing: list[str] = []
    for mistake in MISTAKES:
        if any(word in f"{mistake.path}: {mistake.name}" for word in only):
            try:
                mutants.append(mutant_of(mistake))
            except NotFoundError as problem:
                missing.append(str(problem))
    return mutants, missing


def made_up(options: argparse.Namespace) -> list[Mutant]:
    """The made-up mutants that the command line asks for."""
    files = options.files or sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "drr/scheduler").glob("*.py"))
    mutants = [mutant for path in files for mutant in generic_mutants(path, tuple(options.tests))]
    if options.sample is None:
        return mutants
    return random.Random(options.seed).sample(mutants, min(options.sample, len(mutants)))


def try_all(mutants: list[Mutant], scratch: Path, jobs: int, *, quiet: bool) -> list[Mutant]:
    """The mutants that survive. Each job has a workshop of its own; ``quiet`` prints survivors alone."""
    workshops: queue.SimpleQueue[Workshop] = queue.SimpleQueue()
    for number in range(jobs):
        folder = scratch / str(number)
        folder.mkdir()
        workshops.put(Workshop(folder))
    first = workshops.get()
    started = time.monotonic()
    if mutants and not first.tests_pass(list(dict.fromkeys(test for m in mutants for test in m.tests)), 3_600):
        raise SystemExit("the tests fail on the unbroken sources; mend that first")
    # A mutant may loop for ever; sharing the cores makes an honest run slower, too.
    timeout_seconds = 10 + 4 * (time.monotonic() - started)
    workshops.put(first)

    def try_one(mutant: Mutant) -> bool:
        workshop = workshops.get()
        try:
            survived = workshop.survives(mutant, timeout_seconds)
        finally:
            workshops.put(workshop)
        if survived or not quiet:
            print(f"{'SURVIVED' if survived else 'caught'}: {mutant.text}", flush=True)
        return survived

    with ThreadPoolExecutor(jobs) as pool:
        return [mutant for mutant, survived in zip(mutants, pool.map(try_one, mutants), strict=True) if survived]


if __name__ == "__main__":
    raise SystemExit(main())
