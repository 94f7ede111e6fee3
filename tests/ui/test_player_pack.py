"""What Python makes for the player: the blob of a run, and what it says about a step."""

from __future__ import annotations

import json
import struct
import subprocess
import sys

import numpy as np
import pytest

from drr.analysis.explain import explain, explain_visit
from drr.analysis.log import log_csv, log_rows
from drr.charts.palette import DARK, LIGHT, class_slots, class_styles
from drr.charts.timelines import timeline_figure
from drr.simulation.state import StepKind
from drr.ui.player import messages
from drr.ui.player.blob import read_blob, write_blob
from drr.ui.player.messages import View, message
from drr.ui.player.pack import WIDTHS, pack, pack_id
from tests.ui.player_runs import long_run, premium_run, random_run

MOST_BYTES = 600_000


def test_a_blob_gives_back_what_was_written():
    columns = {
        "small": np.array([0, 1, 255]),
        "negative": np.array([-1, 3]),
        "large": np.array([70_000, -70_000]),
        "huge": np.array([2**40, 5]),
        "float": np.array([0.1, 1e300]),
        "none": np.zeros(0, dtype=np.int64),
    }
    header, found = read_blob(write_blob({"a": "\u00e9"}, columns))
    assert header == {"a": "\u00e9"}
    for name, values in columns.items():
        assert found[name].tolist() == values.tolist(), name


def test_a_message_carries_its_note_before_the_blob():
    told = message({"to": "x"}, b"blob")
    (length,) = struct.unpack_from("<H", told)
    assert json.loads(told[2 : 2 + length]) == {"to": "x"}
    assert told[2 + length :] == b"blob"


def test_a_run_is_packed_once_per_theme_and_has_one_name():
    run = premium_run()
    assert pack(run, LIGHT) is pack(run, LIGHT)
    assert pack(run, LIGHT) != pack(run, DARK)
    for theme in (LIGHT, DARK):
        header, columns = read_blob(pack(run, theme))
        assert header["id"] == pack_id(run)
        assert header["theme"]["name"] == theme.name
        assert [stage["plan"]["width"] for stage in header["stages"]] == list(WIDTHS)
        assert len(columns["kind"]) == run.n_steps
    assert pack_id(run) != pack_id(premium_run(64))


def test_a_run_of_twenty_thousand_decisions_fits_the_wire():
    run = long_run()
    assert len(run.decision_steps) + run.outcome.count("immediate") == 20_000
    assert len(pack(run, LIGHT)) <= MOST_BYTES


def test_a_class_keeps_its_colour_when_another_goes():
    many, fewer = random_run(3, classes=5), random_run(3, classes=4)
    slots = class_slots(many.class_names)
    kept = class_slots(fewer.class_names, keep=slots)
    colours = {}
    for run, keep in ((many, slots), (fewer, kept)):
        header, _ = read_blob(pack(run, LIGHT, keep=keep))
        colours[run] = dict(zip(run.class_names, (each["colour"] for each in header["classes"]), strict=True))
    assert colours[fewer].items() <= colours[many].items()
    assert colours[many] == {n: s.colour for n, s in class_styles(many.class_names, LIGHT, keep=slots).items()}


def test_packing_needs_no_streamlit():
    code = "import sys, drr.ui.player.pack; sys.exit('streamlit' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_is_said_is_the_explanation_of_the_step_or_of_one_look():
    run = random_run(3)
    step = run.decision_steps[20]
    told = messages.said(run, "id", View(step=step, log=(step - 1, step)))
    assert (told["headline"], told["text"]) == (explain(run, step).headline, explain(run, step).text)
    assert told["reasons"] == [(row.step, row.why) for row in log_rows(run, step - 1, step + 1)]
    look = messages.said(run, "id", View(step=step, visit=0))
    assert look["text"] == explain_visit(run, step, 0)


def test_before_the_first_step_there_is_a_sentence_too():
    assert messages.said(premium_run(), "id", View(step=-1))["headline"] == "Before the first step."


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        "text",
        {"run": "another"},
        {"step": 10**9},
        {"step": -2},
        {"step": "x"},
        {"visit": 99},
        {"log": 5},
        {"timeline": {"panel": "no", "unit": "tokens", "width": 900}},
        {"timeline": {"panel": "share", "unit": "tokens", "width": 10**9}},
        {"csv": {"number": 1, "kinds": [77], "class_index": 0, "endpoint": 0}},
        {"heeded": None},
    ],
)
def test_a_view_that_makes_no_sense_is_none(wrong):
    run = premium_run()
    right = {"run": "id", "step": 5, "visit": -1, "log": [], "timeline": None, "csv": None, "heeded": 3}
    assert View.of(right, run, "id") == View(step=5, heeded=3)
    data = {**right, **wrong} if isinstance(wrong, dict) else wrong
    assert View.of(data, run, "id") is None


def test_the_csv_is_the_log_as_it_is_filtered():
    run = random_run(3)
    kinds = (StepKind.DECISION,)
    header, _ = read_blob(messages.csv(run, (4, kinds, 1, None)))
    assert header["number"] == 4
    assert header["text"] == log_csv(run, kinds=kinds, class_index=1)


@pytest.mark.parametrize("panel", ["share", "recent_share", "deficits", "waiting", "load", "refusals"])
def test_a_timeline_leaves_the_playhead_to_the_player(panel):
    run = random_run(3)
    asked = (panel, "tokens", 900)
    blob = messages.timeline(run, "id", asked, theme=LIGHT, keep={})
    assert messages.timeline(run, "id", asked, theme=LIGHT, keep={}) is blob
    header, _ = read_blob(blob)
    whole = timeline_figure(run, theme=LIGHT, width=900, panels=(panel,), keep={})
    assert len(header["figure"]["data"]) == len(whole.data) - 1
    assert header["axis"] == "ms"
