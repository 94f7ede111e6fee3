"""Reading a workload spec from YAML and writing it back, with the same findings as policy files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any

import yaml

from drr.errors import WorkloadError
from drr.policy import yaml12
from drr.policy.diagnostics import Diagnostic, Position, joined, quoted
from drr.policy.fields import Field, FieldReader, Given, TooManyProblemsError, described
from drr.policy.source_text import readable_text
from drr.policy.yaml_events import YamlSyntaxError
from drr.workload.arrivals import Burst, ClosedLoop
from drr.workload.distributions import Fixed
from drr.workload.spec import MAX_REQUESTS, MAX_STREAMS, FixedHits, SessionHits, Stream, WorkloadSpec
from drr.workload.spec_fields import STREAM_FIELDS, SpecReader, complain, whole

NO_HEADER_NAME = "no header"
"""Name of a stream without a header, where the spec gives it none."""


@dataclass(frozen=True, slots=True)
class SpecReading:
    """What came of reading one text. ``spec`` is None where there is at least one error; diagnostics in file order.

    ``positions`` says where the value at a path stands, such as ``streams[0].arrivals.per_second``.
    """

    source: str
    spec: WorkloadSpec | None
    diagnostics: tuple[Diagnostic, ...]
    positions: Mapping[str, Position] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether the spec can be used."""
        return self.spec is not None

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The diagnostics that keep the spec from being used."""
        return tuple(each for each in self.diagnostics if each.severity == "error")


def read_spec(text: str | bytes, *, source: str = "workload") -> SpecReading:
    """Read a workload spec; bad text is a result, not an exception."""
    clean, notes = readable_text(text)
    # A byte-order mark matters to the router alone, and it never sees a spec.
    notes = [each for each in notes if each.severity == "error"]
    if clean is None:
        return SpecReading(source, None, tuple(notes))
    reader = SpecReader(notes)
    spec: WorkloadSpec | None = None
    try:
        spec = _read_document(reader, yaml12.compose(clean))
    except YamlSyntaxError as error:
        message = error.message.replace(", and the router takes only one", "")
        problem = Diagnostic("error", error.line, error.column, "", message, error.allowed, error.suggestion)
        reader.diagnostics.append(problem)
    except TooManyProblemsError:
        spec = None
    found = reader.finished()
    if any(each.severity == "error" for each in found):
        spec = None
    return SpecReading(source, spec, found, reader.positions)


def load_spec(text: str | bytes, *, source: str = "workload") -> WorkloadSpec:
    """The spec in ``text``; raises :class:`WorkloadError` that names every error."""
    reading = read_spec(text, source=source)
    if reading.spec is None:
        lines = "\n".join(each.text(source) for each in reading.errors)
        raise WorkloadError(f"{source} has errors:\n{lines}")
    return reading.spec


def _streams(reader: FieldReader, node: yaml12.Node, path: str) -> list[Given | None] | None:
    items = reader.items(node, path, "the list of streams")
    if items is None:
        return None
    if not 1 <= len(items) <= MAX_STREAMS:
        reader.refuse(node.position, path, f"there are {len(items):,} streams", f"1 to {MAX_STREAMS:,} streams")
        return None
    found = []
    for index, item in enumerate(items):
        reader.positions[f"{path}[{index}]"] = item.position
        found.append(reader.struct(item, f"{path}[{index}]", STREAM_FIELDS, "a stream"))
    return found


_SPEC_FIELDS = {
    "seed": Field(whole(0, 2**63 - 1), required=False, nullable=True),
    "trace_block_size": Field(whole(1, 1_000_000), required=False, nullable=True),
    "streams": Field(_streams),
}


def _read_document(reader: FieldReader, root: yaml12.Node | None) -> WorkloadSpec | None:
    if not isinstance(root, yaml12.Mapping):
        at = Position(1, 1, 1, 1) if root is None else root.position
        message = "the spec is empty" if root is None else f"the top level must be a mapping, but {described(root)}"
        reader.error(at, "", message, "`streams:` with at least one stream, and `seed`, `trace_block_size`")
        return None
    given = reader.struct(root, "", _SPEC_FIELDS, "a workload spec")
    if given is None or "streams" not in given.values:
        return None
    streams = _resolve(reader, given.values["streams"])
    if streams is None or given.broken:
        return None
    return WorkloadSpec(streams, given.values.get("seed", 0), given.values.get("trace_block_size", 512))


def _resolve(reader: FieldReader, items: list[Given | None]) -> tuple[Stream, ...] | None:
    names: dict[str, int] = {}
    streams: list[Stream] = []
    total = 0
    complete = True
    for each in items:
        if each is None:
            complete = False
            continue
        values = each.values
        name = values.get("name") or values.get("header") or NO_HEADER_NAME
        if name in names and not each.broken & {"name", "header"}:
            message = f"there is another stream {quoted(name)} on line {names[name]}"
            complete = complain(reader, each, "name", message, "each name once; `name:` tells streams apart")
        names.setdefault(name, each.position.line)
        complete = _fits_together(reader, each) and complete
        total += values.get("requests", 0)
        if each.broken or not complete:
            complete = False
            continue
        streams.append(Stream(**{"header": None, **values, "name": name}))
    if total > MAX_REQUESTS and items[0] is not None:
        complete = complain(reader, items[0], "requests", f"{total:,} requests in all", f"at most {MAX_REQUESTS:,}")
    return tuple(streams) if complete else None


def _fits_together(reader: FieldReader, given: Given) -> bool:
    """How the values of one stream fit each other."""
    values = given.values
    arrivals = values.get("arrivals")
    fine = True
    if arrivals is None:
        return False
    if "requests" not in values and "requests" not in given.broken:
        if isinstance(arrivals, Burst | ClosedLoop):
            what = "burst" if isinstance(arrivals, Burst) else "closed loop"
            fine = complain(reader, given, "arrivals", f"a {what} has no end of its own", "`requests:` beside it")
        elif "duration_ms" not in values and "duration_ms" not in given.broken:
            fine = complain(
                reader, given, "arrivals", "nothing ends this stream", "`requests:`, `duration_ms:` or both"
            )
    if isinstance(arrivals, Burst | ClosedLoop) and "duration_ms" in values:
        message = "a burst or closed loop has no duration"
        fine = complain(reader, given, "duration_ms", message, "`requests:` alone")
    taken = values.get("missing_header_share", 0.0) + values.get("unknown_header_share", 0.0)
    if taken > 1 + 1e-9:
        message = "the shares of missing and of unknown headers add up to more than 1"
        fine = complain(reader, given, "unknown_header_share", message, "together at most 1")
    if isinstance(values.get("input_tokens"), Fixed) and values["input_tokens"].value < 1:
        fine = complain(reader, given, "input_tokens", "a prompt has at least 1 token", "1 or more")
    in_turns = isinstance(values.get("cache_hits"), SessionHits)
    if "think_time_ms" in values and not in_turns and not isinstance(arrivals, ClosedLoop):
        at = reader.positions[joined(given.path, "think_time_ms")]
        message = "nobody thinks in this stream: only closed loops and sessions have a think time"
        reader.note("warning", at, joined(given.path, "think_time_ms"), message)
    return fine


# Writing

_SHAPE_NAMES = {"OnOff": "on_off", "ClosedLoop": "closed_loop", "BetaHits": "beta", "SessionHits": "sessions"}
_WITHOUT_SHAPE = frozenset({"WorkloadSpec", "Stream", "Pinned", "AllowedWorkers", "RequiredTaints"}) | {
    "StrictShare",
    "JumpShare",
}


def dump_spec(spec: WorkloadSpec) -> str:
    """The spec as YAML that reads as an equal spec; what has its default value is left out."""
    data = _data(spec)
    data["streams"] = data.pop("streams")  # the short keys come first
    for stream in data["streams"]:
        if stream["name"] == (stream.get("header") or NO_HEADER_NAME):
            del stream["name"]
    text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=110, default_flow_style=None)
    return text


def _data(value: Any) -> Any:
    """Frozen values as the plain data that YAML holds."""
    if isinstance(value, Fixed):
        return value.value
    if isinstance(value, tuple):
        return [_data(item) for item in value]
    if not is_dataclass(value):
        return value
    kind = type(value).__name__
    data: dict[str, Any] = {}
    if kind not in _WITHOUT_SHAPE:
        data["shape"] = "fixed" if isinstance(value, FixedHits) else _SHAPE_NAMES.get(kind, kind.lower())
    for each in fields(value):
        inner = getattr(value, each.name)
        if each.default is not MISSING and inner == each.default:
            continue
        if inner is None:
            continue
        if kind == "Pinned" and each.name == "workers":
            data[each.name] = [worker if rank is None else f"{worker}.{rank}" for worker, rank in inner]
        else:
            data[each.name] = _data(inner)
    return data
