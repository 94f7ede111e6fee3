"""The editor on the page: for policies, and for other YAML that has findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import streamlit as st

from drr.policy import Diagnostic
from drr.ui.editor.exchange import Exchange
from drr.ui.editor.key_help import KEY_HELP
from drr.ui.editor.marks import marks

DEBOUNCE_MS = 300
"""How long after the last key the text goes to Python; Ctrl+Enter, a click elsewhere and losing focus do not wait."""

Vocabulary = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Per context the keys that may stand there, with what :class:`~drr.ui.editor.key_help.KeyHelp` says of them."""

POLICY_VOCABULARY: Vocabulary = {
    context: {key: asdict(each) for key, each in keys.items()} for context, keys in KEY_HELP.items()
}


@dataclass(frozen=True, slots=True)
class EditorState:
    """What is in the editor: its text, how often Python has replaced it, and whether a run was asked for just now.

    ``run_requested`` is True once for each Ctrl+Enter (or Cmd+Enter).
    """

    text: str
    rev: int
    run_requested: bool


def editor_text(key: str, default: str = "") -> str:
    """The newest text of the editor called ``key``: to be read before it is rendered, and in callbacks.

    ``default`` is returned as long as there is no such editor.
    """
    exchange = _exchange(key)
    return default if exchange is None else exchange.text


def put_text(key: str, text: str) -> None:
    """Replace the text of the editor called ``key``, from a callback or before the editor is rendered.

    In the browser it becomes one step of the undo history; the cursor stays, and so does newer typing elsewhere.
    """
    exchange = _exchange(key)
    if exchange is None:
        st.session_state[_slot(key)] = Exchange(text)
    else:
        exchange.put(text)


def yaml_editor(
    text: str,
    *,
    diagnostics: Iterable[Diagnostic] = (),
    key: str,
    label: str,
    height: int = 440,
    vocabulary: Vocabulary | None = None,
    debounce_ms: int = DEBOUNCE_MS,
    on_change: Callable[[], None] | None = None,
) -> EditorState:
    """Show the editor and return what is in it.

    ``text`` is what it should hold. Pass ``editor_text(key, initial)``, or simply what the last call returned; any
    other text replaces the one in the browser, as :func:`put_text` does. ``diagnostics`` belong to
    ``editor_text(key, text)``. ``height`` is in pixels. ``vocabulary`` is what completion and help know; without one
    there is neither. ``on_change`` is called, before the script runs, when the user has changed the text;
    :func:`editor_text` has it then. Works inside of a fragment.
    """
    exchange = _exchange(key)
    if exchange is None:
        exchange = st.session_state[_slot(key)] = Exchange(text, shown=text)
    exchange.show(text)
    data = {
        "text": exchange.text,
        "seq": exchange.seq,
        "rev": exchange.rev,
        "findings": marks(exchange.text, diagnostics),
        # Once the browser has sent an edit it has the vocabulary, which is most of what there is to send.
        "vocabulary": None if st.session_state.get(key) else vocabulary,
        "suggests": vocabulary is not None,
        "key": key,
        "label": label,
        "height": height,
        "debounce_ms": debounce_ms,
    }

    def edited() -> None:
        before = exchange.text
        _exchange(key)
        if on_change is not None and exchange.text != before:
            on_change()

    _component()(key=key, data=data, on_edit_change=edited)
    return EditorState(exchange.text, exchange.rev, exchange.take_run())


@cache
def _component() -> Callable[..., Any]:
    """The declared component; not made at import, when no runtime may be there that knows the declaration.

    Not in a shadow root: there, CodeMirror takes a pointer on its tooltips for one that has left them.
    """
    component: Callable[..., Any] = st.components.v2.component("ringside.editor", js="editor.js", isolate_styles=False)
    return component


def _slot(key: str) -> str:
    return f"{key}:exchange"


def _exchange(key: str) -> Exchange | None:
    """The conversation with the editor called ``key``, once it has been rendered, with the browser's latest text."""
    exchange: Exchange | None = st.session_state.get(_slot(key))
    if exchange is not None:
        state: Any = st.session_state.get(key)
        exchange.take(state.get("edit") if state else None)
    return exchange
