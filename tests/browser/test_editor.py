"""The policy editor in a browser: what is typed reaches Python, what Python says is shown, and nothing is lost."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from drr.policy import read_policy
from drr.policy.samples import sample
from drr.ui.editor import KEY_HELP
from tests.browser.helpers import StreamlitServer, wait_until_settled
from tests.support import ROOT

SEED = sample("premium_4_to_1").text()
PAGE = Path(__file__).parent / "pages" / "editor_page.py"

# Where every underlined stretch is: severity, 1-based line and column, text.
UNDERLINED = """(content) => {
    const lines = [...content.querySelectorAll('.cm-line')];
    return [...content.querySelectorAll('.cm-lintRange, .cm-lintPoint')].map((mark) => {
        const line = mark.closest('.cm-line');
        const before = document.createRange();
        before.setStart(line, 0);
        before.setEndBefore(mark);
        const [, severity] = /cm-lint(?:Range|Point)-(error|warning|info)/.exec(mark.className);
        return [severity, lines.indexOf(line) + 1, before.toString().length + 1, mark.textContent];
    });
}"""


@pytest.fixture(scope="module")
def editor_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StreamlitServer]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        with StreamlitServer(PAGE, tmp_path_factory.mktemp("editor") / "server.log") as server:
            yield server


OpenEditor = Callable[..., "Editor"]


@pytest.fixture
def open_editor(new_page: Callable[..., Page], editor_server: StreamlitServer) -> OpenEditor:
    def open_page(query: str = "", *, width: int = 1400, colour_scheme: str = "light") -> Editor:
        page = new_page(viewport=(width, 800), colour_scheme=colour_scheme)
        page.goto(f"{editor_server.url}/{query}", wait_until="commit")
        wait_until_settled(page)
        page.locator(".cm-content").wait_for()
        return Editor(page)

    return open_page


class Editor:
    """One page with the editor on it; typing goes to the browser, ``python`` is what the script has."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.content = page.locator(".cm-content")
        self.keyboard = page.keyboard

    def python(self) -> dict[str, Any]:
        state: dict[str, Any] = json.loads(self.page.locator('[data-testid="stCode"] code').text_content() or "null")
        return state

    def wait(self, wanted: Callable[[dict[str, Any]], object], seconds: float = 20) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while not wanted(state := self.python()):
            if time.monotonic() > deadline:
                pytest.fail(f"not reached; Python has {state}", pytrace=False)
            self.page.wait_for_timeout(20)
        return state

    def wait_for_text(self, text: str) -> None:
        self.wait(lambda state: state["text"] == text)

    def shown(self) -> str:
        return "\n".join(self.content.locator(".cm-line").all_text_contents())

    def focus(self) -> None:
        self.content.focus()
        self.page.wait_for_timeout(100)  # the browser moves the selection when it gives the focus; let it

    def put(self, text: str) -> None:
        """Replace everything, as a paste does."""
        self.focus()
        self.keyboard.press("Control+a")
        self.keyboard.insert_text(text)

    def cursor_behind(self, words: str) -> None:
        """Put the cursor behind the first occurrence of ``words``, with keys alone."""
        before = self.shown().split(words)[0] + words
        self.focus()
        self.keyboard.press("Control+Home")
        for _ in range(before.count("\n")):
            self.keyboard.press("ArrowDown")
        self.keyboard.press("Home")
        self.keyboard.press("Home")  # the first one stops at the indentation
        for _ in range(len(before) - before.rfind("\n") - 1):
            self.keyboard.press("ArrowRight")

    def type_over(self, old: str, new: str) -> None:
        """Replace the first ``old`` by typing."""
        self.cursor_behind(old)
        for _ in old:
            self.keyboard.press("Backspace")
        self.keyboard.type(new)

    def underlined(self) -> list[list[Any]]:
        marks: list[list[Any]] = self.content.evaluate(UNDERLINED)
        return marks


def test_what_is_typed_reaches_python_soon_after_the_last_key(open_editor: OpenEditor) -> None:
    editor = open_editor()
    editor.focus()
    editor.keyboard.press("Control+End")
    waits_ms = []
    for word in ("one", "two", "three"):
        editor.keyboard.type(f"# {word}\n")
        last_key_ms = editor.page.evaluate("Date.now()")
        state = editor.wait(lambda state, word=word: state["text"].endswith(f"{word}\n"))
        waits_ms.append(state["changes"][-1] - last_key_ms)
    assert len(state["changes"]) == 3, "one message after the last key, not one for each"
    assert 250 <= sorted(waits_ms)[1] <= 800
    print(f"last key to Python, ms: {waits_ms}")


def expect_marks_where_python_finds_something(editor: Editor) -> None:
    """Gutter and underlines against the reading of the text Python has, worst finding of a place or line first."""
    said = sorted(read_policy(editor.python()["text"]).diagnostics, key=lambda each: RANKS.index(each.severity))
    places = {(each.line, each.column): each.severity for each in reversed(said)}
    wait_until_settled(editor.page)
    assert {(line, column): severity for severity, line, column, _ in editor.underlined()} == places
    lines = {each.line: each.severity for each in reversed(said)}
    for severity in RANKS:
        count = list(lines.values()).count(severity)
        assert editor.page.locator(f".cm-lint-marker-{severity}").count() == count


RANKS = ("error", "warning", "info")


def test_findings_are_marked_at_their_line_and_column(open_editor: OpenEditor) -> None:
    editor = open_editor()
    for old, new, words in (
        ("quantum: 512", "quantum: -4", ["-4"]),
        ("quantum: 512", "quantumm: 512", ["quantumm"]),
        ("queue_policy: fcfs", "queue_policy: 'fifo'", ["'fifo'"]),
        ("quantum: 512\n", "quantum 512\n", ["quantum 512"]),
        ("prefill_busy_threshold: 1536\n", "busy_worker_ratio: 0.5\n", ["0.5"]),
        ("\npolicy_classes", "\nrouter: {}\n\npolicy_classes", ["{"]),
    ):
        text = SEED.replace(old, new, 1)
        editor.put(text)
        editor.wait_for_text(text)
        expect_marks_where_python_finds_something(editor)
        assert [mark[3] for mark in editor.underlined()] == words


@pytest.mark.slow
def test_findings_of_all_recorded_policy_files_are_marked_in_place(open_editor: OpenEditor) -> None:
    editor = open_editor()
    cases = json.loads((ROOT / "tests/recordings/policy_files.json").read_text(encoding="utf-8"))
    shown = 0
    for case in cases:
        try:
            text = case["latin1"].encode("latin-1").decode("utf-8").removeprefix("\ufeff")
        except UnicodeDecodeError:
            continue  # no text, so nothing an editor could hold
        if not text or "\0" in text or len(text.splitlines()) > 60:
            continue
        before = editor.python()["text"]
        editor.put(text)
        if before != text:
            editor.wait(lambda state, before=before: state["text"] != before)
        expect_marks_where_python_finds_something(editor)
        shown += 1
    assert shown > 100


def test_columns_are_right_behind_characters_of_two_units_and_in_carriage_return_files(open_editor: OpenEditor) -> None:
    editor = open_editor()
    text = 'models: {"😀😀": {default_policy_family: x, quanta: 1}}'
    editor.put(text)
    editor.wait_for_text(text)
    wait_until_settled(editor.page)
    assert ["error", 1, text.encode("utf-16-le").index("quanta".encode("utf-16-le")) // 2 + 1, "quanta"] in (
        editor.underlined()
    )


def test_a_finding_moves_along_with_typing_that_python_has_not_seen(open_editor: OpenEditor) -> None:
    editor = open_editor("?delay=700")
    editor.type_over("quantum: 512", "quantum: -4")
    editor.page.wait_for_timeout(450)  # Python is at it now
    editor.keyboard.press("Control+Home")
    editor.keyboard.type("# a line above\n")
    editor.page.locator(".cm-lintRange-error").wait_for()
    assert editor.underlined() == [["error", 17, 14, "-4"]]


def test_five_quick_edits_all_take_effect_in_order(open_editor: OpenEditor) -> None:
    editor = open_editor("?delay=400")  # slower than the edits come
    editor.cursor_behind("    quantum: 128")
    for quantum in ("512", "256", "128", "64", "32"):
        editor.keyboard.press("Control+Shift+ArrowLeft")
        editor.keyboard.type(quantum)
        editor.keyboard.press("Control+Enter")
        editor.page.wait_for_timeout(120)
    state = editor.wait(lambda state: len(state["runs"]) == 5)
    assert state["runs"] == [[512, quantum] for quantum in (512, 256, 128, 64, 32)]


def test_control_enter_sends_at_once_and_asks_for_one_run(open_editor: OpenEditor) -> None:
    editor = open_editor()
    editor.type_over("quantum: 128", "quantum: 64")
    editor.keyboard.press("Control+Enter")
    pressed_ms = editor.page.evaluate("Date.now()")
    state = editor.wait(lambda state: state["runs"])
    assert state["runs"] == [[512, 64]]
    print(f"Ctrl+Enter to Python, ms: {state['changes'][-1] - pressed_ms}")
    assert state["changes"][-1] - pressed_ms < 250, "it did not wait for the debounce"
    editor.page.get_by_role("button", name="Add a comment").click()
    editor.wait(lambda state: state["rev"] == 1)
    assert editor.python()["runs"] == [[512, 64]]
    editor.focus()
    editor.keyboard.press("Control+Enter")  # nothing typed: still a run
    editor.wait(lambda state: len(state["runs"]) == 2)


def test_the_last_key_before_a_click_counts(open_editor: OpenEditor) -> None:
    editor = open_editor()
    editor.type_over("quantum: 128", "quantum: 32")
    editor.page.get_by_role("button", name="Run").click()
    state = editor.wait(lambda state: state["clicked"])
    assert state["clicked"] == [[512, 32]]


def test_a_broken_text_stays_as_typed_and_undo_makes_it_whole(open_editor: OpenEditor) -> None:
    editor = open_editor()
    editor.cursor_behind("    quantum:")
    editor.keyboard.press("Backspace")
    broken = SEED.replace("    quantum:", "    quantum", 1)
    editor.wait_for_text(broken)
    editor.page.locator(".cm-lintRange-error").wait_for()
    assert editor.shown() == broken
    editor.keyboard.press("Control+z")
    editor.wait_for_text(SEED)
    editor.page.wait_for_function("!document.querySelector('.ringside-editor [role=status] button')")


def test_text_from_python_comes_in_as_one_undoable_step_and_leaves_the_cursor(open_editor: OpenEditor) -> None:
    editor = open_editor()
    editor.cursor_behind("default_policy_family: regular")
    editor.keyboard.type("x")
    typed = SEED.replace("default_policy_family: regular", "default_policy_family: regularx", 1)
    editor.wait_for_text(typed)
    editor.page.get_by_role("button", name="Halve premium").click()
    halved = typed.replace("quantum: 512", "quantum: 256")
    editor.wait(lambda state: state["text"] == halved and state["rev"] == 1)
    wait_until_settled(editor.page)
    assert editor.shown() == halved
    editor.focus()
    editor.keyboard.type("y")  # the cursor is where it was
    editor.wait_for_text(halved.replace("regularx", "regularxy"))
    editor.keyboard.press("Control+z")
    editor.wait_for_text(halved)
    editor.keyboard.press("Control+z")
    editor.wait_for_text(typed)
    editor.keyboard.press("Control+z")
    editor.wait_for_text(SEED)
    for _ in range(3):
        editor.keyboard.press("Control+y")
    editor.wait_for_text(halved.replace("regularx", "regularxy"))


def test_a_rerun_with_the_same_text_touches_nothing(open_editor: OpenEditor) -> None:
    editor = open_editor()
    editor.cursor_behind("request_queue_limit_per_worker: 1024\n")
    scroller = editor.page.locator(".cm-scroller")
    scroller.evaluate("(node) => { node.scrollTop = 140 }")
    editor.page.get_by_role("button", name="Run").click()
    editor.wait(lambda state: state["clicked"])
    wait_until_settled(editor.page)
    assert scroller.evaluate("(node) => node.scrollTop") == 140
    assert editor.python()["changes"] == []
    editor.focus()
    editor.keyboard.type("# here")
    editor.wait_for_text(SEED.replace("queue_limit_per_worker: 1024\n", "queue_limit_per_worker: 1024\n# here", 1))


def test_a_late_answer_never_overwrites_newer_typing(open_editor: OpenEditor) -> None:
    editor = open_editor("?delay=500")
    editor.focus()
    editor.keyboard.press("Control+End")
    for number in range(12):  # more than three seconds, with several answers in between
        editor.keyboard.type(f"# line {number}\n")
        editor.page.wait_for_timeout(330 if number % 2 else 80)
    expected = SEED + "".join(f"# line {number}\n" for number in range(12))
    assert editor.shown() == expected
    editor.wait_for_text(expected)
    assert editor.shown() == expected


def test_a_replacement_by_python_and_typing_elsewhere_both_stay(open_editor: OpenEditor) -> None:
    editor = open_editor("?delay=700")
    editor.page.get_by_role("button", name="Halve premium").click()
    editor.page.wait_for_timeout(150)
    editor.focus()
    editor.keyboard.press("Control+Home")
    editor.keyboard.type("# typed meanwhile\n")
    merged = "# typed meanwhile\n" + SEED.replace("quantum: 512", "quantum: 256")
    editor.wait_for_text(merged)
    assert editor.shown() == merged


def test_where_both_change_the_same_place_the_typing_stays(open_editor: OpenEditor) -> None:
    editor = open_editor("?delay=900")
    editor.cursor_behind("    quantum: 512")
    editor.page.evaluate("""() => {
        const button = [...document.querySelectorAll('button')].find((each) => each.textContent === 'Halve premium');
        button.click();
    }""")
    editor.keyboard.type("0")
    typed = SEED.replace("quantum: 512", "quantum: 5120", 1)
    editor.wait(lambda state: state["text"] == typed and state["rev"] == 1)
    assert editor.shown() == typed


def test_escape_and_then_tab_leaves_the_editor(open_editor: OpenEditor) -> None:
    editor = open_editor()
    inside = "() => !!document.activeElement?.closest('.cm-content')"
    editor.cursor_behind("    quantum: 512")
    editor.keyboard.press("Tab")
    editor.wait(lambda state: state["text"] == SEED.replace("    quantum: 512", "      quantum: 512", 1))
    assert editor.page.evaluate(inside)
    editor.keyboard.press("Shift+Tab")
    editor.wait_for_text(SEED)
    editor.keyboard.press("Escape")
    editor.page.wait_for_timeout(2_500)  # there is no hurry
    editor.keyboard.press("Tab")
    assert not editor.page.evaluate(inside)
    editor.keyboard.press("Shift+Tab")
    assert editor.page.evaluate(inside)
    editor.keyboard.press("Escape")
    editor.keyboard.press("Shift+Tab")
    assert not editor.page.evaluate(inside)
    editor.page.wait_for_timeout(600)
    assert editor.python()["text"] == SEED


def test_script_tags_are_text(open_editor: OpenEditor) -> None:
    editor = open_editor()
    evil = "<img src=x onerror=alert(1)><script>alert(1)</script>"
    editor.page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    text = SEED.replace("name: premium", f"name: '{evil}'").replace("quantum: 512", f"'{evil}': 512")
    editor.put(text)
    editor.wait_for_text(text)
    wait_until_settled(editor.page)
    assert evil in editor.shown()
    editor.page.locator(".cm-lint-marker-error").nth(1).hover()
    tooltip = editor.page.locator(".cm-tooltip-lint")
    tooltip.wait_for()
    assert "<script>" in (tooltip.text_content() or "")
    assert editor.page.evaluate("() => document.querySelectorAll('.ringside-editor :is(img, script)').length") == 0


def test_line_ends_and_a_byte_order_mark_survive_editing(open_editor: OpenEditor) -> None:
    editor = open_editor()
    editor.page.get_by_role("button", name="Carriage returns").click()
    carriage = SEED.replace("\n", "\r\n")
    editor.wait_for_text(carriage)
    editor.type_over("quantum: 512", "quantum: 77")
    editor.keyboard.press("Enter")
    editor.keyboard.type("busy_worker_ratio: 2")
    expected = carriage.replace("quantum: 512", "quantum: 77\r\n    busy_worker_ratio: 2", 1)
    editor.wait_for_text(expected)
    wait_until_settled(editor.page)
    assert [mark[1:] for mark in editor.underlined()][-1] == [17, 24, "2"]


def test_text_and_history_are_there_again_after_a_visit_to_another_page(open_editor: OpenEditor) -> None:
    editor = open_editor()
    editor.type_over("quantum: 128", "quantum: 99")
    editor.page.get_by_role("link", name="Elsewhere").click()
    editor.page.get_by_role("heading", name="Elsewhere").wait_for()
    editor.page.get_by_role("link", name="Editing").click()
    editor.page.get_by_role("heading", name="Editor").wait_for()
    wait_until_settled(editor.page)
    changed = SEED.replace("quantum: 128", "quantum: 99")
    editor.wait_for_text(changed)
    assert editor.shown() == changed
    editor.focus()
    for _ in range(12):
        editor.keyboard.press("Control+z")
    editor.wait_for_text(SEED)


def test_keys_and_values_are_completed_from_where_the_cursor_is(open_editor: OpenEditor) -> None:
    editor = open_editor()
    options = editor.page.locator(".cm-tooltip-autocomplete li")
    for before, typed, offered in (
        ("    bucket: all\n", "rou", ["router"]),
        ("    request_queue_limit_per_worker: 1024", "\nra", ["raw_isl_token_queue_limit_per_worker"]),
        ("uncached_isl_buckets:", "\n  - {min_tokens: 4, buc", ["bucket"]),
        ("    quantum: 128\n", "models:\n  m:\n    de", ["default_policy_family"]),
    ):
        editor.put(SEED)
        editor.cursor_behind(before)
        editor.keyboard.type(typed)
        options.first.wait_for()
        assert [text for text in options.all_text_contents() if text in offered] == offered
        editor.page.wait_for_timeout(150)  # an Enter meant for the text is not taken for a choice
        editor.keyboard.press("Enter")
        wanted = SEED.count(offered[0]) + 1
        editor.wait(lambda state, key=offered[0], wanted=wanted: state["text"].count(key) == wanted)
    for key, offered in (
        ("    queue_policy:", ["fcfs", "wspt"]),
        ("    policy_family:", ["regular"]),
        ("    cache_bucket:", ["all"]),
        ("default_policy_family:", ["premium", "regular"]),
    ):
        editor.put(SEED)
        editor.cursor_behind(key)
        editor.keyboard.press("Shift+End")
        editor.keyboard.type(" ")
        editor.keyboard.press("Control+Space")
        options.filter(has_text=offered[0]).wait_for()
        assert options.all_text_contents() == offered
        editor.keyboard.press("Escape")


def test_a_spec_is_completed_down_to_the_keys_of_its_shapes(open_editor: OpenEditor) -> None:
    editor = open_editor("?words=spec")
    options = editor.page.locator(".cm-tooltip-autocomplete li")
    stream = "seed: 1\nstreams:\n  - header: premium\n    "
    for typed, offered in (
        ("se", "seed"),
        (f"{stream}cac", "cache_hits"),
        (f"{stream}arrivals: {{sha", "shape"),
        (f"{stream}arrivals: {{shape: cl", "closed_loop"),
        (f"{stream}arrivals:\n      shape: on_off\n      on", "on_ms"),
        (f"{stream}cache_hits: {{shape: sessions, tu", "turns"),
        (f"{stream}cache_hits: {{shape: sessions, turns: {{shape: zi", "zipf"),
        (f"{stream}cache_hits:\n      turns: {{shape: zipf, exp", "exponent"),
        (f"{stream}strict_priority: [{{share: 0.1, le", "level"),
    ):
        editor.put(typed[:-1])
        editor.keyboard.press("Control+End")
        editor.keyboard.type(typed[-1])
        options.filter(has_text=offered).first.wait_for()
        assert options.first.text_content() == offered, typed
        editor.keyboard.press("Escape")


def test_keys_a_class_has_already_are_not_offered(open_editor: OpenEditor) -> None:
    editor = open_editor()
    editor.cursor_behind("    queue_policy: fcfs")
    editor.keyboard.press("Enter")
    editor.keyboard.press("Control+Space")
    options = editor.page.locator(".cm-tooltip-autocomplete li")
    options.first.wait_for()
    given = {line.strip(" -").partition(":")[0] for line in SEED.splitlines()[11:21]}
    assert options.all_text_contents() == [key for key in KEY_HELP["class"] if key not in given]


def test_every_key_of_the_seed_has_its_help_under_the_pointer(open_editor: OpenEditor) -> None:
    editor = open_editor()
    for key, context in (
        ("default_policy_family", "file"),
        ("min_tokens", "bucket"),
        ("quantum", "class"),
        ("prefill_busy_threshold", "class"),
    ):
        editor.page.mouse.move(5, 5)
        editor.content.get_by_text(key, exact=True).first.hover()
        card = editor.page.locator(".cm-tooltip .policy-help")
        card.wait_for()
        words = card.text_content() or ""
        help_of_key = KEY_HELP[context][key]
        assert key in words
        assert help_of_key.about.replace("`", "") in words
        assert help_of_key.takes.replace("`", "") in words


def test_a_suggestion_is_put_in_with_one_click(open_editor: OpenEditor) -> None:
    editor = open_editor()
    editor.type_over("quantum: 512", "quantun: 512")
    editor.page.locator(".cm-lint-marker-error").first.hover()
    editor.page.get_by_role("button", name="Put quantum").click()
    editor.wait_for_text(SEED)


@pytest.mark.parametrize("width", [1400, 800])
@pytest.mark.parametrize("colour_scheme", ["light", "dark"])
def test_the_editor_is_readable_in_both_themes(
    open_editor: OpenEditor, screenshot: Callable[..., object], width: int, colour_scheme: str
) -> None:
    editor = open_editor(width=width, colour_scheme=colour_scheme)
    text = SEED.replace("fcfs", "fcfss", 1).replace("    prefill_busy_threshold: 1536\n", "", 1)
    text = text.replace("\npolicy_classes", "\nrouter: {router_ttl_secs: 10}\n\npolicy_classes")
    editor.put(text.replace("    quantum: 512", "    quantum: 0x"))
    editor.page.locator(".cm-lintRange-error").first.wait_for()
    screenshot(editor.page, f"editor_{colour_scheme}_{width}_errors")
    editor.put(text.replace("fcfss", "fcfs"))
    editor.page.locator(".cm-lintRange-warning").first.wait_for()
    editor.page.locator(".cm-lint-marker-warning").first.hover()
    editor.page.locator(".cm-tooltip-lint").wait_for()
    screenshot(editor.page, f"editor_{colour_scheme}_{width}_warning")
    strokes = {
        severity: editor.page.locator(f".cm-lintRange-{severity}").first.evaluate(
            "(node) => getComputedStyle(node).textDecorationStyle"
        )
        for severity in ("warning", "info")
    }
    assert strokes == {"warning": "dashed", "info": "dotted"}
    assert editor.page.evaluate(CONTRASTS) == []


# Text in the editor whose colour stands out from the ground by less than 4.5:1.
CONTRASTS = """() => {
    const editor = document.querySelector('.ringside-editor');
    const canvas = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
    const luminance = (colour) => {
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((value) => {
            const share = value / 255;
            return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = luminance(getComputedStyle(editor).backgroundColor);
    const pale = [];
    for (const node of editor.querySelectorAll('.cm-content span, .cm-lineNumbers .cm-gutterElement, .foot *')) {
        if (!node.textContent.trim()) continue;
        const colour = getComputedStyle(node).color;
        const [low, high] = [luminance(colour), ground].sort((a, b) => a - b);
        if ((high + 0.05) / (low + 0.05) < 4.5) pale.push(`${node.textContent.slice(0, 20)}: ${colour}`);
    }
    return [...new Set(pale)];
}"""
