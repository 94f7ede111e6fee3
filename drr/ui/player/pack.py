"""Everything the player needs of one run in one theme, as one blob: the run's columns, and the stage at every width."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from drr.charts.palette import Theme, class_styles
from drr.charts.stage import stage_json, tone_look
from drr.charts.stage_layout import stage_layout
from drr.charts.stage_plan import StageLayout
from drr.charts.stage_traces import worker_spot
from drr.charts.stage_values import stage_values
from drr.charts.survey import survey
from drr.scheduler.calls import BULK_RULES, CARRY_RULES, QUANTUM_RULES, WINNING_RULES, VisitRule
from drr.simulation.recording import Run
from drr.ui.player.blob import Array, is_wide, write_blob
from drr.ui.player.columns import (
    bulk_calls,
    call_columns,
    cluster_edits,
    lane_ranks,
    request_columns,
    step_columns,
    token_columns,
)

WIDTHS = (360, 460, 580, 720, 900, 1100, 1340)
"""The widths, in pixels, the stage is laid out for; the browser takes the widest that fits and enlarges it."""

_Key = tuple[str, tuple[tuple[str, int], ...]]
_PACKS: WeakKeyDictionary[Run, dict[_Key, bytes]] = WeakKeyDictionary()
_IDS: WeakKeyDictionary[Run, str] = WeakKeyDictionary()
_LOCK = Lock()


def pack(run: Run, theme: Theme, *, keep: Mapping[str, int] | None = None) -> bytes:
    """The blob of a recorded run, for ``assets/run.js``; made once per run and theme and kept as long as the run.

    ``keep`` are class slots to hold on to (:func:`drr.charts.palette.class_slots`). Raises ValueError for a run that
    was made without recording.
    """
    key = (theme.name, tuple(sorted((keep or {}).items())))
    with _LOCK:
        packs = _PACKS.setdefault(run, {})
        if key not in packs:
            packs[key] = _pack(run, theme, keep)
        return packs[key]


def pack_id(run: Run) -> str:
    """What the blobs of a run are called: a digest of its records, equal for runs that look the same."""
    with _LOCK:
        if run not in _IDS:
            _IDS[run] = _digest(run, *_columns(run))
        return _IDS[run]


def _columns(run: Run) -> tuple[dict[str, Any], dict[str, Array]]:
    numbers, columns = _numbers(run)
    return numbers, columns | {**step_columns(run), **call_columns(run), **request_columns(run), **lane_ranks(run)}


def _pack(run: Run, theme: Theme, keep: Mapping[str, int] | None) -> bytes:
    numbers, columns = _columns(run)
    if run not in _IDS:
        _IDS[run] = _digest(run, numbers, columns)
    styles = class_styles(run.class_names, theme, keep=keep)
    colours = {name: getattr(theme, name) for name in ("name", "ground", "ink", "muted", "grid", "warn")}
    header = {
        "id": _IDS[run],
        **numbers,
        "rules": [_rule(rule) for rule in VisitRule],
        "labels": [name or 0 for name in run.requests.name] if any(run.requests.name) else [],
        "runs_at_once": run.inputs.runs_at_once,
        "busy_worker_ratios": [c.busy_worker_ratio for c in run.profile.classes],
        "cluster": cluster_edits(run),
        "theme": colours,
        "tones": [tone_look(theme, tone) for tone in range(3)],
        "classes": [{"colour": styles[n].colour, "symbol": styles[n].symbol} for n in run.class_names],
        **_stages(run, theme, keep),
    }
    return write_blob(header, columns)


def _stages(run: Run, theme: Theme, keep: Mapping[str, int] | None) -> dict[str, Any]:
    """The stage before the first step at every width, and the plan that says where its values go."""
    facts = survey(run)
    state = run.state_at(-1)
    stages = []
    for width in WIDTHS:
        layout = stage_layout(facts, width=width)
        figure = stage_json(layout, stage_values(layout, state, run.cost_tokens), theme=theme, keep=keep)
        stages.append({"figure": figure, "plan": plan_json(layout)})
    shown = {
        "class_names": facts.class_names,
        "endpoint_names": facts.endpoint_names,
        "most_waiting": facts.most_waiting,
    }
    return {"survey": shown, "stages": stages}


def plan_json(layout: StageLayout) -> dict[str, Any]:
    """A layout as plain data, without the survey."""
    parts = {name: asdict(getattr(layout, name)) for name in ("ring", "lanes", "deficits", "workers")}
    spots = [worker_spot(layout.workers, row) for row in range(len(layout.workers.names))]
    return {"width": layout.width, "height": layout.height, **parts, "worker_spots": spots}


def _rule(rule: VisitRule) -> dict[str, Any]:
    return {
        "name": rule.name,
        "isWinning": rule in WINNING_RULES,
        "isQuantum": rule in QUANTUM_RULES,
        "isBulk": rule in BULK_RULES,
        "isCarry": rule in CARRY_RULES,
    }


def _numbers(run: Run) -> tuple[dict[str, Any], dict[str, Array]]:
    """Token figures: as columns, or where a browser's numbers do not hold them exactly, as texts."""
    quanta = [c.quantum for c in run.profile.classes]
    calls = run.recorder.calls if run.recorder is not None else None
    rounds = [calls.rounds[call] for call in bulk_calls(run)] if calls is not None else []
    cost, prefill = run.cost_tokens, run.outcomes.prefill_tokens
    # No deficit is above all that was ever granted, no sum of waiting or active tokens above the sum of all requests.
    granted = max(quanta) * (max(rounds, default=0) + run.n_steps)
    bounds = (granted, sum(cost), sum(prefill))
    if not is_wide(bounds):
        return {"wide": False, "quanta": quanta, "bulk_rounds": rounds}, token_columns(run)
    texts = {"quanta": quanta, "bulk_rounds": rounds, "row_cost": cost, "row_prefill": prefill}
    return {"wide": True, **{name: [str(n) for n in numbers] for name, numbers in texts.items()}}, {}


def _digest(run: Run, numbers: Mapping[str, Any], columns: Mapping[str, Array]) -> str:
    digest = hashlib.blake2b(repr((run.class_names, run.cursor_rule, numbers)).encode(), digest_size=12)
    for name, values in columns.items():
        digest.update(name.encode())
        digest.update(values.tobytes())
    return digest.hexdigest()
