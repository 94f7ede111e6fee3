"""First tokens, completions and worker changes in words: what load came back, and what that made possible."""

from __future__ import annotations

from collections import Counter

from drr.analysis.explain_waiting import Scene, blocked_classes, blocked_clauses
from drr.analysis.explain_words import AT_MOST, first_up, folded, label, number, verb
from drr.analysis.words import counted, listing
from drr.simulation.cluster import EndpointChange
from drr.simulation.state import CALL_KINDS, StepKind


def completion_headline(scene: Scene) -> str:
    """``request 5 (premium) is done on worker 0.``; a request the engine refused is told apart."""
    state = scene.after
    who = f"{label(scene.run, state.request)} ({scene.name(state.class_index)})"
    where = scene.endpoint(state.endpoint)
    if state.request in scene.run.refused_by_engine:
        return f"Refused by the engine: {who} on {where}."
    return f"Completion: {who} is done on {where}."


def signal_text(scene: Scene) -> str:
    """A first token or completion: the load that came back, who may go again, what the next calls did."""
    return " ".join(f"{sentence}." for sentence in (_load_text(scene), _freed_text(scene)))


def _load_text(scene: Scene) -> str:
    state = scene.after
    name = scene.endpoint(state.endpoint)
    held = scene.before.endpoints[state.endpoint].active_prefill_tokens
    holds = state.endpoints[state.endpoint].active_prefill_tokens
    how = ""
    if state.kind == StepKind.COMPLETION:
        recorder = scene.run.recorder
        if recorder is not None and recorder.had_first_token[state.request]:
            return f"Its prefill load left {name} with its first token; {name} holds {number(holds)} tokens as before"
        if state.request in scene.run.refused_by_engine:
            how = "It does not fit the KV pool or the model length and ends without a token; "
        elif scene.run.first_token_ms[state.request] is None:
            how = "It ends without a token; "
        else:
            how = "Its first token is its last; "
    load = counted(held - holds, "prefill token")
    start = f"{how}its {load}" if how else f"Its {load}"
    leaves = verb(held - holds, "leaves", "leave")
    return f"{start} {leaves} {name}, which held {number(held)} and now holds {number(holds)}"


def _freed_text(scene: Scene) -> str:
    """Which classes may go again, or what the blocked ones wait for still, and what the next calls let go."""
    state = scene.after
    if not any(each.waiting_requests for each in state.classes):
        return "Nothing waits in any class"
    freed = [i for i in blocked_classes(scene.before) if not state.classes[i].is_blocked]
    if freed:
        endpoint = state.endpoints[state.endpoint]
        groups: dict[int | None, list[str]] = {}
        for index in freed:
            groups.setdefault(endpoint.limits_tokens[index], []).append(scene.name(index))
        load = number(endpoint.active_prefill_tokens)
        # Only this endpoint's load fell, so it is this endpoint that is no longer busy for them.
        words = [f"{folded(names)} ({load} {AT_MOST} {number(limit or 0)} tokens)" for limit, names in groups.items()]
        text = f"{folded(words)} may go again"
    else:
        text = _still_blocked(scene)
    return f"{text}; {_next_calls(scene)}"


def _still_blocked(scene: Scene) -> str:
    blocked = blocked_classes(scene.after)
    if blocked:
        return "; ".join(blocked_clauses(scene, blocked, adverb="still "))
    waiting = [scene.name(i) for i, each in enumerate(scene.after.classes) if each.waiting_requests]
    return f"{folded(waiting)} {verb(len(waiting), 'waits', 'wait')} with a head that may go"


def _next_calls(scene: Scene) -> str:
    """What the arbitration calls right after the step let go."""
    run = scene.run
    gone: Counter[int] = Counter()
    errors = 0
    step = scene.after.step + 1
    while step < run.n_steps and run.kinds[step] in CALL_KINDS:
        if run.kinds[step] == StepKind.DECISION:
            gone[run.class_index[run.step_request[step]]] += 1
        errors += run.kinds[step] == StepKind.HEAD_ERROR
        step += 1
    if step == scene.after.step + 1:
        return "no call follows"
    failed = f"{counted(errors, 'head')} {verb(errors, 'ends', 'end')} in an error" if errors else ""
    if not gone:
        return f"in the next calls {failed}" if errors else "the call that follows finds nothing to dispatch"
    failed = f", and {failed}" if errors else ""
    classes = [f"{number(gone[i])} of {scene.name(i)}" for i in sorted(gone)]
    if len(classes) == 1:
        only = next(iter(gone))
        return f"the next calls let {counted(gone[only], 'request')} of {scene.name(only)} go{failed}"
    return (
        f"the next calls let {listing(classes) if len(classes) <= 3 else counted(gone.total(), 'request')} go{failed}"
    )


# --- changes of the cluster ------------------------------------------------------------------------------------


def _change(scene: Scene) -> EndpointChange:
    recorder = scene.run.recorder
    assert recorder is not None, "a run with steps has a recorder"
    return recorder.changes[scene.after.step]


def _worker(scene: Scene, change: EndpointChange) -> str:
    return f"worker {scene.run.inputs.endpoint_keys[change.endpoint][0]}"


def change_headline(scene: Scene) -> str:
    """What changed, in a few words."""
    change = _change(scene)
    name = first_up(scene.endpoint(change.endpoint))
    worker = first_up(_worker(scene, change))
    if change.what == "join":
        return f"{worker} joins."
    if change.what == "leave":
        return f"{worker} leaves."
    if change.what == "held":
        return f"{name} is held busy." if change.value else f"{name} is let go."
    return f"{name} is overloaded." if change.value else f"{name} is no longer overloaded."


def change_text(scene: Scene) -> str:
    """A change of the cluster: what it means for endpoints, for the heads that wait, and what the next calls did."""
    change = _change(scene)
    state = scene.after
    endpoint = state.endpoints[change.endpoint]
    there = sum(each.is_present for each in state.endpoints)
    total = f"{counted(there, 'endpoint')} {verb(there, 'is', 'are')} there now"
    held = counted(endpoint.active_prefill_tokens, "prefill token")
    if change.what == "join" and change.worker is not None:
        ranks = counted(change.worker.dp_size, "dp rank")
        first = f"It brings {ranks}, busy by fraction of {number(change.worker.max_num_batched_tokens)} tokens; {total}"
    elif change.what == "leave":
        first = f"Nothing that waits is thrown out and what it holds goes on; {total}"
    elif change.what == "held":
        after = "counts as busy for every class, whatever it carries" if change.value else "is busy by its load again"
        first = f"It holds {held} and {after}"
    else:
        after = "is out of every choice until that is over" if change.value else "may be chosen again"
        first = f"It holds {held} and {after}"
    return " ".join(f"{sentence}." for sentence in (first, _effect(scene)))


def _effect(scene: Scene) -> str:
    state = scene.after
    if not any(each.waiting_requests for each in state.classes):
        return "Nothing waits in any class"
    before, after = blocked_classes(scene.before), blocked_classes(state)
    new = [i for i in after if i not in before]
    freed = [scene.name(i) for i in before if i not in after]
    if new:
        text = "; ".join(blocked_clauses(scene, new, adverb="now "))
    elif freed:
        text = f"{folded(freed)} {verb(len(freed), 'is', 'are')} no longer blocked"
    else:
        text = _still_blocked(scene)
    return f"{text}; {_next_calls(scene)}"
