"""What is saved: kept whole, never overwritten silently, noticed when changed, comparable, answerable in SQL."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from drr.analysis.saved import (
    VARIABLE,
    compare_saved,
    load,
    same_again,
    save_run,
    save_sweep,
    saved_folder,
    saved_in,
)
from drr.analysis.saved_query import TABLES, query
from drr.analysis.sweep import Axis, RandomSample, Span, Sweep
from drr.analysis.sweep_frame import sweep_frame
from drr.analysis.sweep_running import run_sweep
from drr.cli import main
from drr.errors import DrrError
from drr.workload.experiment import SpecWorkload, TraceWorkload
from drr.workload.scenarios import scenario

BURST = scenario("premium_burst").experiment
SMALL = replace(BURST, workload=SpecWorkload(BURST.workload.text.replace("320", "40")))  # type: ignore[union-attr]
EQUAL = replace(SMALL, policy_text=scenario("equal_control").experiment.policy_text)
SPAN = Span(64, 1024, "log", True)
SWEEP = Sweep(
    base=SMALL,
    axes=(Axis("policy_classes.premium.quantum", SPAN.values(3), SPAN), Axis("workers", (1, 2))),
    sample=RandomSample(5, 3),
    replications=2,
)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs and a sweep."""
    folder = tmp_path_factory.mktemp("kept")
    save_run(folder, "weighted", SMALL, SMALL.run())
    save_run(folder, "equal", EQUAL, EQUAL.run())
    save_sweep(folder, "sweep", SWEEP, sweep_frame(run_sweep(SWEEP)))
    return folder


def test_what_was_saved_comes_back_as_it_was(kept: Path) -> None:
    saved = load(kept, "weighted")
    assert (saved.kind, saved.experiment()) == ("run", SMALL)
    assert saved.line() == "While both waited, premium got 4.2 × the tokens of regular; the quanta ask for 4.0 ×."
    assert len(saved.table()) == 80
    sweep = load(kept, "sweep")
    assert sweep.sweep() == SWEEP
    assert sweep.table()["point"].nunique() == 5
    assert {each.name for each in saved_in(kept)} == {"weighted", "equal", "sweep"}
    assert not [path for path in kept.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("name", ["weighted", "sweep"])
def test_running_it_again_gives_the_same_figures(kept: Path, name: str) -> None:
    assert same_again(load(kept, name))


def test_nothing_is_overwritten_unless_that_is_said(kept: Path, tmp_path: Path) -> None:
    before = (kept / "weighted" / "manifest.json").read_bytes()
    with pytest.raises(DrrError, match="'weighted' is there already; take another name"):
        save_run(kept, "weighted", EQUAL, EQUAL.run())
    assert (kept / "weighted" / "manifest.json").read_bytes() == before
    save_run(tmp_path, "x", SMALL, SMALL.run())
    save_run(tmp_path, "x", EQUAL, EQUAL.run(), replace=True)
    assert load(tmp_path, "x").experiment() == EQUAL
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("name", ["", "../x", ".hidden", "a b", "a/b", "x" * 81, "-x", "ü"])
def test_a_name_that_is_no_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(DrrError, match="is no name for what is saved"):
        save_run(tmp_path, name, SMALL, SMALL.run())


def test_a_changed_table_and_a_broken_manifest_are_noticed(tmp_path: Path) -> None:
    for name in ("changed", "broken", "newer", "elsewhere"):
        save_run(tmp_path, name, SMALL, SMALL.run())
    table = next(path for path in (tmp_path / "changed").iterdir() if path.name != "manifest.json")
    table.write_bytes(table.read_bytes() + b"x")
    with pytest.raises(DrrError, match="was changed since it was saved"):
        load(tmp_path, "changed").table()
    (tmp_path / "broken" / "manifest.json").write_text("{")
    for name, change in (("newer", {"format": 2}), ("elsewhere", {"table": "../changed/table.parquet"})):
        path = tmp_path / name / "manifest.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    problems = {each.name: each.problem for each in saved_in(tmp_path)}
    assert problems["changed"] == ""
    assert all(problems[name] for name in ("broken", "newer", "elsewhere"))
    with pytest.raises(DrrError, match="'broken' cannot be used: its manifest cannot be read"):
        load(tmp_path, "broken")


def test_runs_and_sweeps_are_compared_figure_by_figure(kept: Path) -> None:
    frame = compare_saved(load(kept, "weighted"), load(kept, "equal"))
    row = frame[(frame["figure"] == "got_share") & (frame["policy_class"] == "premium")].iloc[0]
    assert row["weighted"] == pytest.approx(0.8, abs=0.02)
    assert row["equal"] == pytest.approx(0.5, abs=0.02)
    assert row["difference"] == row["equal"] - row["weighted"]
    with pytest.raises(DrrError, match="nothing to compare"):
        compare_saved(load(kept, "weighted"), load(kept, "sweep"))
    with pytest.raises(DrrError, match="compared with itself"):
        compare_saved(load(kept, "sweep"), load(kept, "sweep"))


def test_a_trace_is_found_again_where_it_lay_if_it_is_the_same(tmp_path: Path) -> None:
    import hashlib

    trace = tmp_path / "t.jsonl"
    rows = [{"timestamp": i, "input_length": 512, "output_length": 1, "hash_ids": [i]} for i in range(9)]
    trace.write_text("".join(json.dumps(row) + "\n" for row in rows))
    digest = hashlib.sha256(trace.read_bytes()).hexdigest()
    experiment = replace(SMALL, workload=TraceWorkload("t.jsonl", digest, path=str(trace)))
    saved = save_run(tmp_path / "kept", "trace", experiment, experiment.run())
    assert same_again(saved)
    trace.write_text(trace.read_text() + "\n")
    assert saved.experiment().workload == experiment.workload
    with pytest.raises(DrrError, match="is not on this machine"):
        same_again(saved)


# SQL


def test_questions_in_sql_see_the_tables_and_nothing_else(kept: Path, tmp_path: Path) -> None:
    everything = saved_in(kept)
    answer = query(everything, "SELECT saved, count(*) AS n FROM runs GROUP BY saved ORDER BY saved")
    assert answer.to_dict("list") == {"saved": ["equal", "weighted"], "n": [80, 80]}
    assert query(everything, "SELECT name FROM saved WHERE kind = 'sweep'")["name"].tolist() == ["sweep"]
    assert query(everything, 'SELECT max("point") AS p FROM sweep')["p"].tolist() == [4]
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    for sql in (
        f"SELECT * FROM '{secret}'",
        f"COPY saved TO '{tmp_path / 'out.csv'}'",
        "SELECT * FROM everything",
        "SET enable_external_access = true",
        "SELEC",
    ):
        with pytest.raises(DrrError, match="DuckDB says"):
            query(everything, sql)
    assert not (tmp_path / "out.csv").exists()


def test_names_that_differ_in_case_alone_are_one_in_sql(tmp_path: Path) -> None:
    for name in ("Four", "four"):
        save_run(tmp_path, name, SMALL, SMALL.run(record=False))
    if len(saved_in(tmp_path)) < 2:
        pytest.skip("the file system takes both for one name")
    with pytest.raises(DrrError, match=r"'[Ff]our' and '[Ff]our' are one name in SQL"):
        query(saved_in(tmp_path), "SELECT 1")


@pytest.mark.parametrize("name", [each for table in TABLES for each in (table, table.title(), table.upper())])
def test_a_name_that_is_one_of_the_tables_in_any_case_leaves_the_table_as_it_is(tmp_path: Path, name: str) -> None:
    save_run(tmp_path, name, SMALL, SMALL.run(record=False))
    counts = query(saved_in(tmp_path), "SELECT (SELECT count(*) FROM saved) AS s, (SELECT count(*) FROM runs) AS r")
    assert counts.to_dict("list") == {"s": [1], "r": [80]}


def test_without_duckdb_it_is_said_what_brings_it(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(DrrError, match="pip install duckdb"):
        query(saved_in(kept), "SELECT 1")


# The command line


def test_the_verb_keeps_lists_shows_reruns_and_compares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["saved", "--saved", str(tmp_path / "kept")]
    assert main([*command, "list"]) == 0
    assert "nothing is saved" in capsys.readouterr().out
    assert main([*command, "keep", "four", "--scenario", "premium_burst"]) == 0
    assert main([*command, "keep", "four", "--scenario", "spike"]) == 2
    assert "'four' is there already" in capsys.readouterr().err
    assert main([*command, "keep", "even", "--scenario", "equal_control"]) == 0
    assert main([*command, "rerun", "four"]) == 0
    assert "every figure is the same" in capsys.readouterr().out
    assert main([*command, "compare", "four", "even"]) == 0
    assert "difference" in capsys.readouterr().out
    assert main([*command, "show", "four"]) == 0
    assert "four, a run saved" in capsys.readouterr().out
    assert main([*command, "show", "fuor"]) == 2
    assert "nothing is saved as 'fuor'" in capsys.readouterr().err


def test_a_folder_has_to_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(DrrError, match=VARIABLE):
        saved_folder()
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert saved_folder() == tmp_path
    assert saved_folder(Path("other")) == Path("other")


def test_a_sweep_is_kept_by_its_verb_and_a_taken_name_is_noticed_before_it_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = tmp_path / "s.yaml"
    spec.write_text("base: {scenario: lecture}\naxes: [{path: workers, values: [1, 2]}]\n")
    command = ["sweep", "--spec", str(spec), "--out", str(tmp_path / "o.csv"), "--jobs", "1"]
    command += ["--save", "mine", "--saved", str(tmp_path / "kept")]
    assert main(command) == 0
    assert load(tmp_path / "kept", "mine").kind == "sweep"
    (tmp_path / "o.csv").unlink()
    assert main(command) == 2
    assert "'mine' is there already" in capsys.readouterr().err
    assert not (tmp_path / "o.csv").exists()
