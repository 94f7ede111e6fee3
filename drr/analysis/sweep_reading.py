"""Reading the spec of a sweep from YAML or JSON, with the same findings at their places as policy files have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drr.analysis.compare import MOST_SEEDS
from drr.analysis.sweep import MAX_POINTS, Axis, RandomSample, Span, Sweep, Value, with_setting
from drr.analysis.sweep_base import Base
from drr.errors import DrrError
from drr.policy import yaml12
from drr.policy.diagnostics import Diagnostic, Position, joined, quoted
from drr.policy.fields import Field, FieldReader, Given, TooManyProblemsError, code_list, described
from drr.policy.sections import plain_data
from drr.policy.source_text import readable_text
from drr.policy.yaml_events import YamlSyntaxError
from drr.scheduler.arbiters import ARBITERS
from drr.scheduler.ring import CURSOR_RULES
from drr.workload.experiment import Experiment
from drr.workload.spec_fields import Read, SpecReader, complain, listed, number, whole

MAX_STEPS = 10_000
VALUES_TRIED = 100
"""So many values of an axis are set while a spec is read; what cannot be set among the others shows when it is run."""
_SPACINGS = ("linear", "log")


@dataclass(frozen=True, slots=True)
class SweepReading:
    """What came of reading one text. ``sweep`` is None where there is at least one error; diagnostics in file order."""

    source: str
    sweep: Sweep | None
    diagnostics: tuple[Diagnostic, ...]


def read_sweep(text: str | bytes, *, source: str = "sweep", folder: Path = Path()) -> SweepReading:
    """Read the spec of a sweep; bad text is a result, not an exception. Files it names are looked for in ``folder``."""
    clean, notes = readable_text(text)
    notes = [each for each in notes if each.severity == "error"]
    if clean is None:
        return SweepReading(source, None, tuple(notes))
    reader = SpecReader(notes)
    sweep: Sweep | None = None
    try:
        sweep = _read_document(reader, yaml12.compose(clean), folder)
    except YamlSyntaxError as error:
        message = error.message.replace(", and the router takes only one", "")
        reader.diagnostics.append(Diagnostic("error", error.line, error.column, "", message, error.allowed))
    except TooManyProblemsError:
        sweep = None
    found = tuple(sorted(reader.diagnostics, key=lambda each: (each.line, each.column)))
    return SweepReading(source, None if any(each.severity == "error" for each in found) else sweep, found)


def load_sweep(path: Path) -> Sweep:
    """The sweep in a file; raises :class:`DrrError` that names every error."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DrrError(f"cannot read the sweep {path}: {error.strerror or error}") from None
    reading = read_sweep(data, source=str(path), folder=path.parent)
    if reading.sweep is None:
        lines = "\n".join(each.text(str(path)) for each in reading.diagnostics if each.severity == "error")
        raise DrrError(f"{path} has errors:\n{lines}")
    return reading.sweep


# Fields


def _one_of(names: tuple[str, ...]) -> Read:
    def read(reader: FieldReader, node: yaml12.Node, path: str) -> str | None:
        text = reader.text(node, path)
        if text is None or text in names:
            return text
        reader.refuse(node.position, path, f"{quoted(text)} is unknown", f"one of {code_list(names)}")
        return None

    return read


def _value(reader: FieldReader, node: yaml12.Node, path: str) -> Value | None:
    """A number or a word, as it would be written at its place."""
    value = plain_data(reader, node, path) if isinstance(node, yaml12.Scalar) else None
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        return value
    reader.refuse(node.position, path, f"a value must be a number or a word, but {described(node)}", "such as 512")
    return None


def _plain_mapping(reader: FieldReader, node: yaml12.Node, path: str) -> dict[str, Any] | None:
    if reader.pairs(node, path, "this") is None:
        return None
    data: dict[str, Any] = plain_data(reader, node, path) if isinstance(node, yaml12.Mapping) else {}
    return data


_TEXT = Field(FieldReader.text, required=False, nullable=True)
_BASE_FIELDS = {
    **dict.fromkeys(("scenario", "policy", "policy_text", "workload", "workload_text", "trace", "model"), _TEXT),
    "class_mapping": Field(_plain_mapping, required=False, nullable=True),
    "engine": Field(_plain_mapping, required=False, nullable=True),
    "workers": Field(whole(1, 100_000), required=False, nullable=True),
    "dp_size": Field(whole(1, 1_000), required=False, nullable=True),
    "cursor_rule": Field(_one_of(CURSOR_RULES), required=False, nullable=True),
    "arbiter": Field(_one_of(tuple(ARBITERS)), required=False, nullable=True),
    "speedup": Field(number(0, 1e9, above=True), required=False, nullable=True),
    "seed": Field(whole(0, 2**63 - 1), required=False, nullable=True),
}
_OTHERS = {
    "model": "model",
    "workers": "workers",
    "dp_size": "dp_size",
    "cursor_rule": "cursor_rule",
    "arbiter": "arbiter",
    "speedup": "arrival_speedup_ratio",
    "seed": "seed",
}
_EITHER = (("policy", "policy_text"), ("workload", "workload_text"), ("trace", "workload"), ("trace", "workload_text"))
"""Keys of the base of which only one may be given: both say the same thing."""
_AXIS_FIELDS = {
    "path": Field(FieldReader.text),
    "values": Field(listed(_value, "the list of values"), required=False),
    "from": Field(FieldReader.decimal, required=False),
    "to": Field(FieldReader.decimal, required=False),
    "steps": Field(whole(1, MAX_STEPS), required=False),
    "spacing": Field(_one_of(_SPACINGS), required=False),
}
_SAMPLE_FIELDS = {
    "points": Field(whole(1, MAX_POINTS)),
    "seed": Field(whole(0, 2**63 - 1), required=False),
}


def _base(reader: FieldReader, node: yaml12.Node, path: str) -> Given | None:
    return reader.struct(node, path, _BASE_FIELDS, "the base of a sweep")


def _axis(reader: FieldReader, node: yaml12.Node, path: str) -> Given | None:
    return reader.struct(node, path, _AXIS_FIELDS, "an axis")


def _sample(reader: FieldReader, node: yaml12.Node, path: str) -> RandomSample | None:
    given = reader.struct(node, path, _SAMPLE_FIELDS, "a random sample")
    return None if given is None or given.broken else RandomSample(**given.values)


_SWEEP_FIELDS = {
    "base": Field(_base),
    "axes": Field(listed(_axis, "the list of axes")),
    "sample": Field(_sample, required=False, nullable=True),
    "replications": Field(whole(1, MOST_SEEDS), required=False, nullable=True),
}


def _read_document(reader: FieldReader, root: yaml12.Node | None, folder: Path) -> Sweep | None:
    if not isinstance(root, yaml12.Mapping):
        at = Position(1, 1, 1, 1) if root is None else root.position
        message = "the sweep is empty" if root is None else f"the top level must be a mapping, but {described(root)}"
        reader.error(at, "", message, "`base:` and `axes:`, and `sample`, `replications`")
        return None
    given = reader.struct(root, "", _SWEEP_FIELDS, "a sweep")
    if given is None or "base" not in given.values:
        return None
    base = _experiment(reader, given.values["base"], folder)
    axes = [_made_axis(reader, each, base) for each in given.values.get("axes", ())]
    if base is None or given.broken or not axes or any(axis is None for axis in axes):
        return None
    try:
        return Sweep(
            base=base,
            axes=tuple(axis for axis in axes if axis is not None),
            sample=given.values.get("sample"),
            replications=given.values.get("replications", 1),
        )
    except DrrError as error:
        reader.refuse(reader.positions["axes"], "axes", str(error))
        return None


def _experiment(reader: FieldReader, given: Given, folder: Path) -> Experiment | None:
    """The base; what is wrong with a file is said at the key that names it."""
    values = given.values
    fine = not given.broken
    for one, other in _EITHER:
        if one in values and other in values:
            fine = complain(reader, given, other, f"`{one}` is given too", f"`{one}` or `{other}`")
    if "class_mapping" in values and "trace" not in values:
        fine = complain(reader, given, "class_mapping", "only traces are mapped to classes", "`trace:` beside it")
    if not fine:
        return None
    others = {_OTHERS[name]: values[name] for name in _OTHERS if name in values}
    parts = {name: value for name, value in values.items() if name not in _OTHERS}
    try:
        return Base(folder=folder, others=others, **parts).experiment()
    except DrrError as error:
        key = next((each for each in parts if joined(given.path, each) in reader.positions), "")
        reader.refuse(reader.positions.get(joined(given.path, key), given.position), given.path, str(error))
        return None


def _made_axis(reader: FieldReader, given: Given | None, base: Experiment | None) -> Axis | None:
    if given is None or given.broken:
        return None
    axis = _listed_axis(given) if "values" in given.values else _ranged_axis(reader, given)
    if axis is None or base is None:
        return axis
    if "values" in given.values and {"from", "to", "steps", "spacing"} & given.values.keys():
        complain(reader, given, "values", "an axis has values or a range", "`values`, or `from`, `to` and `steps`")
        return None
    for value in axis.values[:: -(-len(axis.values) // VALUES_TRIED)] + axis.values[-1:]:
        try:
            with_setting(base, axis.path, value)
        except DrrError as error:
            complain(reader, given, "path", f"{value} cannot be set: {_last_line(error)}", "")
            return None
    return axis


def _last_line(error: DrrError) -> str:
    """The policy or workload that came of it is not on the user's screen, so only what is wrong with it matters."""
    return str(error).splitlines()[-1]


def _listed_axis(given: Given) -> Axis:
    return Axis(given.values["path"], tuple(dict.fromkeys(given.values["values"])))


def _ranged_axis(reader: FieldReader, given: Given) -> Axis | None:
    values = given.values
    if "from" not in values or "to" not in values:
        complain(reader, given, "path", "the axis has no values", "`values: [..]`, or `from:`, `to:` and `steps:`")
        return None
    low, high, spacing = values["from"], values["to"], values.get("spacing", "linear")
    if not low <= high or high == float("inf"):
        complain(reader, given, "to", f"the range from {low:g} to {high:g} is none", "`from` at most `to`")
        return None
    if spacing == "log" and low <= 0:
        complain(reader, given, "from", "equal factors need a start above 0", "a number above 0")
        return None
    span = Span(low, high, spacing, is_whole=low.is_integer() and high.is_integer())
    return Axis(values["path"], span.values(values.get("steps", 5)), span)
