"""The hand-over: an experiment as files that the real router takes, with the command lines to run it."""

from __future__ import annotations

import io
import json
import shlex
import zipfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from drr.analysis.words import counted
from drr.dynamo.case import ReplayCase
from drr.dynamo.probe_plan import (
    CLASS_HEADER,
    MOST_OUTPUT_TOKENS,
    MOST_PROMPT_TOKENS,
    MOST_REQUESTS,
    MOST_TOKENS,
)
from drr.dynamo.process import CHECKED_VERSION, WHEEL

POLICY_FILE, TRACE_FILE, SCRIPT_FILE, COMMANDS_FILE = "policy.yaml", "trace.jsonl", "replay_real.py", "COMMANDS.md"
LIVE_PORT = 8123
_ZIP_DATE = (2026, 1, 1, 0, 0, 0)

_MOCKER_FLAGS = {
    "max_num_seqs": "--max-num-seqs",
    "max_num_batched_tokens": "--max-num-batched-tokens",
    "block_size": "--block-size",
    "num_gpu_blocks": "--num-gpu-blocks-override",
    "max_model_len": "--max-model-len",
    "speedup_ratio": "--speedup-ratio",
    "decode_speedup_ratio": "--decode-speedup-ratio",
}
_MOCKER_SWITCHES = {
    "enable_prefix_caching": "--no-enable-prefix-caching",
    "enable_chunked_prefill": "--no-enable-chunked-prefill",
}

_SCRIPT = '''\
"""Replay {trace} on the real router, offline. Needs: pip install {wheel}=={version} (Linux)."""

import json
import os

os.environ.setdefault("DYN_LOG", "error")
from dynamo._core import KvRouterConfig, run_mocker_trace_replay

result = run_mocker_trace_replay(
    ["{trace}"],
    router_mode="kv_router",
    num_workers={workers},
    router_config={config},
    trace_block_size={block},
    extra_engine_args={engine},
    capture_per_request=True,{options}
)
print(json.dumps(result.summary, indent=2, default=str))
with open("real_rows.jsonl", "w", encoding="utf-8") as out:
    for row in result.per_request:
        out.write(json.dumps(row, default=str) + "\\n")
print(len(result.per_request), "rows in real_rows.jsonl, in no particular order")
'''

_COMMANDS = """\
# The experiment on the real router

Files: {files}. Run everything in this folder.

## Offline, exactly this trace

```
pip install {wheel}=={version}
python replay_real.py
```

With Ringside, row by row beside its own prediction:

```
{compare}
```

## Live, with the mock engine

How to make the environment and the model folder: docs/real-router.md of Ringside.

```
export DYN_DISCOVERY_BACKEND=file DYN_FILE_KV=$PWD/kv DYN_REQUEST_PLANE=tcp DYN_EVENT_PLANE=zmq HF_HUB_OFFLINE=1
{mocker} &
{frontend} &
```

A client names the class of a request in the header `{header}`. The same number of requests per class, sent at once:

```
{probe}
```
{notes}"""


@dataclass(frozen=True, slots=True)
class CommandLines:
    """What to type to run a case elsewhere; each is one line of a shell."""

    compare: str
    """Ours beside the offline replay."""
    mocker: str
    frontend: str
    probe: str


def command_lines(case: ReplayCase) -> CommandLines:
    """The command lines of a case, for a folder that holds its files."""
    policy = ["--policy", POLICY_FILE] if case.policy_yaml else []
    compare = ["python", "-m", "drr", "compare-real", *policy, "--trace", TRACE_FILE]
    if case.workers != 1:
        compare += ["--workers", str(case.workers)]
    for name, value in case.engine.items():
        compare += ["--engine", f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
    if case.trace_block_size != 512:
        compare += ["--trace-block-size", str(case.trace_block_size)]
    if "model_name" in case.options:
        compare += ["--model", case.options["model_name"]]
    if "arrival_speedup_ratio" in case.options:
        compare += ["--speedup", str(case.options["arrival_speedup_ratio"])]
    model = str(case.options.get("model_name", "m"))
    mocker = ["python", "-m", "dynamo.mocker", "--model-path", "model", "--model-name", model]
    if case.workers != 1:
        mocker += ["--num-workers", str(case.workers)]
    frontend = ["python", "-m", "dynamo.frontend", "--http-host", "127.0.0.1", "--http-port", str(LIVE_PORT)]
    frontend += ["--router-mode", "kv", *([] if case.engine.get("enable_prefix_caching", True) else ["--load-aware"])]
    if case.policy_yaml:
        frontend += ["--router-policy-config", POLICY_FILE]
    return CommandLines(
        shlex.join(compare),
        shlex.join(mocker + _mocker_flags(case.engine)),
        shlex.join(frontend),
        shlex.join(_probe(case, model)),
    )


def _mocker_flags(engine: Mapping[str, Any]) -> list[str]:
    flags: list[str] = []
    for name, value in engine.items():
        if name in _MOCKER_FLAGS:
            flags += [_MOCKER_FLAGS[name], str(value)]
        elif name in _MOCKER_SWITCHES and value is False:
            flags.append(_MOCKER_SWITCHES[name])
    return flags


def _probe(case: ReplayCase, model: str) -> list[str]:
    """A probe like the trace: its classes in their proportions, its usual prompt length, within a probe's limits."""
    outputs = Counter(row["output_length"] for row in case.rows)
    command = ["python", "-m", "drr", "probe", f"http://127.0.0.1:{LIVE_PORT}", "--model", model]
    for name, count in sorted(_probe_counts(case).items()):
        command += ["--class", f"{name}={count}"] if name else ["--count", str(count)]
    command += ["--tokens", str(_probe_tokens(case))]
    output_tokens = min(outputs.most_common(1)[0][0], MOST_OUTPUT_TOKENS)
    return command + (["--output-tokens", str(output_tokens)] if output_tokens > 1 else [])


def _probe_tokens(case: ReplayCase) -> int:
    """The usual prompt length, as far as a probe may send it."""
    usual: int = Counter(row["input_length"] for row in case.rows).most_common(1)[0][0]
    return min(usual, MOST_PROMPT_TOKENS)


def _probe_counts(case: ReplayCase) -> dict[str, int]:
    """Requests of a probe per class, at least one of each; under an empty name where no row has a class."""
    counts = Counter(str(row.get("policy_class") or "") for row in case.rows)
    if len(counts) > 1:
        del counts[""]
    most = min(MOST_REQUESTS, MOST_TOKENS // _probe_tokens(case))
    chosen = dict(counts.most_common(most))
    more = sum(chosen.values()) - len(chosen)
    room = min(more, most - len(chosen))
    return {name: 1 + (count - 1) * room // max(more, 1) for name, count in chosen.items()}


def replay_script(case: ReplayCase) -> str:
    """A Python script that replays the case's files on the real router, without Ringside."""
    options = "".join(f"\n    {name}={value!r}," for name, value in case.options.items())
    return _SCRIPT.format(
        trace=TRACE_FILE,
        wheel=WHEEL,
        version=CHECKED_VERSION,
        workers=case.workers,
        config=f'KvRouterConfig(router_policy_config="{POLICY_FILE}")' if case.policy_yaml else "KvRouterConfig()",
        block=case.trace_block_size,
        engine={"engine": dict(case.engine)},
        options=options,
    )


def commands_text(case: ReplayCase) -> str:
    """The command lines with a word on each, as Markdown."""
    lines = command_lines(case)
    notes = []
    if "timing_model" in case.engine:
        notes.append("The live mock engine has no fixed pass times; it takes its own.")
    lengths = {row["input_length"] for row in case.rows}
    if len(lengths) > 1:
        span = f"{min(lengths):,} to {max(lengths):,}"
        notes.append(f"The probe sends prompts of one length; those of the trace are {span} tokens long.")
    counts, unnamed = _probe_counts(case), sum(not row.get("policy_class") for row in case.rows)
    if unnamed and "" not in counts:
        notes.append(f"{counted(unnamed, 'request')} of the trace name no class; the probe sends none like them.")
    sent, asked = sum(counts.values()), len(case.rows) - (0 if "" in counts else unnamed)
    if sent < asked:
        notes.append(f"A probe has limits: it sends {sent:,} requests where the trace has {asked:,}.")
    files = [*([POLICY_FILE] if case.policy_yaml else []), TRACE_FILE, SCRIPT_FILE]
    return _COMMANDS.format(
        files=", ".join(f"`{name}`" for name in files),
        wheel=WHEEL,
        version=CHECKED_VERSION,
        compare=lines.compare,
        mocker=lines.mocker,
        frontend=lines.frontend,
        probe=lines.probe,
        header=CLASS_HEADER,
        notes="".join(f"\n{note}\n" for note in notes),
    )


def handover_files(case: ReplayCase) -> dict[str, str]:
    """Every file of the hand-over by name; without a policy text there is no policy file."""
    files = {POLICY_FILE: case.policy_yaml} if case.policy_yaml else {}
    return files | {
        TRACE_FILE: case.trace_text(),
        SCRIPT_FILE: replay_script(case),
        COMMANDS_FILE: commands_text(case),
    }


def handover_zip(case: ReplayCase) -> bytes:
    """The hand-over as one zip file; equal cases give equal bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in handover_files(case).items():
            archive.writestr(zipfile.ZipInfo(name, _ZIP_DATE), text, zipfile.ZIP_DEFLATED)
    return out.getvalue()
