"""Random damage to valid policy files, and the real loader's verdict on the result.

Mutants depend on their seed alone. Some are damaged as text (characters, lines, spellings of scalars), some as data
(keys moved, types changed) and written back in another style; about a third of them stay valid.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Any

from drr.dynamo.case import ReplayCase
from drr.dynamo.policy_seeds import KEYS, SCALARS, SEED_DATA, SEED_FILES
from drr.dynamo.process import RouterProcess
from drr.policy.schema import PolicyDocument

TAGS = (
    "!!str",
    "!!int",
    "!!float",
    "!!bool",
    "!!null",
    "!!map",
    "!!seq",
    "!custom",
    "!",
    "!<tag:x>",
    "!!binary",
    "!a!b",
)
TYPOS = ("Quantum", "quantam", "weight", "quantums", "queue-policy", "min_token", "busy_worker", "policy_classes ", "_")
CHARACTERS = "\t \n:#-?,[]{}&*!|>'\"%@`~\\\r\u00a0\u0085\u2028\ufeff\x00\x07\x7f\u00e9\u65e5\U0001f600"

_Lines = list[str]


def random_policy(seed: int) -> bytes:
    """The mutant ``seed``: a valid policy file with one to three kinds of damage; the same on every machine."""
    rng = Random(f"policy/{seed}")
    text = rng.choice(SEED_FILES)
    if rng.random() < 0.35:
        text = _mutate_data(rng, deepcopy(rng.choice(SEED_DATA)))
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        text = _mutate_text(rng, text)
    # Whether the real loader takes a byte-order mark hangs on the layout after it; it is left out on purpose.
    return text.lstrip("\ufeff").encode("utf-8", "surrogateescape")


def real_verdict(text: bytes, router: RouterProcess) -> str | None:
    """Why the real loader refuses a file, in its own words; ``None`` when it accepts the file."""
    answer = router.ask({"kind": "policy", "policy": text.decode("utf-8", "surrogateescape")})
    reason: str | None = answer["rejected_because"]
    return reason


def policy_case(text: str, document: PolicyDocument, seed: int) -> ReplayCase:
    """A small replay under a policy file that makes its numbers and names show: every class is asked for, under load.

    Prompts are about as long as the floors and thresholds in the file; one model of the file is chosen at random.
    """
    rng = Random(f"meaning/{seed}")
    models = [*([None] if document.root else []), *document.models]
    model = rng.choice(models)
    profile = document.profile_for(model)
    figures = [bucket.min_tokens for bucket in profile.buckets]
    figures += [c.prefill_busy_threshold for c in profile.classes if c.prefill_busy_threshold is not None]
    scale = rng.choice([figure for figure in figures if 0 < figure < 20_000] or [500])
    lengths = rng.sample(range(1, 3 * scale + 80), 60)
    pace_ms = rng.choice((0, 1))
    headers = [*profile.families, *(c.name for c in profile.classes), "nobody"]
    rows = [
        {
            "timestamp": line * pace_ms,
            "input_length": length,
            "output_length": 1,
            "hash_ids": list(range(1000 * line, 1000 * line + -(-length // 64))),
            "policy_class": rng.choice(headers),
        }
        for line, length in enumerate(lengths)
    ]
    engine = {"max_num_seqs": 2, "block_size": 64, "max_num_batched_tokens": 2048, "enable_prefix_caching": False}
    options = {} if model is None else {"model_name": model}
    return ReplayCase(text, 1, engine, 64, options, tuple(rows), "policy", seed)


def _mutate_text(rng: Random, text: str) -> str:
    if rng.random() < 0.2:
        return rng.choice(_WHOLE)(rng, text)
    lines = text.split("\n")
    rng.choice(_LINEWISE)(rng, lines)
    return "\n".join(lines)


def _some_line(rng: Random, lines: _Lines, needs: str = "") -> int:
    """The number of a random line that contains ``needs``; any line when none does."""
    fit = [i for i, line in enumerate(lines) if line.strip() and needs in line]
    return rng.choice(fit or range(len(lines)))


def _scalar(rng: Random) -> str:
    return rng.choice(SCALARS)


def _replace_value(rng: Random, lines: _Lines) -> None:
    i = _some_line(rng, lines, ": ")
    lines[i] = f"{lines[i].partition(': ')[0]}: {_scalar(rng)}"


def _replace_number(rng: Random, lines: _Lines) -> None:
    i = _some_line(rng, lines, rng.choice(("quantum: ", "threshold: ", "frac: ", "limit_per_worker: ", "min_tokens: ")))
    head, colon, tail = lines[i].partition(": ")
    lines[i] = f"{head}{colon}{_scalar(rng)}{tail[tail.find('}') :] if '}' in tail else ''}"


def _quote_value(rng: Random, lines: _Lines) -> None:
    i = _some_line(rng, lines, ": ")
    head, _, tail = lines[i].partition(": ")
    quote = rng.choice("'\"")
    lines[i] = f"{head}: {quote}{tail}{quote}"


def _tag_value(rng: Random, lines: _Lines) -> None:
    i = _some_line(rng, lines, ": ")
    head, _, tail = lines[i].partition(": ")
    lines[i] = f"{head}: {rng.choice(TAGS)} {tail}"


def _tag_node(rng: Random, lines: _Lines) -> None:
    i = _some_line(rng, lines, rng.choice(("- ", ":")))
    if lines[i].rstrip().endswith(":"):
        lines[i] += f" {rng.choice(TAGS)}"
    else:
        lines[i] = lines[i].replace("- ", f"- {rng.choice(TAGS)} ", 1)


def _anchor_and_alias(rng: Random, lines: _Lines) -> None:
    i, j = sorted((_some_line(rng, lines, ": "), _some_line(rng, lines, ": ")))
    if rng.random() < 0.15:
        i, j = j, i
    head, _, tail = lines[i].partition(": ")
    lines[i] = f"{head}: &a{rng.choice(('', '-b', '.c'))} {tail}"
    anchor = lines[i].partition("&")[2].split(" ")[0]
    if i != j:
        lines[j] = f"{lines[j].partition(': ')[0]}: *{anchor}"


def _alias_block(rng: Random, lines: _Lines) -> None:
    lines[_some_line(rng, lines, ":")] += " &blk"
    lines.append(rng.choice(("models: {m: *blk}", "router: *blk", "router: [*blk, *blk]", "worker_selection: *blk")))


def _damage_key(rng: Random, lines: _Lines) -> None:
    i = _some_line(rng, lines, ":")
    head, _, tail = lines[i].partition(":")
    stem = head.lstrip(" -")
    indent = head[: len(head) - len(stem)]
    change: Callable[[str], str] = rng.choice(
        (
            lambda key: rng.choice(TYPOS),
            lambda key: rng.choice(KEYS),
            lambda key: key.upper(),
            lambda key: key + rng.choice(" s_\t"),
            lambda key: f'"{key}"',
            lambda key: f"'{key}'",
            lambda key: f"? {key}\n{' ' * len(indent)}",
            lambda key: f"!!str {key}",
            lambda key: f"&k {key}",
            lambda key: f"[{key}]",
            lambda key: key[: len(key) // 2] + key[len(key) // 2 + 1 :],
            lambda key: "<<",
            lambda key: f'"{key[:1]}\\x{ord(key[1]):02x}{key[2:]}"' if len(key) > 1 else key,
        )
    )
    lines[i] = f"{indent}{change(stem)}:{tail}"


def _respace(rng: Random, lines: _Lines) -> None:
    i = _some_line(rng, lines)
    line = lines[i]
    indent = len(line) - len(line.lstrip(" "))
    lines[i] = rng.choice(
        (
            line.replace(": ", ":", 1),
            line.replace(": ", ":\t", 1),
            line.replace(": ", ": \t", 1),
            line.replace(": ", " : ", 1),
            line.replace(": ", "\t: ", 1),
            line.replace(": ", ":   ", 1),
            line.replace(": ", ":\n" + " " * (indent + rng.choice((0, 2, 6))), 1),
            line.replace("- ", "-", 1),
            line.replace("- ", "-\t", 1),
            line.replace("- ", "-   ", 1),
            line.replace("- ", "- - ", 1),
            line.replace("- ", "-\n" + " " * (indent + 2), 1),
            line.replace(":", "", 1),
            " " * rng.randint(1, 4) + line,
            line[rng.randint(1, 2) :],
            "\t" + line.lstrip(" "),
            line + rng.choice((" ", "\t", " # c", "# c", "\t# c", " #", "\r", " \t ", ",", " a", ":", " :", " - a")),
        )
    )


def _rearrange(rng: Random, lines: _Lines) -> None:
    i, j = _some_line(rng, lines), _some_line(rng, lines)
    kind = rng.randrange(5)
    if kind == 0:
        del lines[i]
    elif kind == 1:
        lines.insert(i, lines[j])
    elif kind == 2:
        lines[i], lines[j] = lines[j], lines[i]
    elif kind == 3:
        del lines[i : i + rng.randint(1, 6)]
    else:
        lines[i:i] = lines[j : j + rng.randint(1, 8)]


def _insert_line(rng: Random, lines: _Lines) -> None:
    i = _some_line(rng, lines)
    indent = lines[i][: len(lines[i]) - len(lines[i].lstrip(" "))]
    key, scalar = rng.choice(KEYS), _scalar(rng)
    alone = ("", "   ", "\t", "# c", "\t# c", "---", "...", "--- # c", "%YAML 1.2", "%YAML 1.1", "%TAG ! tag:x,2000:")
    nested = ("# c", f"{key}: {scalar}", "- a", "x: 1", f"? {key}", "<<: *x", "null: 1", "1: 1", "~: 1", ": 1", "a")
    inserted = rng.choice((*alone, f"{key}: {scalar}", *(indent + text for text in nested)))
    lines.insert(i, inserted)


def _block_scalar(rng: Random, lines: _Lines) -> None:
    i = _some_line(rng, lines, ": ")
    head, _, tail = lines[i].partition(": ")
    indent = " " * (len(head) - len(head.lstrip(" -")) + rng.choice((0, 2, 2, 2)))
    lines[i] = f"{head}: {rng.choice(('|', '>', '|-', '>-', '|+', '>+', '|2', '|-2', '>9'))}\n{indent}{tail}"


def _damage_character(rng: Random, lines: _Lines) -> None:
    i = _some_line(rng, lines)
    at = rng.randint(0, len(lines[i]))
    drop = rng.choice((0, 0, 1))
    lines[i] = lines[i][:at] + rng.choice(CHARACTERS) * rng.choice((0, 1, 1)) + lines[i][at + drop :]


_LINEWISE: tuple[Callable[[Random, _Lines], None], ...] = (
    _replace_value,
    _replace_number,
    _replace_number,
    _replace_number,
    _quote_value,
    _tag_value,
    _tag_node,
    _anchor_and_alias,
    _alias_block,
    _damage_key,
    _damage_key,
    _respace,
    _respace,
    _rearrange,
    _insert_line,
    _block_scalar,
    _damage_character,
    _damage_character,
)

_WHOLE: tuple[Callable[[Random, str], str], ...] = (
    lambda rng, text: "---\n" + text,
    lambda rng, text: "%YAML 1.2\n---\n" + text,
    lambda rng, text: "%YAML 1.1\n---\n" + text,
    lambda rng, text: (
        text
        + rng.choice(("...\n", "---\n", "...\n...\n", "---\na: 1\n", "...\n# c\n", "...\na: 1\n", "\x00", "\udcff"))
    ),
    lambda rng, text: text.replace("\n", rng.choice(("\r\n", "\r", "\u0085", "\u2028"))),
    lambda rng, text: text.replace("  ", rng.choice(("    ", " ", "\t"))),
    lambda rng, text: text[: rng.randint(0, len(text))],
    lambda rng, text: text.rstrip("\n"),
    lambda rng, text: rng.choice(("# c\n", "\n\n", " \n", "\t\n", "!t\n", "&a\n", "- \n", "!!map\n")) + text,
    lambda rng, text: text + f"{rng.choice(KEYS)}: {_scalar(rng)}\n",
    lambda rng, text: text.replace(
        *rng.choice((("fcfs", "wspt"), ("premium", "vip"), ("all", "b.0"), ("quantum", "Quantum")))
    ),
    lambda rng, text: "".join(" " + line for line in text.splitlines(True)),
)


def _mutate_data(rng: Random, data: dict[str, Any]) -> str:
    """Change a policy given as data and write it in a random style."""
    for _ in range(rng.choice((0, 1, 1, 2))):
        _mutate_node(rng, data)
    style = rng.randrange(5)
    if style < 2:
        return json.dumps(data, indent=(None, 2)[style])
    quote = ("", "'", '"')[style - 2]
    return "".join(f"{line}\n" for line in _block_lines(data, quote))


def _block_lines(value: Any, quote: str) -> list[str]:
    """A value in YAML's block style, words plain or in ``quote``."""
    if not value or not isinstance(value, dict | list):
        plain = isinstance(value, str) and (value.isidentifier() or quote == "'")
        return [f"{quote}{value}{quote}" if plain and quote != '"' else json.dumps(value)]
    pairs = value.items() if isinstance(value, dict) else (("-", item) for item in value)
    lines: list[str] = []
    for key, item in pairs:
        head = "-" if isinstance(value, list) else f"{quote}{key}{quote}:"
        nested = _block_lines(item, quote)
        if isinstance(value, dict) and isinstance(item, dict | list) and item:
            lines += [head, *(f"  {line}" for line in nested)]
        else:
            lines += [f"{head} {nested[0]}", *(f"  {line}" for line in nested[1:])]
    return lines


def _mutate_node(rng: Random, data: dict[str, Any]) -> None:
    path: list[dict[str, Any]] = [data]
    node: Any = data
    while rng.random() < 0.8:  # walk down to a random mapping
        children = list(node.values()) if isinstance(node, dict) else node
        children = [child for child in children if isinstance(child, dict | list) and child]
        if not children:
            break
        node = rng.choice(children)
        if isinstance(node, dict):
            path.append(node)
    target = path[-1]
    key = rng.choice(list(target) or ["name"])
    value = target.get(key)
    kind = rng.randrange(8)
    if kind == 0:
        target.pop(key, None)
    elif kind == 1:
        target[rng.choice(KEYS)] = target.pop(key, None)
    elif kind == 2:
        target[key] = rng.choice(
            (None, True, 0, 1, -1, 1.0, 2**64 - 1, 2**64, 0.5, "", "512", "a b", [], {}, [value], {"a": value})
        )
    elif kind == 3:
        target[rng.choice(KEYS)] = rng.choice(
            (
                None,
                1,
                0.5,
                "fcfs",
                "all",
                {},
                [],
                {"type": "t"},
                {"type": "t", "parameters": {}},
                {"instances": [{"name": "n", "type": "t"}]},
                value,
            )
        )
    elif kind == 4 and isinstance(value, list) and value:
        value.insert(
            rng.randint(0, len(value)),
            rng.choice((None, "a", {}, [], value[0], dict(value[0]) if isinstance(value[0], dict) else 1)),
        )
    elif kind == 5 and isinstance(value, list) and value:
        value.pop(rng.randrange(len(value)))
    elif kind == 6 and isinstance(value, list):
        rng.shuffle(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        target[key] = value + rng.choice((-value, -1, 1, 1000))
