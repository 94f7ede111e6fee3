"""An experiment beside the real router: what it can be asked, what is identical, and what is handed over."""

from __future__ import annotations

import csv
import io
import json
import shlex
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from drr.cli import main, parser
from drr.cli import probe as probe_verb
from drr.dynamo import side_by_side
from drr.dynamo.case import ReplayAnswer, ReplayCase
from drr.dynamo.compare import answer_of, our_run
from drr.dynamo.handover import command_lines, handover_files, handover_zip
from drr.dynamo.live_model import VOCABULARY, write_model_folder
from drr.dynamo.probe_plan import MOST_OUTPUT_TOKENS, MOST_PROMPT_TOKENS, ProbePlan
from drr.dynamo.process import RouterFailureError, RouterProcess
from drr.dynamo.side_by_side import (
    NotReplayableError,
    case_of,
    compare_with_real,
    difference_columns,
    differences_csv,
    engine_mapping,
    not_replayable,
)
from drr.errors import DrrError, WorkloadError
from drr.simulation.cluster import Change, TimedChange
from drr.simulation.engine_options import EngineOptions, FixedTiming, PolynomialTiming
from drr.workload.experiment import Experiment
from drr.workload.scenarios import SCENARIOS, scenario

BURST = scenario("premium_burst").experiment
ABOVE = scenario("quanta_above_costs").experiment


class FakeRouter:
    """Stands where the process with the real router would, so that the comparison is tested without the wheel."""

    def __init__(self, **options: object) -> None:
        pass

    def __enter__(self) -> FakeRouter:
        return self

    def __exit__(self, *exception: object) -> None:
        pass


@pytest.fixture
def router_with(monkeypatch):
    """Puts a router in the place of the real one that gives a prepared answer, or ours under a rule."""

    def put(answer: ReplayAnswer | str) -> None:
        def replay_fake(case: ReplayCase, *, router: object) -> ReplayAnswer:
            if isinstance(answer, str):
                return answer_of(our_run(case, cursor_rule=answer))  # type: ignore[arg-type]
            return answer

        monkeypatch.setattr(side_by_side, "RouterProcess", FakeRouter)
        monkeypatch.setattr(side_by_side, "replay_real", replay_fake)

    return put


# --- what can be asked -----------------------------------------------------------------------------------------------


def test_an_experiment_becomes_a_case_with_every_request():
    case = case_of(replace(BURST, workers=3, model="m", arrival_speedup_ratio=2.0))
    assert len(case.rows) == 640
    assert case.workers == 3
    assert EngineOptions.from_mapping(case.engine) == BURST.engine
    assert case.options == {"model_name": "m", "arrival_speedup_ratio": 2.0}
    assert {row["policy_class"] for row in case.rows} == {"premium", "regular"}
    assert len({tuple(row["hash_ids"]) for row in case.rows}) == 640


@pytest.mark.parametrize(
    ("experiment", "reason"),
    [
        (scenario("lecture").experiment, "typed queues run on the manual worker model"),
        (replace(BURST, dp_size=2), "its workers have no dp ranks"),
        (replace(BURST, taints=((0, ("gpu",)),)), "it knows no taints"),
        (replace(BURST, changes=(TimedChange(5.0, Change("leave", 0)),)), "neither come nor go"),
        (replace(BURST, arbiter="strict"), "one arbiter, DRR"),
        (replace(BURST, arrivals="through_ring"), "past the ring"),
        (replace(BURST, engine=EngineOptions(timing_model=PolynomialTiming((0, 0, 1)))), "quadratics of your own"),
        (scenario("hot_worker").experiment, "it knows no worker pins and taints of 300 requests"),
    ],
)
def test_what_the_replay_cannot_express_is_said(experiment, reason):
    with pytest.raises(NotReplayableError, match=reason):
        case_of(experiment)


def test_all_reasons_are_said_at_once():
    assert len(not_replayable(replace(BURST, dp_size=2, arbiter="fcfs", taints=((0, ("a",)),)))) == 3


def test_too_many_requests_are_refused_before_anything_runs():
    with pytest.raises(WorkloadError, match="has 640 requests, at most 100 are compared here"):
        case_of(BURST, max_requests=100)


def test_engine_options_are_named_as_the_engine_names_them():
    engine = EngineOptions(max_num_seqs=4, timing_model=FixedTiming(5.0, 2.0))
    assert engine_mapping(engine) == {
        "max_num_seqs": 4,
        "timing_model": {"type": "fixed", "prefill_ms": 5.0, "decode_ms": 2.0},
    }
    assert engine_mapping(EngineOptions(timing_model=PolynomialTiming())) == {}
    assert EngineOptions.from_mapping(engine_mapping(engine)) == engine


# --- the verdict -----------------------------------------------------------------------------------------------------


def test_the_rule_that_explains_the_router_is_named(router_with):
    router_with("carry")
    found = compare_with_real(case_of(ABOVE))
    assert found.explained_by == ("carry",)
    assert found.counts_text().startswith("carry: 640 of 640 rows identical; documented: ")
    assert found.verdict() == "The carry rule explains every row of the real router, the documented rule does not."
    router_with("documented")
    assert compare_with_real(case_of(ABOVE)).explained_by == ("documented",)


def test_where_the_rules_do_not_differ_both_explain(router_with):
    router_with("carry")
    found = compare_with_real(case_of(BURST))
    assert found.counts_text() == "carry: 640 of 640 rows identical; documented: 640 of 640 rows identical"
    assert found.verdict().startswith("Both cursor rules explain every row")


def test_one_row_off_by_a_bit_is_found_and_shown_with_both_sides(router_with):
    case = case_of(BURST)
    right = answer_of(our_run(case))
    assert right.observed is not None
    rows = list(right.observed)
    rows[7] = rows[7]._replace(last_token_ms=(rows[7].last_token_ms or 0) + 1e-9, outcome="immediate")
    router_with(replace(right, observed=tuple(rows)))
    found = compare_with_real(case)
    assert found.explained_by == ()
    assert [answer.identical for answer in found.answers] == [639, 639]
    assert found.verdict() == "Neither cursor rule explains all that the real router did."
    columns = difference_columns(found, "carry")
    assert columns["row"] == [8]
    assert columns["class"] == [case.rows[7]["policy_class"]]
    assert (columns["outcome_real"], columns["outcome_ours"]) == (["sent at once"], ["by the ring"])
    assert columns["last_token_ms_real"][0] > columns["last_token_ms_ours"][0]
    (line,) = csv.DictReader(io.StringIO(differences_csv(found, "carry")))
    assert line["row"] == "8"
    assert float(line["last_token_ms_ours"]) == right.observed[7].last_token_ms


def test_differences_come_in_the_order_of_time(router_with):
    router_with("carry")
    differing = compare_with_real(case_of(ABOVE)).answer("documented").differing
    moments = [each.moment_ms for each in differing]
    assert len(moments) > 100
    assert moments == sorted(moments)


def test_an_early_end_is_compared_by_its_reason(router_with):
    storm = scenario("refusal_storm").experiment
    router_with("carry")
    found = compare_with_real(case_of(storm))
    assert found.counts_text().endswith("carry: the same end; documented: the same end")
    assert "limit reached (current=32, limit=32)" in found.counts_text()
    assert found.verdict().startswith("Both cursor rules explain the early end")
    router_with(ReplayAnswer(None, aborted_because="another reason"))
    assert compare_with_real(case_of(storm)).explained_by == ()


def test_a_crash_of_the_router_is_no_verdict(router_with):
    router_with(ReplayAnswer(None, failed_because="the real router's process ended (signal 9)"))
    with pytest.raises(RouterFailureError, match="signal 9"):
        compare_with_real(case_of(BURST))


def test_progress_is_told_and_may_end_the_comparison(router_with):
    router_with("carry")
    told: list[tuple[int, int]] = []
    compare_with_real(case_of(BURST), progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]


# --- hand-over -------------------------------------------------------------------------------------------------------


def test_the_hand_over_is_whole_and_its_files_say_the_same():
    case = case_of(replace(ABOVE, workers=2))
    with zipfile.ZipFile(io.BytesIO(handover_zip(case))) as archive:
        files = {name: archive.read(name).decode() for name in archive.namelist()}
    assert files == handover_files(case)
    assert files["policy.yaml"] == ABOVE.policy_text
    assert [json.loads(line) for line in files["trace.jsonl"].splitlines()] == [dict(row) for row in case.rows]
    assert "num_workers=2" in files["replay_real.py"]
    compile(files["replay_real.py"], "replay_real.py", "exec")
    assert handover_zip(case) == handover_zip(case)
    commands = command_lines(case)
    assert commands.compare in files["COMMANDS.md"]
    assert "--num-workers 2" in commands.mocker
    assert "--http-host 127.0.0.1" in commands.frontend
    assert "--class premium=320 --class regular=320" in commands.probe
    assert f"--tokens {case.rows[0]['input_length']}" in commands.probe


def case_like(counts: dict[str, int], *, tokens: int = 512, output_tokens: int = 1) -> ReplayCase:
    """So many requests per class; an empty name stands for none."""
    rows = [
        {"timestamp": 0, "input_length": tokens, "output_length": output_tokens, "hash_ids": [], "policy_class": name}
        for name, count in counts.items()
        for _ in range(count)
    ]
    return replace(case_of(BURST), rows=[row if row["policy_class"] else row | {"policy_class": None} for row in rows])


def probe_plan(case: ReplayCase) -> ProbePlan:
    """What the probe of a hand-over sends, read as the verb reads it: it checks every limit."""
    verb, *words = shlex.split(command_lines(case).probe)[3:]
    assert verb == "probe"
    return probe_verb._plan(parser().parse_args(["probe", *words]))


@pytest.mark.parametrize(
    ("case", "classes"),
    [
        (case_like({"a": 320, "b": 80}), (("a", 320), ("b", 80))),
        (case_like({"a": 4_000, "b": 1_000}), (("a", 1_599), ("b", 400))),
        (case_like({"a": 100, "b": 100}, tokens=131_073), (("a", 76), ("b", 76))),
        (case_like({"a": 400}, tokens=10**6, output_tokens=10**5), (("a", 152),)),
        (case_like({"": 30_000}, tokens=20_000), (("", 1_000),)),
        (case_like({"a": 3_000, **{f"c{i}": 1 for i in range(500)}}, tokens=60_000), None),
        (case_like({f"c{i}": 1 for i in range(2_100)}), None),
    ],
    ids=["small", "many", "long", "longer", "without a class", "many classes", "more classes than requests"],
)
def test_the_probe_of_a_hand_over_keeps_the_limits_of_a_probe(case, classes):
    plan = probe_plan(case)
    assert classes is None or plan.classes == classes
    assert plan.prompt_tokens == min(case.rows[0]["input_length"], MOST_PROMPT_TOKENS)
    assert plan.output_tokens == min(case.rows[0]["output_length"], MOST_OUTPUT_TOKENS)
    note = f"A probe has limits: it sends {plan.count:,} requests where the trace has {len(case.rows):,}."
    assert (note in handover_files(case)["COMMANDS.md"]) == (plan.count < len(case.rows))


@pytest.mark.parametrize(("count", "told"), [(1, "1 request of"), (7, "7 requests of"), (0, None)])
def test_rows_that_the_probe_leaves_out_are_said(count, told):
    case = case_like({"a": 5, "": count})
    assert probe_plan(case).classes == (("a", 5),)
    said = handover_files(case)["COMMANDS.md"]
    assert ("name no class" in said) == (told is not None)
    assert told is None or told in said
    assert "A probe has limits" not in said


def test_without_a_policy_there_is_no_policy_file():
    case = replace(case_of(BURST), policy_yaml="")
    assert "policy.yaml" not in handover_files(case)
    assert "--router-policy-config" not in command_lines(case).frontend
    assert "--policy" not in command_lines(case).compare


def test_names_that_a_shell_would_take_apart_are_quoted():
    case = replace(case_of(BURST), options={"model_name": "a b; rm -rf x"})
    words = shlex.split(command_lines(case).mocker)
    assert words[words.index("--model-name") + 1] == "a b; rm -rf x"


def test_a_model_folder_has_a_tokenizer_of_8192_words(tmp_path):
    folder = write_model_folder(tmp_path / "model")
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    assert sorted(vocabulary.values()) == list(range(VOCABULARY))
    assert json.loads((folder / "config.json").read_text())["max_position_embeddings"] == 32_768
    (tmp_path / "file").write_text("")
    with pytest.raises(DrrError, match="cannot write the model folder"):
        write_model_folder(tmp_path / "file" / "model")


# --- the verb, without and with the wheel ----------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path) -> tuple[str, str]:
    case = case_of(ABOVE)
    policy, trace = tmp_path / "policy.yaml", tmp_path / "trace.jsonl"
    policy.write_text(case.policy_yaml)
    trace.write_text(case.trace_text())
    return str(policy), str(trace)


def verb(files: tuple[str, str], *more: str) -> list[str]:
    engine = [f"--engine={name}={json.dumps(value)}" for name, value in engine_mapping(ABOVE.engine).items()]
    return ["compare-real", "--policy", files[0], "--trace", files[1], *engine, *more]


def test_the_verb_says_which_rule_explains_and_exits_by_it(router_with, files, tmp_path, capsys):
    router_with("carry")
    out, bundle = tmp_path / "rows.csv", tmp_path / "all.zip"
    assert main(verb(files, "--hand-over", str(bundle))) == 0
    printed = capsys.readouterr().out
    assert "carry: 640 of 640 rows identical; documented: " in printed
    assert "The carry rule explains every row" in printed
    assert zipfile.is_zipfile(bundle)
    assert main(verb(files, "--rule", "documented", "--differences", str(out))) == 1
    printed = capsys.readouterr().out
    assert "under documented, in the order of time:" in printed
    differing = list(csv.DictReader(out.open(newline="")))
    assert f"and {len(differing) - 10:,} more" in printed


def test_without_a_router_the_verb_says_how_to_get_one(monkeypatch, files, capsys):
    monkeypatch.setattr("drr.dynamo.process.router_unavailable_because", lambda: "the real router is not installed")
    assert main(verb(files)) == 2
    assert "the real router is not installed" in capsys.readouterr().err


def test_a_policy_with_faults_is_refused_with_all_of_them(files, capsys):
    Path(files[0]).write_text("policy_classes: 3\nquantumm: 1\n")
    assert main(verb(files)) == 2
    assert "quantumm" in capsys.readouterr().err


@pytest.mark.router
def test_every_scenario_the_replay_can_express_is_explained_by_the_carry_rule():
    compared = 0
    for each in SCENARIOS:
        try:
            case = case_of(each.experiment)
        except NotReplayableError:
            continue
        found = compare_with_real(case)
        assert "carry" in found.explained_by, each.name
        compared += 1
    assert compared >= 8


@pytest.mark.router
def test_quanta_above_the_costs_tell_the_rules_apart_on_the_real_router(files, capsys):
    assert main(verb(files)) == 0
    printed = capsys.readouterr().out
    assert "carry: 640 of 640 rows identical" in printed
    assert "the documented rule does not" in printed


@pytest.mark.router
def test_several_workers_are_compared_up_to_ties():
    found = compare_with_real(case_of(replace(BURST, workers=4)))
    assert found.answer("carry").identical == 640


@pytest.mark.router
def test_the_script_of_the_hand_over_runs_on_the_bare_wheel(tmp_path):
    for name, text in handover_files(case_of(BURST)).items():
        (tmp_path / name).write_text(text)
    done = subprocess.run([sys.executable, "replay_real.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "640 rows in real_rows.jsonl" in done.stdout
    rows = [json.loads(line) for line in (tmp_path / "real_rows.jsonl").read_text().splitlines()]
    found = compare_with_real(case_of(BURST))
    assert found.real.observed is not None
    assert sorted(row["last_token_ms"] for row in rows) == sorted(row.last_token_ms for row in found.real.observed)


@pytest.mark.router
def test_whoever_waits_for_the_router_may_end_it():
    def end_it() -> None:
        raise KeyboardInterrupt

    with RouterProcess(while_waiting=end_it) as router:
        long_case = case_of(Experiment(policy_text=BURST.policy_text, workload=_long_workload(), engine=BURST.engine))
        with pytest.raises(KeyboardInterrupt):
            side_by_side.replay_real(long_case, router=router)
        assert router._process is None


def _long_workload():
    workload = BURST.workload
    return replace(workload, text=workload.text.replace("320", "20000"))
