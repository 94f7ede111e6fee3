"""Where the project is, and what may be skipped where."""

from __future__ import annotations

import importlib.util
import os
import platform
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parent.parent
IN_CI = os.environ.get("CI", "").lower() in {"1", "true", "yes"}


def skip_or_fail(reason: str, *, must_be_here: bool = IN_CI) -> NoReturn:
    """Skip the running test, or fail it where what it needs has to be there: by default, in CI."""
    if must_be_here:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def the_real_router_is_installed() -> bool:
    """Whether the real router's wheel is here; looks for its native module without loading it."""
    try:
        return importlib.util.find_spec("dynamo._core") is not None
    except ModuleNotFoundError:
        return False


def a_router_wheel_exists_for_this_machine() -> bool:
    """Whether the real router can be installed on this kind of machine at all."""
    return platform.system() == "Linux" and platform.machine() in {"x86_64", "aarch64"}
