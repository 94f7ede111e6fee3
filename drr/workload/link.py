"""An experiment and a step as a short text for a link, or as a file.

A link carries ``1.`` (the version) and, in base64url, a checksum of four bytes and the raw-deflated JSON of the
experiment. The checksum tells a link that was cut or changed on its way from one that is whole; it keeps no secrets.
Reading is bounded: neither a long text nor a small one that inflates without end costs more than a little memory.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import reprlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from drr.errors import WorkloadError
from drr.workload.experiment import Experiment, TraceWorkload

VERSION = "1"
MAX_INFLATED_BYTES = 1024 * 1024
MAX_FILE_BYTES = 16 * 1024 * 1024
FILE_SUFFIX = ".ringside.json"
_CHECKSUM_BYTES = 4
_RAW_DEFLATE = -15
_CODE = re.compile(r"([0-9]{1,6})\.([A-Za-z0-9_-]*)")
_BROKEN = "it was cut or changed on its way, so nothing was loaded from it; ask for it again"


@dataclass(frozen=True, slots=True)
class Shared:
    """What a link or a file carries: an experiment, the step to show (None for any), perhaps a trace's text."""

    experiment: Experiment
    step: int | None = None
    trace_text: str | None = None


def encode(experiment: Experiment, step: int | None = None) -> str:
    """The text for a link. Nothing in it names a file or folder of this machine; a trace is named, not carried."""
    data = json.dumps(_mapping(experiment, step), separators=(",", ":"), ensure_ascii=False).encode()
    deflate = zlib.compressobj(9, zlib.DEFLATED, _RAW_DEFLATE)
    packed = deflate.compress(data) + deflate.flush()
    whole = zlib.crc32(data).to_bytes(_CHECKSUM_BYTES, "big") + packed
    return f"{VERSION}.{base64.urlsafe_b64encode(whole).rstrip(b'=').decode()}"


def decode(code: str, *, max_characters: int) -> Shared:
    """Read what :func:`encode` wrote; anything else raises :class:`WorkloadError` with a sentence for people."""
    if len(code) > max_characters:
        raise WorkloadError(
            f"the link carries {len(code):,} characters, at most {max_characters:,} are read; larger experiments are "
            f"shared as a {FILE_SUFFIX} file"
        )
    parts = _CODE.fullmatch(code)
    if parts is None:
        raise WorkloadError(f"the link cannot be read: {_BROKEN}")
    if parts[1] != VERSION:
        raise WorkloadError(f"the link is of version {parts[1]}; this program reads version {VERSION}")
    return _shared(_parsed(_inflated(parts[2])), "the link")


def _inflated(code: str) -> bytes:
    try:
        whole = base64.urlsafe_b64decode(code + "=" * (-len(code) % 4))
        inflate = zlib.decompressobj(_RAW_DEFLATE)
        data = inflate.decompress(whole[_CHECKSUM_BYTES:], MAX_INFLATED_BYTES)
    except (binascii.Error, ValueError, zlib.error):
        raise WorkloadError(f"the link cannot be read: {_BROKEN}") from None
    if inflate.unconsumed_tail:
        raise WorkloadError(f"the link cannot be read: it holds more than {MAX_INFLATED_BYTES:,} bytes")
    if not inflate.eof or inflate.unused_data or zlib.crc32(data).to_bytes(4, "big") != whole[:_CHECKSUM_BYTES]:
        raise WorkloadError(f"the link cannot be read: {_BROKEN}")
    return data


def to_file(experiment: Experiment, step: int | None = None, *, trace_text: str | None = None) -> str:
    """The same as a JSON file for people to keep; ``trace_text`` goes along where it is given."""
    data = {"ringside": int(VERSION), **_mapping(experiment, step)}
    if trace_text is not None:
        data["trace_text"] = trace_text
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def from_file(content: bytes) -> Shared:
    """Read what :func:`to_file` wrote; anything else raises :class:`WorkloadError`."""
    if len(content) > MAX_FILE_BYTES:
        raise WorkloadError(f"the file is {len(content):,} bytes long, at most {MAX_FILE_BYTES:,} are read")
    data = _parsed(content)
    if not isinstance(data, Mapping) or "ringside" not in data:
        raise WorkloadError(f"this is no {FILE_SUFFIX} file: it has no key `ringside`")
    if data["ringside"] != int(VERSION):
        raise WorkloadError(
            f"the file is of version {reprlib.repr(data['ringside'])}; this program reads version {VERSION}"
        )
    return _shared({key: value for key, value in data.items() if key != "ringside"}, "the file")


def _mapping(experiment: Experiment, step: int | None) -> dict[str, object]:
    data: dict[str, object] = {"experiment": experiment.to_mapping()}
    if step is not None:
        data["step"] = step
    return data


def _parsed(data: bytes) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        raise WorkloadError("this is no JSON text in UTF-8") from None


def _shared(data: object, what: str) -> Shared:
    if not isinstance(data, Mapping) or not isinstance(data.get("experiment"), Mapping):
        raise WorkloadError(f"{what} carries no experiment")
    if unknown := sorted(set(data) - {"experiment", "step", "trace_text"}):
        raise WorkloadError(
            f"{what} has the unknown key {reprlib.repr(unknown[0])}; allowed are experiment, step, trace_text"
        )
    experiment = Experiment.from_mapping(data["experiment"])
    step, trace = data.get("step"), data.get("trace_text")
    if step is not None and (not isinstance(step, int) or isinstance(step, bool) or step < -1):
        raise WorkloadError(f"{what} names step {reprlib.repr(step)}; a whole number from -1 is allowed")
    if trace is not None and not (isinstance(trace, str) and isinstance(experiment.workload, TraceWorkload)):
        raise WorkloadError(f"{what} has a trace_text, but its workload is no trace")
    return Shared(experiment, step, trace)
