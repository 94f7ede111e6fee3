"""Changes of quanta, thresholds and limits, from what a person entered to the policy text.

Only the number changes; every other character of the text stays (see :mod:`drr.policy.edits`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, TypeGuard

from drr.errors import PolicyError
from drr.policy.diagnostics import joined
from drr.policy.edits import joined_path, scale_quanta, set_value
from drr.policy.lint import LIMITS
from drr.policy.schema import MAX_UNSIGNED, Profile

WHOLE_KEYS = ("quantum", "prefill_busy_threshold", *LIMITS)
SHARE_KEYS = ("prefill_busy_threshold_frac", "busy_worker_ratio")
KEYS = (*WHOLE_KEYS, *SHARE_KEYS)

_LARGEST_NUMBER = 2**53 - 1  # JavaScript counts no further
_GROUPED = re.compile(r"\d{1,3}([ ,_'\u00a0\u2009\u202f]\d{3})+")
_SEPARATORS = re.compile(r"[ ,_'\u00a0\u2009\u202f]")


def profile_path(model: str | None, models: Mapping[str, Profile]) -> str:
    """Where the profile that serves ``model`` stands in the file; "" for the root profile."""
    return joined("models", model) if model is not None and model in models else ""


def new_edits(sent: object, done: int) -> list[Mapping[str, Any]]:
    """The edits in a message of the browser that come after number ``done``, in order; what makes no sense is left out.

    They have the form that :func:`edited` takes, and a number ``seq``.
    """
    edits = [each for each in sent if _is_edit(each)] if isinstance(sent, list) else []
    return sorted(
        {each["seq"]: each for each in edits if each["seq"] > done}.values(), key=lambda each: int(each["seq"])
    )


def _is_edit(edit: object) -> TypeGuard[dict[str, Any]]:
    if not isinstance(edit, dict) or type(edit.get("seq")) is not int or not 0 < edit["seq"] <= _LARGEST_NUMBER:
        return False
    if edit.get("what") == "scale":
        return all(type(edit.get(name)) is int and 0 < edit[name] <= MAX_UNSIGNED for name in ("up", "down"))
    return edit.get("what") == "set" and all(isinstance(edit.get(name), str) for name in ("name", "key", "text"))


def edited(text: str, edit: Mapping[str, Any], profile: Profile, path: str = "") -> str:
    """``text`` with one edit of the sliders applied; ``profile`` is what the text says at ``path`` now.

    An edit is ``{"what": "scale", "up": 5, "down": 4}`` for all quanta, or ``{"what": "set", "name": class, "key": key,
    "text": what was entered, "keep": whether all quanta keep their ratio}``. Raises :class:`PolicyError` with a
    sentence for people.
    """
    if edit["what"] == "scale":
        return scale_quanta(text, Fraction(edit["up"], edit["down"]), profile=path)
    name, key = edit["name"], edit["key"]
    index = next((i for i, each in enumerate(profile.classes) if each.name == name), None)
    if index is None or key not in KEYS:
        raise PolicyError(f"the policy has no class {name!r} any more")
    value = entered(edit["text"], name, key)
    if edit.get("keep") and isinstance(value, int):
        text = scale_quanta(text, Fraction(value, profile.classes[index].quantum), profile=path)
    return set_value(text, f"{joined_path(path, 'policy_classes')}[{index}].{key}", value)


def entered(text: str, name: str, key: str) -> int | float | None:
    """The number a person entered for a key of class ``name``; None for an empty field, which takes the key out."""
    plain = text.strip()
    if not plain and key != "quantum":
        return None
    if key in SHARE_KEYS:
        return _share(plain, name, key)
    digits = _SEPARATORS.sub("", plain) if _GROUPED.fullmatch(plain) else plain
    least = 1 if key == "quantum" else 0
    if not digits.isascii() or not digits.isdigit() or not least <= int(digits[:40]) <= MAX_UNSIGNED:
        raise PolicyError(f"{key} of {name}: “{plain[:40]}” is no whole number from {least} to {MAX_UNSIGNED:,}")
    return int(digits)


def _share(plain: str, name: str, key: str) -> float:
    try:
        value = float(plain)
    except ValueError:
        value = math.nan
    is_ratio = key == "busy_worker_ratio"
    if not (0 < value <= 1 if is_ratio else 0 <= value < math.inf):
        allowed = "number above 0, at most 1" if is_ratio else "number of at least 0"
        raise PolicyError(f"{key} of {name}: “{plain[:40]}” is no {allowed}")
    return value
