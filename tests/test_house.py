"""The rules of the house that no linter knows: sizes, words, and that the project speaks of nobody's machine."""

from __future__ import annotations

import ast
import itertools
import re
import subprocess
import tomllib
from collections.abc import Iterator

import pytest

from tests.support import ROOT

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60

MACHINE_PATH = re.compile(r"(?<![\w.:/-])/(?:work|root|tmp|home/[a-z][\w-]*|Users/[A-Za-z][\w-]*)/")
REGISTRY_HOST = re.compile(r"\b(?:pypi\.org|pythonhosted\.org|registry\.npmjs\.org|deb\.debian\.org)\b")
# Bundles and lock files are written by tools; the licence and pictures are nobody's prose.
WRITTEN_BY_TOOLS = re.compile(r"(^|/)(assets|node_modules)/|\.(?:png|svg|gz|webp|ico|woff2?)$|^LICENSE$")

# Too vague as a whole name: say which lane or class waits, what is busy with what, whose limit it is.
TOO_VAGUE = frozenset({"queue", "busy", "threshold"})
# Words of other people's schedulers, anywhere in a name; the glossary has ours.
NOT_OUR_WORDS = frozenset({"weight", "weights", "credit", "credits", "balance", "packet", "packets", "customer"})


def tracked_files() -> list[str]:
    """Files under version control, or about to be; every file outside the ignored places where there is no git."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listing = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        ignored = {".venv", "node_modules", "build", "dist", "__pycache__"}
        names = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
        return sorted(name.as_posix() for name in names if not ignored & set(name.parts))
    return sorted(name for name in listing.split("\0") if name and (ROOT / name).is_file())


def prose_and_source() -> Iterator[tuple[str, int, str]]:
    """Every line of every tracked text file a person wrote: path, line number, text."""
    for name in tracked_files():
        if WRITTEN_BY_TOOLS.search(name):
            continue
        try:
            text = (ROOT / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            yield name, number, line


def python_files(folder: str) -> list[str]:
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*.py"))


def long_functions(source: str) -> list[str]:
    """Functions longer than they may be, decorators and docstring not counted."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        first = node.body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            lines -= (first.end_lineno or first.lineno) - first.lineno + 1
        if lines > MAX_FUNCTION_LINES:
            found.append(f"line {node.lineno}: {node.name} has {lines} lines")
    return found


def names_given(source: str) -> Iterator[tuple[int, str]]:
    """Every name that ``source`` itself gives: functions, classes, arguments, variables, attributes of self."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.lineno, node.name
            case ast.arg():
                yield node.lineno, node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.lineno, node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.lineno, node.attr


def words_of(name: str) -> list[str]:
    """The words of a name, whether written like_this or LikeThis."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]


def bad_names(source: str) -> list[str]:
    """Names that use a word the glossary rules out, as ``line N: name``."""
    found = []
    for line, name in names_given(source):
        words = words_of(name)
        vague = len(words) == 1 and words[0] in TOO_VAGUE
        foreign = NOT_OUR_WORDS.intersection(words) or ("virtual", "time") in itertools.pairwise(words)
        if vague or foreign:
            found.append(f"line {line}: {name}")
    return found


def test_no_tracked_file_names_a_path_of_one_machine() -> None:
    assert [
        f"{name}:{number}: {line.strip()}" for name, number, line in prose_and_source() if MACHINE_PATH.search(line)
    ] == []


def test_no_tracked_file_names_a_package_registry() -> None:
    lines = [f"{name}:{number}" for name, number, line in prose_and_source() if REGISTRY_HOST.search(line)]
    assert lines == []


@pytest.mark.parametrize("path", python_files("drr"))
def test_a_file_of_the_package_keeps_to_the_house(path: str) -> None:
    source = (ROOT / path).read_text(encoding="utf-8")
    lines = source.count("\n")
    assert lines <= MAX_FILE_LINES
    assert long_functions(source) == []
    assert bad_names(source) == []


def test_components_with_assets_are_declared_and_declared_ones_have_assets() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    declared = project["tool"].get("streamlit", {}).get("component", {}).get("components", [])
    on_disk = {
        f"drr/ui/{path.parent.name}/assets" for path in (ROOT / "drr/ui").glob("*/assets") if any(path.iterdir())
    }
    # One missing folder makes Streamlit give up on every component, with a warning in the log alone.
    assert {entry["asset_dir"] for entry in declared} == on_disk
    assert all(entry["asset_dir"] == f"drr/ui/{entry['name']}/assets" for entry in declared)


def test_every_page_stands_in_the_menu_and_every_entry_has_a_page() -> None:
    tree = ast.parse((ROOT / "app.py").read_text(encoding="utf-8"))
    named = {
        node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and str(node.value).endswith(".py")
    }
    assert named == {path.name for path in (ROOT / "pages").glob("*.py")}


def test_streamlit_settings_keep_the_app_on_loopback_and_fast() -> None:
    settings = tomllib.loads((ROOT / ".streamlit/config.toml").read_text(encoding="utf-8"))
    assert settings["server"]["address"] == "127.0.0.1"
    assert settings["browser"]["gatherUsageStats"] is False
    assert settings["runner"]["postScriptGC"] is False


@pytest.mark.parametrize("folder", ["work", "root", "tmp", "home/somebody", "Users/Somebody"])
def test_the_path_check_sees_a_path_of_one_machine(folder: str) -> None:
    assert MACHINE_PATH.search(f"open('/{folder}/trace.jsonl')")


@pytest.mark.parametrize("text", ["../shared/traces", "http://127.0.0.1/{}/x", "docs/{}/x", "/{}ers/", "./{}/b"])
def test_the_path_check_lets_other_paths_pass(text: str) -> None:
    assert not MACHINE_PATH.search(text.format("work"))


def test_the_size_check_sees_a_long_function_and_not_its_docstring() -> None:
    line = "    x = 1\n"
    docstring = '    """What.\n\n    Why.\n    """\n'
    too_long = "def f():\n" + line * MAX_FUNCTION_LINES
    assert long_functions(too_long) == [f"line 1: f has {MAX_FUNCTION_LINES + 1} lines"]
    just_fits = "def f():\n" + docstring + line * (MAX_FUNCTION_LINES - 1)
    assert long_functions(just_fits) == []


def test_the_word_check_sees_vague_and_foreign_names() -> None:
    source = (
        "def f(queue, packet_size):\n    busy = 1\n    self.credits = 2\nclass WeightTable: pass\nvirtual_time = 3\n"
    )
    names = [text.split(": ")[1] for text in bad_names(source)]
    assert sorted(names) == ["WeightTable", "busy", "credits", "packet_size", "queue", "virtual_time"]


def test_the_word_check_lets_our_words_pass() -> None:
    source = "queue_policy = busy_worker_ratio = prefill_busy_threshold = virtual_rounds = rebalanced = 1\n"
    assert bad_names(source) == []
