"""The bridge to the real router: the offline replay and the policy loader of Dynamo's own wheel, run beside ours.

The wheel (``ai-dynamo-runtime``, Linux only) is optional. Nothing here imports it in this process: it is native code
that holds the interpreter while it works, so it always runs in a process of its own
(:mod:`drr.dynamo._replay_child`). Without it every entry point raises :class:`RouterUnavailableError`.
"""

from __future__ import annotations

from drr.dynamo.case import ObservedRow, ReplayAnswer, ReplayCase, with_row_identity
from drr.dynamo.process import RouterProcess, RouterUnavailableError, router_unavailable_because, router_version
from drr.dynamo.replay import replay_many, replay_real, time_trace_file

__all__ = [
    "ObservedRow",
    "ReplayAnswer",
    "ReplayCase",
    "RouterProcess",
    "RouterUnavailableError",
    "replay_many",
    "replay_real",
    "router_unavailable_because",
    "router_version",
    "time_trace_file",
    "with_row_identity",
]
