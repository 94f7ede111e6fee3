"""Mutation testing, small and without a library: break one spot of a file at a time, and see whether a test notices.

``python tests/mutants.py [FILE ...] [--tests PATH ...] [--sample N] [--seed S] [--jobs N]``. Without files it takes
``drr/scheduler``. Prints every mutant that survived as ``file:line: what was changed`` and the score last; exit code 1
if any survived. A survivor is either a missing test or a change that makes no difference: somebody has to look.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
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
    """One changed spot: which file, which line, what it was and became, and the whole changed source."""

    path: str
    line: int
    change: str
    source: str


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


def mutants_of(path: str) -> Iterator[Mutant]:
    """All mutants of one file, given relative to the project."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    for parent, field, index, child in list(spots(tree)):
        for other in replacements(child):
            put(parent, field, index, other)
            before, after = (ast.unparse(node).splitlines()[0][:80] for node in (child, other))
            yield Mutant(path, child.lineno, f"{before}  ->  {after}", ast.unparse(ast.fix_missing_locations(tree)))  # type: ignore[attr-defined]
            put(parent, field, index, child)


def put(parent: ast.AST, field: str, index: int | None, node: ast.AST) -> None:
    """Set one place in a tree."""
    if index is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[index] = node


class Workshop:
    """A copy of the project in which one mutant at a time is tried."""

    def __init__(self, folder: Path, tests: list[str]) -> None:
        self.folder = folder
        self.tests = tests
        leave_out = shutil.ignore_patterns("__pycache__", "node_modules")
        for name in COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, folder / name, ignore=leave_out)
            elif (ROOT / name).is_file():
                shutil.copy2(ROOT / name, folder / name)

    def tests_pass(self, timeout_seconds: float) -> bool:
        """Whether the tests pass on what is in the workshop; a hang counts as a failure."""
        shared = (ROOT / os.environ.get("RINGSIDE_SHARED", "../shared")).resolve()
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.folder),
            "PYTHONDONTWRITEBYTECODE": "1",
            "RINGSIDE_SHARED": str(shared),
            "RINGSIDE_HYPOTHESIS": "ci",
        }
        command = [
            *(sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"),
            *("-m", "not slow and not browser and not router", "--ignore=tests/test_house.py", *self.tests),
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
        target.write_text(mutant.source, encoding="utf-8")
        try:
            return self.tests_pass(timeout_seconds)
        finally:
            target.write_text(original, encoding="utf-8")


def main() -> int:
    """Try the mutants, print the survivors and the score."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", help="sources to break (default: drr/scheduler/*.py)")
    parser.add_argument("--tests", nargs="+", default=["tests"], help="tests that must notice (default: all)")
    parser.add_argument("--sample", type=int, help="try only so many, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="of the draw (default: 0)")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="at the same time (default: one per core)"
    )
    options = parser.parse_args()
    files = options.files or sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "drr/scheduler").glob("*.py"))
    mutants = [mutant for path in files for mutant in mutants_of(path)]
    if options.sample is not None:
        mutants = random.Random(options.seed).sample(mutants, min(options.sample, len(mutants)))
    with tempfile.TemporaryDirectory(prefix="ringside-mutants-") as scratch:
        survivors = try_all(mutants, Path(scratch), options.tests, options.jobs)
    print(f"mutants killed: {len(mutants) - len(survivors)}/{len(mutants)}")
    return 1 if survivors else 0


def try_all(mutants: list[Mutant], scratch: Path, tests: list[str], jobs: int) -> list[Mutant]:
    """The mutants that survive, printed as they are found; each job has a workshop of its own."""
    workshops: queue.SimpleQueue[Workshop] = queue.SimpleQueue()
    for number in range(jobs):
        folder = scratch / str(number)
        folder.mkdir()
        workshops.put(Workshop(folder, tests))
    first = workshops.get()
    started = time.monotonic()
    if not first.tests_pass(3_600):
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
        if survived:
            print(f"{mutant.path}:{mutant.line}: survived: {mutant.change}", flush=True)
        return survived

    with ThreadPoolExecutor(jobs) as pool:
        return [mutant for mutant, survived in zip(mutants, pool.map(try_one, mutants), strict=True) if survived]


if __name__ == "__main__":
    raise SystemExit(main())
