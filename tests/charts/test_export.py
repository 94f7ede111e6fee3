"""Files of a run: pictures of the right size, a hand-out with its sentences, a replay that carries everything."""

from __future__ import annotations

import base64
import io
import json
import re
import xml.etree.ElementTree as ET
import zlib

import pytest

from drr.analysis.explain import explain
from drr.charts import export
from drr.charts.export import ExportError, stage_figures, stage_gif, stage_picture, steps_from
from drr.charts.handout import handout_html
from drr.charts.palette import DARK, LIGHT
from drr.charts.replay_html import MOST_FRAMES, WIDTH, replay_html
from drr.charts.stage import plotly_values
from drr.charts.stage_layout import stage_layout
from drr.charts.stage_values import stage_values
from drr.charts.survey import survey
from drr.policy.schema import CacheBucket, PolicyClass, Profile
from drr.router.requests import RequestTable
from drr.simulation.recording import Run
from drr.simulation.replay import replay
from tests.charts.real_run import real_run
from tests.support import skip_or_fail

HOSTILE = "</script><script>alert(1)</script>"


@pytest.fixture(scope="module")
def run() -> Run:
    return real_run({"premium": 512, "regular": 128}, 20)


@pytest.fixture(scope="module")
def hostile_run() -> Run:
    """Requests whose names are script tags."""
    classes = tuple(
        PolicyClass(name, 512, policy_family=name, cache_bucket="all", prefill_busy_threshold=1536) for name in "ab"
    )
    table = RequestTable()
    for k in range(16):
        table.append(512, policy_header="ab"[k % 2], name=f"{HOSTILE}{k}")
    return replay(Profile("a", (CacheBucket(0, "all"),), classes), table)


@pytest.fixture
def drawing() -> None:
    """Skips where nothing can draw."""
    pytest.importorskip("kaleido")
    pytest.importorskip("PIL")
    try:
        export.find_browser()
    except ExportError as error:
        skip_or_fail(str(error))


def size_of_png(content: bytes) -> tuple[int, int]:
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    return int.from_bytes(content[16:20], "big"), int.from_bytes(content[20:24], "big")


def contents_of(page: str) -> dict[str, object]:
    found = re.search(r'id="data">([^<]+)</script>', page)
    assert found is not None
    data = json.loads(zlib.decompress(base64.b64decode(found[1])))
    assert isinstance(data, dict)
    return data


@pytest.mark.usefixtures("drawing")
def test_a_png_is_the_stage_at_twice_its_size(run: Run) -> None:
    from PIL import Image

    step = run.decision_steps[5]
    content = stage_picture(run, step, "png", theme=LIGHT, width=900, scale=2)
    height = stage_figures(run, LIGHT, 900)(step)["layout"]["height"]
    assert size_of_png(content) == (1800, 2 * height)
    # It is no empty sheet: ground, ink and both classes' colours are in it.
    picture = Image.open(io.BytesIO(content)).convert("RGB")
    colours = {colour for _, colour in picture.getcolors(1 << 24) or []}
    assert {(255, 255, 255), (0, 92, 201), (212, 116, 27)} <= colours


@pytest.mark.usefixtures("drawing")
def test_an_svg_holds_the_words_of_the_step(run: Run) -> None:
    step = run.decision_steps[5]
    root = ET.fromstring(stage_picture(run, step, "svg"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    words = " ".join(root.itertext())
    assert f"step {step + 1:,} of {run.n_steps:,}" in words
    assert "premium" in words


@pytest.mark.usefixtures("drawing")
def test_a_gif_has_a_frame_for_every_step_and_reports_progress(run: Run) -> None:
    from PIL import Image

    told: list[tuple[int, int]] = []
    steps = steps_from(run, run.decision_steps[3], 3, decisions_only=True)
    content = stage_gif(run, steps, width=460, ms_per_step=250, progress=lambda *at: told.append(at))
    picture = Image.open(io.BytesIO(content))
    assert (picture.n_frames, picture.info["duration"], picture.size[0]) == (3, 250, 460)
    assert told == [(0, 3), (1, 3), (2, 3)]


@pytest.mark.usefixtures("drawing")
def test_a_hand_out_has_the_sentences_and_a_picture_of_every_step(run: Run) -> None:
    steps = steps_from(run, 0, 2, decisions_only=True)
    page = handout_html(run, steps, title="Two decisions")
    for step in steps:
        told = explain(run, step)
        assert told.headline in page
        assert told.text.replace(">", "&gt;").replace("'", "&#x27;") in page
    assert page.count("data:image/svg+xml;base64,") == 2
    assert "@media print" in page
    assert "<script" not in page


@pytest.mark.usefixtures("drawing")
def test_script_tags_in_names_stay_text_in_a_hand_out(hostile_run: Run) -> None:
    page = handout_html(hostile_run, steps_from(hostile_run, 0, 1, decisions_only=True), title=HOSTILE)
    assert "<script" not in page
    assert "&lt;/script&gt;" in page


def test_a_replay_holds_every_frame_and_sentence(run: Run) -> None:
    steps = steps_from(run, -1, 40, decisions_only=False)
    data = contents_of(replay_html(run, steps, title="All of it", theme=DARK))
    layout = stage_layout(survey(run), width=WIDTH)
    shown: dict[str, object] = {}
    for step, frame, said in zip(steps, data["frames"], data["said"], strict=True):  # type: ignore[call-overload]
        shown |= frame
        values = plotly_values(stage_values(layout, run.state_at(step), run.cost_tokens), DARK)
        assert shown == json.loads(json.dumps(values))
        told = explain(run, step)
        assert said[1:] == [told.headline, told.text]


def test_a_replay_names_no_other_machine_and_forbids_asking_one(run: Run) -> None:
    page = replay_html(run, (0, 1), title="Small")
    without_plotly = re.sub(r'id="plotly">[^<]+<', "", page)
    assert re.findall(r"(?:https?:)?//[a-z]", re.sub(r'id="data">[^<]+<', "", without_plotly)) == []
    assert "default-src 'none'" in page
    assert "connect-src" not in page


def test_script_tags_in_names_never_end_a_script_of_a_replay(hostile_run: Run) -> None:
    page = replay_html(hostile_run, steps_from(hostile_run, 0, 5, decisions_only=True), title=HOSTILE)
    assert page.count("</script>") == 3
    assert "alert(1)</title>" not in page


@pytest.mark.parametrize("step", [-2, 10**6])
def test_a_step_the_run_does_not_have_is_refused_with_what_is_allowed(run: Run, step: int) -> None:
    with pytest.raises(ExportError, match=f"to {run.n_steps:,}"):
        stage_picture(run, step, "png")


@pytest.mark.parametrize("count", [0, MOST_FRAMES + 1])
def test_a_replay_of_too_many_or_no_steps_is_refused(run: Run, count: int) -> None:
    with pytest.raises(ExportError, match="between 1 and 640"):
        replay_html(run, [0] * count, title="")


def test_without_a_browser_the_message_says_how_to_get_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("kaleido")
    monkeypatch.delenv("BROWSER_PATH", raising=False)
    monkeypatch.setattr(export.shutil, "which", lambda name: None)
    with pytest.raises(ExportError, match="name it with BROWSER_PATH"):
        stage_picture(run, 0, "png")


def test_a_browser_path_that_leads_nowhere_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("kaleido")
    monkeypatch.setenv("BROWSER_PATH", "no/such/browser")
    with pytest.raises(ExportError, match="no/such/browser"):
        stage_picture(run, 0, "png")


def test_without_kaleido_the_message_names_the_package(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "kaleido", None)
    with pytest.raises(ExportError, match="pip install kaleido"):
        stage_picture(run, 0, "png")


def test_steps_are_counted_from_the_one_shown(run: Run) -> None:
    decisions = list(run.decision_steps)
    assert steps_from(run, decisions[2], 3, decisions_only=True) == tuple(decisions[2:5])
    assert steps_from(run, run.n_steps - 2, 9, decisions_only=False) == (run.n_steps - 2, run.n_steps - 1)
    assert steps_from(run, run.n_steps - 1, 9, decisions_only=True) == (run.n_steps - 1,)
