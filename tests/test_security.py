"""What SECURITY.md says about the server, as far as the sources can show it."""

from __future__ import annotations

import ast
import csv
import io
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from drr.analysis.sweep_frame import sheet
from drr.cli import main
from drr.ui import limits
from tests.support import ROOT

PYTHON = sorted([ROOT / "app.py", *(ROOT / "drr").rglob("*.py"), *(ROOT / "pages").glob("*.py")])
OURS = [path for path in PYTHON if "node_modules" not in path.parts]
SCRIPTS = [path for path in sorted((ROOT / "drr").rglob("*.js")) if "node_modules" not in path.parts]
HTML_SINKS = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|\beval\(|new Function"
)
# A bundle holds other people's code; its own sources are looked at.
BUNDLE = ROOT / "drr/ui/editor/assets/editor.js"


def calls(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name:
            yield node


def is_safe_html(node: ast.expr, constants: set[str]) -> bool:
    """Whether markup holds nothing but what stands in the source, and data that went through ``html.escape``."""
    match node:
        case ast.Constant():
            return True
        case ast.Name(id=name):
            return name in constants
        case ast.Call(func=ast.Attribute(value=ast.Name(id="html"), attr="escape")):
            return True
        case ast.JoinedStr(values=values):
            return all(is_safe_html(value, constants) for value in values)
        case ast.FormattedValue(value=value):
            return is_safe_html(value, constants)
        case ast.BoolOp(values=values):
            return all(is_safe_html(value, constants) for value in values)
        case ast.Call(func=ast.Attribute(value=ast.Constant(), attr="join"), args=[ast.GeneratorExp(elt=element)]):
            return is_safe_html(element, constants)
    return False


def constants_in(scope: ast.AST, known: set[str]) -> set[str]:
    """Names that hold nothing but safe markup in a scope, as they are assigned one after the other."""
    found = set(known)
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            is_safe = is_safe_html(node.value, found)
            (found.add if is_safe else found.discard)(node.targets[0].id)
    return found


def unsafe_html(source: str) -> list[str]:
    """Calls of ``st.html`` with markup that is made of data, and every way of having Markdown take HTML."""
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inside = {call: constants_in(each, constants_in(tree, set())) for each in functions for call in calls(each, "html")}
    found = [
        f"line {call.lineno}: st.html"
        for call in calls(tree, "html")
        if not is_safe_html(call.args[0], inside.get(call) or constants_in(tree, set()))
    ]
    return found + [f"line {at}: unsafe" for at, line in enumerate(source.splitlines(), 1) if "unsafe_allow_" in line]


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_html_is_made_of_data(path: Path) -> None:
    assert unsafe_html(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "st.html(name)",
        "st.html(f'<b>{name}</b>')",
        "x = f'<b>{name}</b>'\nst.html(x)",
        "st.html('<b>' + name)",
        "st.html(''.join(f'<b>{each}</b>' for each in names))",
        "st.markdown(name, unsafe_allow_html=True)",
    ],
)
def test_the_check_finds_html_that_is_made_of_data(source: str) -> None:
    assert len(unsafe_html(source)) == 1


@pytest.mark.parametrize("source", ["st.html('<b>x</b>')", "st.html(f'<b>{html.escape(name)}</b>')"])
def test_the_check_lets_escaped_data_pass(source: str) -> None:
    assert unsafe_html(source) == []


def test_no_script_of_ours_takes_text_for_html_or_for_code() -> None:
    assert SCRIPTS
    found = [
        (path.relative_to(ROOT).as_posix(), match[0])
        for path in SCRIPTS
        if path != BUNDLE
        for match in HTML_SINKS.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_the_protections_of_streamlit_stay_on_and_it_listens_on_loopback() -> None:
    config = tomllib.loads((ROOT / ".streamlit/config.toml").read_text(encoding="utf-8"))
    assert config["server"]["address"] == "127.0.0.1"
    assert not {"enableCORS", "enableXsrfProtection", "enableStaticServing", "corsAllowedOrigins"} & set(
        config["server"]
    )
    assert "--server.address 127.0.0.1" in (ROOT / "Makefile").read_text(encoding="utf-8")
    for name in ("Makefile", "Dockerfile", "drr/cli/app.py"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "enableCORS" not in text
        assert "enableXsrfProtection" not in text


def test_a_table_for_people_holds_no_formula_and_its_numbers_stay_numbers() -> None:
    frame = pd.DataFrame(
        {"=name": ["=1+1", "-x", "@a", "plain", None], "x": [-1.5, 2, 3, 4, None], "n": [-1, 2, 3, 4, 5]}
    )
    rows = list(csv.reader(io.StringIO(sheet(frame))))
    assert rows[0] == ["'=name", "x", "n"]
    assert [row[0] for row in rows[1:]] == ["'=1+1", "'-x", "'@a", "plain", ""]
    assert [row[1] for row in rows[1:]] == ["-1.5", "2.0", "3.0", "4.0", ""]
    assert rows[1][2] == "-1"


def test_results_of_a_run_are_safe_in_a_spreadsheet_and_exact_as_jsonl(tmp_path: Path) -> None:
    policy = tmp_path / "p.yaml"
    policy.write_text(
        "default_policy_family: a\nuncached_isl_buckets: [{min_tokens: 0, bucket: all}]\npolicy_classes:\n"
        "- {name: -x, policy_family: a, cache_bucket: all, quantum: 64}\n"
    )
    trace = tmp_path / "t.jsonl"
    trace.write_text('{"timestamp": 0, "input_length": 9, "output_length": 1, "hash_ids": [1]}\n')
    for suffix, expected in ((".csv", "'-x"), (".jsonl", '"-x"')):
        out = tmp_path / f"out{suffix}"
        assert main(["run", "--policy", str(policy), "--trace", str(trace), "--out", str(out)]) == 0
        assert expected in out.read_text()


def test_every_limit_and_variable_is_documented() -> None:
    variables = {each.variable: each for each in vars(limits).values() if isinstance(each, limits.Limit)}
    text = (ROOT / "docs/deploy.md").read_text(encoding="utf-8")
    assert len(variables) >= 10
    for path in OURS:
        for name in re.findall(r'"(RINGSIDE_[A-Z_]+)"', path.read_text(encoding="utf-8")):
            assert f"`{name}`" in text, f"{name} of {path.name} is missing"
    for name, limit in variables.items():
        row = next(line for line in text.splitlines() if line.startswith(f"| `{name}`"))
        assert limit.what in row
        if limit is not limits.CONCURRENT_RUNS:  # depends on the machine
            assert f"| {limit.default:,} |" in row


def test_the_lock_file_names_no_index_and_has_a_hash_for_everything() -> None:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in text
    pinned = re.findall(r"^([a-z0-9_.\[\]-]+)==", text, re.MULTILINE | re.IGNORECASE)
    blocks = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)[1:]
    assert len(blocks) == len(pinned)
    assert all("--hash=sha256:" in block for block in blocks)
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    names = {re.match(r"[A-Za-z0-9_.-]+", each)[0].lower() for each in wanted}  # type: ignore[index]
    assert names <= {name.lower() for name in pinned}
