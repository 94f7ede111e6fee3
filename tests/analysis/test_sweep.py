"""Sweeps: what they run, that the result depends on nothing else, and that nothing finished is ever lost."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pandas as pd
import pytest

from drr.analysis.compare import interval
from drr.analysis.fairness import fairness
from drr.analysis.outcomes import class_figures, shares
from drr.analysis.solver_goals import read_goals
from drr.analysis.sweep import Axis, RandomSample, Span, Sweep, Value, own_seed, with_setting
from drr.analysis.sweep_figures import FIGURES, ClassRow, point_rows, rows_of, without_service_ms
from drr.analysis.sweep_frame import intervals_frame, sweep_frame, write_csv, write_parquet
from drr.analysis.sweep_reading import load_sweep, read_sweep
from drr.analysis.sweep_running import Journal, Progress, run_sweep, time_text
from drr.cli import main
from drr.errors import DrrError, WorkloadError
from drr.scheduler.ring import CursorRule
from drr.workload.experiment import Experiment, SpecWorkload
from drr.workload.scenarios import SCENARIOS, scenario
from drr.workload.spec_reading import load_spec
from tests.support import ROOT

BURST = scenario("premium_burst").experiment
POISSON = replace(
    BURST,
    workload=SpecWorkload(
        """\
streams:
  - {header: premium, requests: 60, arrivals: {shape: poisson, per_second: 60}, input_tokens: 512, output_tokens: 1}
  - {header: regular, requests: 60, arrivals: {shape: poisson, per_second: 60}, input_tokens: 512, output_tokens: 1}
"""
    ),
)
QUANTUM = "policy_classes.premium.quantum"


def small_sweep(**changes: object) -> Sweep:
    axes = (Axis(QUANTUM, (64, 128, 512)), Axis("streams.regular.requests", (40, 60)))
    return Sweep(**{"base": POISSON, "axes": axes, "replications": 2, **changes})


def table(sweep: Sweep, folder: Path, name: str = "t.csv", **how: object) -> bytes:
    write_csv(sweep_frame(run_sweep(sweep, **how)), folder / name)
    return (folder / name).read_bytes()


# What is set


def test_paths_with_names_change_one_number_of_the_text_and_nothing_else() -> None:
    changed = with_setting(BURST, "policy_classes.regular.prefill_busy_threshold", 999)
    assert changed.profile().classes[1].prefill_busy_threshold == 999
    before, after = BURST.policy_text.splitlines(), changed.policy_text.splitlines()
    assert sum(a != b for a, b in zip(before, after, strict=True)) == 1
    busier = with_setting(POISSON, "streams.regular.arrivals.per_second", 7)
    assert isinstance(busier.workload, SpecWorkload)
    assert load_spec(busier.workload.text).streams[1].arrivals.per_second == 7
    assert with_setting(BURST, "engine.max_num_seqs", 9).engine == replace(BURST.engine, max_num_seqs=9)
    assert with_setting(BURST, "speedup", 2).arrival_speedup_ratio == 2.0
    assert with_setting(BURST, "cursor_rule", "carry").cursor_rule == "carry"


def test_the_profile_of_the_chosen_model_is_the_one_that_changes() -> None:
    indented = BURST.policy_text.replace("\n", "\n    ")
    both = replace(BURST, policy_text=f"models:\n  big:\n    {indented}", model="big")
    assert with_setting(both, QUANTUM, 77).profile().classes[0].quantum == 77


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("policy_classes.premum.quantum", 1, "no class 'premum'; it has premium, regular; did you mean premium?"),
        (QUANTUM, 0, "`0` is too small"),
        ("streams.nobody.requests", 1, "no such stream; it has premium, regular"),
        ("streams.regular.nothing", 1, 'does not know the key "nothing"'),
        ("workers", 0, "a whole number of at least 1"),
        ("workers", 1.5, "a whole number of at least 1"),
        ("wrokers", 1, "did you mean workers?"),
        ("cursor_rule", "carryon", "documented, carry are allowed"),
        ("engine.max_seqs", 1, "is unknown"),
        ("speedup", 0, "a number above 0"),
        ("first_rows", 5, "this workload is none"),
    ],
)
def test_what_cannot_be_set_is_said(path: str, value: Value, said: str) -> None:
    with pytest.raises(DrrError) as error:
        with_setting(POISSON, path, value)
    assert said in str(error.value)


# What is run


def test_the_grid_has_every_combination_and_a_sample_is_drawn_from_the_range() -> None:
    grid = [dict(point.settings) for point in small_sweep().points()]
    assert [tuple(each.values()) for each in grid] == [(q, n) for q in (64, 128, 512) for n in (40, 60)]
    span = Span(64, 4096, "log", True)
    sweep = small_sweep(axes=(Axis(QUANTUM, span.values(3), span),), sample=RandomSample(200, 4))
    drawn = [point.settings[0][1] for point in sweep.points()]
    assert drawn == [point.settings[0][1] for point in sweep.points()]
    assert all(isinstance(value, int) and 64 <= value <= 4096 for value in drawn)
    assert 80 < sum(value < 512 for value in drawn) < 120, "the middle by equal factors is 512"
    assert span.values(4) == (64, 256, 1024, 4096)
    assert Span(0.5, 1.5).values(3) == (0.5, 1.0, 1.5)


def test_the_first_seed_is_the_base_itself_and_a_rule_that_is_an_axis_is_run_alone() -> None:
    base = replace(POISSON, workload=SpecWorkload(f"seed: 7\n{POISSON.workload.text}"))
    first, second = list(Sweep(base=base, axes=(Axis("workers", (1,)),), replications=2).trials())
    assert (first.seed, second.seed) == (7, 8)
    assert first.experiment() == base
    assert own_seed(second.experiment()) == 8
    assert first.rules == ("documented", "carry")
    rules = Sweep(base=base, axes=(Axis("cursor_rule", ("carry", "documented")),))
    assert [trial.rules for trial in rules.trials()] == [("carry",), ("documented",)]
    rival = Sweep(base=base, axes=(Axis("arbiter", ("strict",)),))
    assert [trial.rules for trial in rival.trials()] == [("documented",)]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"axes": (Axis("workers", (1,)), Axis("workers", (2,)))}, "two axes"),
        ({"replications": 31}, "1 to 30"),
        ({"axes": (Axis("seed", (1, 2)),)}, "seeds are an axis"),
        ({"axes": (Axis("seed", (1.5,)),), "replications": 1}, "a whole number"),
        ({"axes": (Axis("workers", tuple(range(1, 100_002))),)}, "100,001 points"),
    ],
)
def test_a_sweep_that_cannot_be_is_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(WorkloadError, match=said):
        small_sweep(**changes)


# The figures


@pytest.mark.parametrize("name", [each.name for each in SCENARIOS if each.name not in ("large_cluster", "join_leave")])
def test_figures_without_recording_are_those_of_the_recorded_run(name: str) -> None:
    experiment = scenario(name).experiment
    run = experiment.run()
    assert without_service_ms(run) == pytest.approx([each.longest_ms for each in fairness(run).droughts])
    rows = {(row.cursor_rule, row.policy_class): row for row in point_rows(experiment, ("documented", "carry"))}
    for each in (run, run.other_rule):
        got = shares(each).got
        for index, figure in enumerate(class_figures(each)):
            row = rows[each.cursor_rule, figure.name]
            assert (row["got_share"], row["wait_p95_ms"]) == (got[index], figure.wait.p95)
            assert (row["refused"], row["jain"]) == (figure.refused, rows_of(each)[index]["jain"])


def test_a_point_that_cannot_be_run_is_named_and_the_others_have_figures(tmp_path: Path) -> None:
    sweep = Sweep(base=POISSON, axes=(Axis(QUANTUM, (0, 512)), Axis("engine.num_gpu_blocks", (1, 100))))
    result = run_sweep(sweep)
    frame = sweep_frame(result)
    assert [trial.point.number for trial, _ in result.problems] == [0, 1]
    assert "too small" in frame.loc[0, "problem"]
    assert set(frame[frame["problem"] == ""]["point"]) == {2, 3}


def test_intervals_are_students_over_the_seeds() -> None:
    frame = sweep_frame(run_sweep(small_sweep(replications=4)))
    means = intervals_frame(frame)
    row = means.iloc[5]
    same = frame[
        (frame["point"] == row["point"])
        & (frame["cursor_rule"] == row["cursor_rule"])
        & (frame["policy_class"] == row["policy_class"])
    ]
    expected = interval([float(value) for value in same["wait_p95_ms"]])
    assert (row["seeds"], row["wait_p95_ms"], row["wait_p95_ms_95"]) == (4, expected.mean, expected.half_width)
    assert expected.half_width > 0


# That the result depends on the sweep alone


def test_tables_are_the_same_bytes_for_any_number_of_processes(tmp_path: Path) -> None:
    serial = table(small_sweep(), tmp_path)
    assert table(small_sweep(), tmp_path, jobs=2) == serial
    assert serial.count(b"\n") == 1 + 6 * 2 * 2 * 2


def test_a_sweep_that_was_ended_goes_on_and_gives_the_same_file(tmp_path: Path) -> None:
    whole = table(small_sweep(), tmp_path)
    journal = Journal(tmp_path / "journal")

    def stop(progress: Progress) -> None:
        if progress.over == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_sweep(small_sweep(), journal=journal, report=stop)
    assert len(journal.read()) == 5
    with journal.path.open("ab") as file:
        file.write(b'{"version":1,"key":"torn')
    told: list[Progress] = []
    result = run_sweep(small_sweep(), journal=journal, report=told.append)
    assert result.runs_made == 7
    assert [each.over for each in told] == list(range(6, 13))
    write_csv(sweep_frame(result), tmp_path / "resumed.csv")
    assert (tmp_path / "resumed.csv").read_bytes() == whole
    assert run_sweep(small_sweep(), journal=journal).runs_made == 0


def test_figures_of_another_version_are_not_taken_for_ours(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    run_sweep(small_sweep(), journal=journal)
    lines = [json.loads(line) for line in journal.path.read_text().splitlines()]
    journal.path.write_text("".join(json.dumps({**line, "version": 0}) + "\n" for line in lines))
    assert journal.read() == {}


def test_parquet_and_csv_hold_the_same(tmp_path: Path) -> None:
    frame = sweep_frame(run_sweep(small_sweep()))
    write_csv(frame, tmp_path / "t.csv")
    write_parquet(frame, tmp_path / "t.parquet")
    back = pd.read_parquet(tmp_path / "t.parquet")
    from_csv = pd.read_csv(tmp_path / "t.csv")
    for name in (*FIGURES, QUANTUM):
        assert list(back[name].astype(float)) == list(from_csv[name].astype(float))


def test_the_time_that_is_left_is_in_words() -> None:
    assert [time_text(s) for s in (4.6, 200, 7500)] == ["5 s", "3 min 20 s", "2 h 5 min"]
    assert Progress(40, 2000, 12.2).text() == "40 of 2,000 runs, about 12 s left"


# The command line


SPEC = """\
base: {scenario: premium_burst, workload_text: "WORKLOAD"}
axes:
  - {path: policy_classes.premium.quantum, values: [128, 512]}
replications: 2
"""


def spec_file(folder: Path, text: str = SPEC) -> Path:
    path = folder / "sweep.yaml"
    workload = json.dumps(POISSON.workload.text)[1:-1] if isinstance(POISSON.workload, SpecWorkload) else ""
    path.write_text(text.replace("WORKLOAD", workload))
    return path


def test_the_verb_writes_both_tables_and_a_second_time_runs_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec, out, means = spec_file(tmp_path), tmp_path / "o.csv", tmp_path / "m.csv"
    command = ["sweep", "--spec", str(spec), "--out", str(out), "--intervals", str(means), "--jobs", "1"]
    assert main(command) == 0
    assert "2 points, 4 experiments, 16 lines (4 run now)" in capsys.readouterr().out
    first = out.read_bytes()
    assert pd.read_csv(means)["seeds"].tolist() == [2] * 8
    assert main(command) == 0
    assert f"(0 run now, 4 were in {out}.journal)" in capsys.readouterr().out
    assert out.read_bytes() == first


@pytest.mark.parametrize(("bad", "code"), [((), 0), ((1,), 1), ((0, 1), 2)])
def test_the_exit_code_says_whether_some_points_or_all_could_not_be_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: tuple[int, ...], code: int
) -> None:
    workers = [1, 2]

    def rows(experiment: Experiment, rules: Sequence[CursorRule], **options: object) -> list[ClassRow]:
        if workers.index(experiment.workers) in bad:
            raise WorkloadError("it cannot be run")
        return point_rows(experiment, rules)

    monkeypatch.setattr("drr.analysis.sweep_running.point_rows", rows)
    spec = spec_file(tmp_path, f"base: {{scenario: lecture}}\naxes: [{{path: workers, values: {workers}}}]\n")
    out = tmp_path / "o.csv"
    assert main(["sweep", "--spec", str(spec), "--out", str(out), "--jobs", "1"]) == code
    assert pd.read_csv(out)["problem"].notna().sum() == len(bad)


def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = tmp_path / "s.yaml"
    axis = "{path: policy_classes.premium.quantum, from: 1, to: 60, steps: 60}"
    spec.write_text(f"base: {{scenario: premium_burst}}\naxes: [{axis}]\n")
    out, journal = tmp_path / "o.csv", tmp_path / "o.csv.journal"
    arguments = ["sweep", "--spec", str(spec), "--out", str(out), "--jobs", "2"]
    child = subprocess.Popen(
        [sys.executable, "-m", "drr", *arguments], cwd=ROOT, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        while child.poll() is None and not (journal.exists() and journal.stat().st_size):
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=60)
    finally:
        child.kill()
    assert (child.returncode, out.exists()) == (130, False)
    assert "finished runs are in" in said
    kept = len(Journal(journal).read())
    assert 0 < kept < 60
    assert main(arguments) == 0
    assert f"({60 - kept:,} run now" in capsys.readouterr().out
    resumed = out.read_bytes()
    assert main([*arguments[:-1], "1", "--journal", str(tmp_path / "other")]) == 0
    assert out.read_bytes() == resumed


def test_a_bad_spec_is_refused_with_every_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """\
base: {scenario: premium_burst, policy: a.yaml, policy_text: b, class_mapping: {}}
axes:
  - {path: policy_classes.premium.quantum, from: 64, to: 4096, spacing: steep}
  - {path: workers, values: [1, [2]]}
replication: 2
"""
    assert main(["sweep", "--spec", str(spec_file(tmp_path, text)), "--out", str(tmp_path / "o.csv")]) == 2
    said = capsys.readouterr().err
    for part in (
        "1:62: error: base.policy_text: `policy` is given too",
        "error: base.class_mapping: only traces are mapped to classes",
        '3:73: error: axes[0].spacing: "steep" is unknown; allowed: one of `linear`, `log`',
        "4:33: error: axes[1].values[1]: a value must be a number or a word, but a list stands here",
        "did you mean `replications`?",
    ):
        assert part in said
    assert not (tmp_path / "o.csv").exists()


@pytest.mark.parametrize("pair", list(combinations(("workload", "workload_text", "trace"), 2)))
def test_what_runs_is_said_once(pair: tuple[str, str]) -> None:
    """Two keys that say what runs: neither of them is passed over silently."""
    text = f"base: {{scenario: premium_burst, {pair[0]}: a, {pair[1]}: b}}\naxes: [{{path: workers, values: [1]}}]\n"
    reading = read_sweep(text)
    assert reading.sweep is None
    (found,) = [each.text() for each in reading.diagnostics]
    assert "is given too" in found
    assert all(f"`{key}`" in found or f".{key}" in found for key in pair)


@pytest.mark.parametrize(
    ("axis", "said"),
    [
        ("{path: workers}", "the axis has no values"),
        ("{path: workers, from: 4, to: 2}", "the range from 4 to 2 is none"),
        ("{path: workers, from: 0, to: 2, spacing: log}", "equal factors need a start above 0"),
        ("{path: workers, from: 0, to: 2}", "0 cannot be set: workers is 0"),
        ("{path: workers, values: [1], steps: 3}", "an axis has values or a range"),
        ("{path: policy_classes.premum.quantum, values: [1]}", "did you mean premium?"),
    ],
)
def test_a_bad_axis_is_refused_at_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], axis: str, said: str
) -> None:
    spec = spec_file(tmp_path, f"base: {{scenario: premium_burst}}\naxes:\n  - {axis}\n")
    assert main(["sweep", "--spec", str(spec), "--out", str(tmp_path / "o.csv")]) == 2
    assert said in capsys.readouterr().err


def test_any_text_gets_a_verdict(tmp_path: Path) -> None:
    from drr.analysis.sweep_reading import read_sweep

    dice = random.Random(5)
    for _ in range(200):
        cut = dice.randrange(len(SPEC))
        text = SPEC[:cut] + dice.choice(":{}[],\t\n- x&*?0") * dice.randrange(3) + SPEC[cut + dice.randrange(4) :]
        reading = read_sweep(text)
        assert (reading.sweep is None) == any(each.severity == "error" for each in reading.diagnostics)


def test_the_sweep_and_the_goals_of_the_documentation_are_ones(tmp_path: Path) -> None:
    page = (ROOT / "docs/tuning.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "sweep.yaml").write_text(example)
    (tmp_path / "policy-classes.yaml").write_text(BURST.policy_text)
    rows = [
        {"timestamp": i, "input_length": 512, "output_length": 1, "hash_ids": [i], "policy_class": name}
        for i, name in enumerate(("premium", "regular") * 20)
    ]
    (tmp_path / "traffic.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    sweep = load_sweep(tmp_path / "sweep.yaml")
    assert (sweep.size, sweep.replications, sweep.base.workers) == (21, 5, 2)
    assert not run_sweep(replace(sweep, replications=1)).problems
    lines = re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE)
    assert len(read_goals(lines, ("premium", "regular"))) == len(lines) == 6


def test_an_experiment_that_is_typed_can_be_swept_too() -> None:
    lecture: Experiment = scenario("lecture").experiment
    result = run_sweep(Sweep(base=lecture, axes=(Axis("workers", (1, 2)),)))
    assert not result.problems
