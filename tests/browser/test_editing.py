"""Editing the policy in the Lab: what is typed, dragged or uploaded is what the picture shows."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from drr.workload.scenario_data import FOURTEEN
from tests.browser.helpers import PageWatch, wait_until_settled
from tests.browser.lab import SEED, Lab, with_quanta

OpenApp = Callable[..., Page]


@pytest.fixture
def lab(open_app: OpenApp) -> Lab:
    made = Lab(open_app())
    made.wait_for_ratio("4.0")
    made.wait(made.shown_step, "a picture")
    return made


# --- the last edit before the click (38) ----------------------------------------------------------------------------


def test_the_last_key_before_a_click_on_run_counts(lab: Lab) -> None:
    lab.put(with_quanta(512, 512))
    lab.run()
    lab.wait_for_ratio("1.0")
    lab.put(with_quanta(512, 256))
    lab.keyboard.press("Control+Enter")
    lab.wait_for_ratio("2.0")


def test_five_edits_in_a_row_all_take_effect_in_order(lab: Lab) -> None:
    for regular, ratio in ((512, "1.0"), (256, "2.0"), (128, "4.0"), (64, "8.2"), (32, "16.7")):
        lab.put(with_quanta(512, regular))
        lab.run()
        lab.wait_for_ratio(ratio)


def test_of_five_edits_without_a_pause_the_last_one_is_shown(lab: Lab) -> None:
    for regular in (512, 64, 32, 128, 256):
        lab.put(with_quanta(512, regular))
        lab.page.wait_for_timeout(320)
    lab.wait_for_ratio("2.0")
    wait_until_settled(lab.page)
    assert "got 2.0 × the tokens" in lab.result
    assert not lab.is_stale()


def test_an_edit_that_leaves_together_with_the_playheads_message_counts(lab: Lab) -> None:
    # The browser sends both as one message, under the fragment of the player; a busy page makes that happen.
    lab.put(with_quanta(512, 256))
    lab.page.evaluate(
        """() => {
            document.querySelector('[aria-label^="Back"]').click();
            const end = performance.now() + 1500;
            while (performance.now() < end);
        }"""
    )
    lab.wait_for_ratio("2.0")
    lab.wait(lambda: lab.box("regular").input_value() == "256", "the box follows")


def test_a_broken_text_says_where_and_marks_the_picture_and_undo_heals_it(lab: Lab) -> None:
    stage = lab.page.locator(".rp").element_handle()
    lab.put(SEED.replace("quantum: 512", "quantum 512"))
    alert = lab.wait_for_alert("✕ error")
    assert "line 16, column 5" in alert
    assert "colon" in alert
    lab.wait(lab.is_stale, "a mark on the picture")
    assert "got 4.0 ×" in lab.result, "the last picture stays"
    assert "quantum 512" in lab.text(), "the text stays as typed"
    expect(lab.box("premium")).to_be_disabled()
    lab.content.focus()
    lab.keyboard.press("Control+z")
    lab.wait(lambda: not lab.is_stale(), "no mark on the picture")
    assert not [text for text in lab.alerts() if "error" in text]
    expect(lab.box("premium")).to_be_enabled()
    assert stage is not None
    assert stage.evaluate("(stage) => stage.isConnected"), "what is said above the stage draws no new one"


# --- texts that the router refuses (9, 11, 12, 16) ------------------------------------------------------------------


REFUSED: tuple[tuple[Callable[[str], str], str], ...] = (
    (lambda t: t.replace("    quantum: 512\n", "    quantum: 512\n    quantum: 128\n"), r"line 17, .*quantum"),
    (lambda t: t + "\npolicy_classes: []\n", r"policy_classes"),
    (lambda t: t.replace("quantum: 512", "quantum: 4_096"), r"line 16, column 14.*4_096"),
    (lambda t: t.replace("quantum: 512", "quantum: 1e3"), r"line 16, column 14.*1e3"),
    (lambda t: t.replace("    quantum: 512", "\tquantum: 512"), r"line 16.*tab.*space"),
    (lambda t: t + "---\n" + t, r"more than one document|one document"),
    (lambda t: "# nothing\n", r"the policy is empty"),
    (lambda t: "- name: a\n", r"the top level must be a mapping"),
    (lambda t: t.replace("prefill_busy_threshold: 1536", "prefill_busy_treshold: 1536", 1), r"prefill_busy_thresh"),
    (lambda t: t.replace("name: premium", "name: a/b"), r"a/b"),
    (lambda t: t.replace("default_policy_family: regular", "default_policy_family: gold"), r"gold"),
)


def test_a_text_that_is_refused_says_what_and_where_and_changes_no_picture(lab: Lab) -> None:
    for change, says in REFUSED:
        lab.put(change(SEED))
        lab.wait_for_alert(f"(?s)✕ error.*{says}")
        lab.wait(lab.is_stale, "a mark on the picture")
        assert "got 4.0 ×" in lab.result
    lab.put(SEED)
    lab.wait(lambda: not lab.alerts() and not lab.is_stale(), "all is well again")


def test_other_ways_to_write_512_are_512(lab: Lab) -> None:
    for written in ("0x200", "+512", "512\t# note"):
        lab.put(with_quanta(256, 128).replace("quantum: 256", f"quantum: {written}"))
        lab.wait(lambda: lab.box("premium").input_value() == "512", "512 beside the slider")
        lab.wait_for_ratio("4.0")
        lab.put(with_quanta(256, 128))
        lab.wait_for_ratio("2.0")


# --- sliders --------------------------------------------------------------------------------------------------------


def test_a_slider_changes_the_number_in_the_text_and_undo_takes_it_back(lab: Lab) -> None:
    lab.slider("regular").focus()
    for _ in range(8):  # four steps double a quantum
        lab.keyboard.press("ArrowRight")
    lab.wait_for_ratio("1.0")
    assert lab.text() == with_quanta(512, 512)
    lab.content.focus()
    for _ in range(8):
        lab.keyboard.press("Control+z")
    lab.wait_for_ratio("4.0")
    lab.wait(lambda: lab.box("regular").input_value() == "128", "the box follows undo")


def test_the_exact_box_and_keep_ratio(lab: Lab) -> None:
    lab.box("regular").fill("1,000")
    lab.keyboard.press("Enter")
    lab.wait(lambda: "quantum: 1000" in lab.text(), "the number in the text")
    lab.box("regular").fill("128")
    lab.keyboard.press("Enter")
    lab.wait_for_ratio("4.0")
    lab.page.get_by_role("checkbox", name="keep ratio").check()
    lab.box("regular").fill("64")
    lab.keyboard.press("Enter")
    lab.wait(lambda: lab.box("premium").input_value() == "256", "premium moves along")
    assert "quantum: 256" in lab.text()
    lab.wait_for_ratio("4.0")


def test_a_bad_number_is_refused_in_words(lab: Lab) -> None:
    lab.box("premium").fill("12x")
    lab.keyboard.press("Enter")
    expect(lab.page.get_by_text("quantum of premium: “12x” is no whole number from 1 to")).to_be_visible(timeout=60_000)
    assert "quantum: 512" in lab.text()
    assert lab.box("premium").input_value() == "12x", "to be corrected, not typed anew"


def test_thresholds_and_limits_are_a_table(lab: Lab) -> None:
    lab.page.get_by_role("tab", name="Thresholds").click()
    lab.page.get_by_role("textbox", name="busy above, tokens of premium").fill("")
    lab.keyboard.press("Enter")
    lab.wait_for_text("premium has no busy threshold, so nothing of it ever waits")
    lab.page.get_by_role("tab", name="Limits").click()
    limit = lab.page.get_by_role("textbox", name="requests of regular", exact=True)
    limit.fill("10")
    lab.keyboard.press("Enter")
    lab.wait_for_text("requests of regular were refused")
    assert "request_queue_limit_per_worker: 10" in lab.text()


def test_fourteen_classes_have_fourteen_rows_that_fit(lab: Lab, screenshot: Callable[..., object]) -> None:
    lab.put(FOURTEEN)
    lab.wait(lambda: lab.page.get_by_role("slider", name="log scale").count() == 14, "fourteen sliders")
    tops = [lab.slider(name).bounding_box() for name in ("red_short", "violet_long")]
    assert tops[0] is not None
    assert tops[1] is not None
    assert tops[1]["y"] - tops[0]["y"] < 450
    screenshot(lab.page, "lab_fourteen", full_page=True)


# --- the doctor -----------------------------------------------------------------------------------------------------


def test_the_doctor_shows_the_step_and_its_quanta_can_be_used(lab: Lab) -> None:
    lab.put(with_quanta(4096, 1024))
    lab.wait_for_text("The shipped router gives premium 50 %, the quanta ask for 80 %.")
    before = lab.shown_step()
    lab.page.get_by_role("button", name="Show the step").first.click()
    lab.wait(lambda: lab.shown_step() not in ("", before), "another step")
    lab.page.get_by_role("button", name="Use these quanta").first.click()
    lab.wait(lambda: "quantum: 512" in lab.text() and "quantum: 128" in lab.text(), "the quanta in the text")
    lab.wait_for_text("Nothing in this run keeps it from doing so.")


# --- files from Windows, export (14, 37) ----------------------------------------------------------------------------


def test_files_of_windows_editors_are_opened(lab: Lab) -> None:
    for content, ratio in (
        (with_quanta(512, 256).encode("utf-8-sig"), "2.0"),
        (with_quanta(512, 64).replace("\n", "\r\n").encode(), "8.2"),
    ):
        lab.upload("policy.yaml", content)
        lab.wait_for_ratio(ratio)
        if content.startswith(b"\xef\xbb\xbf"):
            lab.wait_for_alert("byte-order mark")
        saved = lab.download("Download")
        assert not saved.startswith("\ufeff")
        assert saved.splitlines() == content.decode("utf-8-sig").splitlines()


def test_files_that_are_no_text_leave_everything_as_it_is(lab: Lab) -> None:
    for content, says in (
        ("# priorité\n".encode("latin-1") + SEED.encode(), "is not UTF-8 text"),
        (SEED.encode("utf-16"), "UTF-16"),
        (SEED.replace("premium", "pre\0mium").encode(), "NUL character"),
        (b"#" * 2_000_000, "2,000,000 bytes"),
    ):
        lab.upload("policy.yaml", content)
        lab.wait_for_alert(f"policy.yaml was not opened: .*{says}")
        assert "got 4.0 ×" in lab.result
        assert not lab.is_stale()


def test_a_download_leaves_result_and_step_on_the_screen(lab: Lab) -> None:
    step = lab.shown_step()
    lab.put(with_quanta(512, 64).replace("quantum: 64", "quantum 64"))
    lab.wait(lab.is_stale, "a mark on the picture")
    saved = lab.download("Download")
    assert "quantum 64" in saved
    assert lab.shown_step() == step
    assert "got 4.0 ×" in lab.result


# --- hostile input --------------------------------------------------------------------------------------------------


def test_hostile_texts_get_a_message_and_the_session_goes_on(lab: Lab) -> None:
    names = [chr(97 + i) for i in range(25)]
    bomb = "".join(f"{name}: &{name} [*{before}, *{before}]\n" for before, name in itertools.pairwise(names))
    for text, says in (
        ("[" * 2**20, "✕ error"),
        ("a: &a [x, x]\n" + bomb, "✕ error"),
        ("# " + "x" * 10_000_000, "10,000,002 bytes"),
    ):
        lab.put(text)
        lab.wait_for_alert(says)
        lab.put(with_quanta(512, 256))
        lab.wait_for_ratio("2.0")
        lab.wait(lambda: not lab.alerts(), "all is well again")


def test_nothing_is_rendered_as_html(lab: Lab, page_watch: PageWatch) -> None:
    evil = "<img src=x onerror=window.__evil=1><script>window.__evil=1</script>"
    for text in (
        SEED.replace("name: premium", f"name: '{evil}'"),
        SEED.replace("quantum: 512", f"'{evil}': 1"),
        SEED + f"models: {{'{evil}': null}}\n",
    ):
        lab.put(text)
        lab.wait_for_alert("✕ error|△ warning|ⓘ note|error")
        wait_until_settled(lab.page)
    lab.upload(f"{evil}.json", b"{}")
    lab.wait_for_alert("was not opened")
    assert lab.browser_says("window.__evil") is None
    assert lab.browser_says("document.querySelectorAll('img[src=x]').length") == 0
