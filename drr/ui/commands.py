"""How to use the policy with the real router: commands to copy."""

from __future__ import annotations

import json
import shlex

import streamlit as st

from drr.policy.schema import Profile
from drr.ui.catch_up import note_due

FILE_NAME = "policy-classes.yaml"
_MODEL = "your-model"


def start_command(file_name: str = FILE_NAME) -> str:
    """What starts a frontend with this policy."""
    return (
        "python -m dynamo.frontend --router-mode kv --load-aware \\\n"
        f"  --router-policy-config {shlex.quote(f'./{file_name}')}"
    )


def request_command(family: str, model: str | None = None) -> str:
    """A request of a policy family (or explicit class) to a frontend on this machine."""
    body = json.dumps({"model": model or _MODEL, "prompt": "Hello", "max_tokens": 16})
    return (
        "curl http://localhost:8000/v1/completions \\\n"
        "  -H 'Content-Type: application/json' \\\n"
        f"  -H {shlex.quote(f'x-dynamo-meta-policy-class: {family}')} \\\n"
        f"  -d {shlex.quote(body)}"
    )


def show(profile: Profile, *, model: str | None, file_name: str = FILE_NAME) -> None:
    """Draw them: one command to start, one request per family and explicit class."""
    names = [*profile.families, *(each.name for each in profile.classes if each.is_explicit)]
    # What draws code takes the browser half a second to load, so it is not there before somebody looks.
    panel = st.expander("Use it with the real router", on_change=note_due)
    if not panel.open:
        return
    with panel:
        st.caption("Start the frontend with this policy:")
        st.code(start_command(file_name), language="bash", wrap_lines=True)
        if names:
            others = [name for name in names if name != profile.default_policy_family]
            chosen = st.selectbox("Policy family of a request", [*others, profile.default_policy_family])
            st.code(request_command(chosen, model), language="bash", wrap_lines=True)
            st.caption(
                f"Without the header, or with an unknown name in it, a request is {profile.default_policy_family}."
            )
