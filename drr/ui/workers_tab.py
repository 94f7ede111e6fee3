"""The Workers tab: how many there are, their engine, the cursor rule."""

from __future__ import annotations

import streamlit as st

from drr.scheduler.ring import CURSOR_RULES

RULE_TEXTS = {
    "documented": "as Dynamo documents it",
    "carry": "as the shipped router does it (carry)",
}


def show() -> None:
    """Draw the tab."""
    st.radio(
        "Cursor rule",
        CURSOR_RULES,
        key="lab:cursor_rule",
        format_func=RULE_TEXTS.__getitem__,
        help="The other rule's result always stands beside.",
    )
    left, right = st.columns(2)
    left.number_input("Workers", 1, 64, key="lab:workers")
    right.number_input(
        "max_num_seqs", 1, 100_000, key="lab:max_num_seqs", help="Requests a worker runs at the same time."
    )
    left.number_input(
        "max_num_batched_tokens", 1, 10_000_000, key="lab:max_num_batched_tokens", help="Tokens of one engine pass."
    )
    right.number_input("block_size, tokens", 2, 1_000_000, key="lab:block_size")
    left.number_input("num_gpu_blocks", 1, 100_000_000, key="lab:num_gpu_blocks", help="KV blocks of one worker.")
    right.number_input("Arrival speed-up", 0.001, 1000.0, key="lab:speedup", format="%g")
    left.toggle("Prefix caching", key="lab:prefix_caching")
    right.toggle("Chunked prefill", key="lab:chunked_prefill")
    left.number_input("Seed (ties)", 0, 2**31, key="lab:seed", help="Breaks ties between equally cheap workers.")
