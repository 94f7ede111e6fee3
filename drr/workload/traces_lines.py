"""Trace files as lines of text: plain or gzipped, from a path, from memory, or line by line."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from drr.errors import WorkloadError
from drr.workload.traces_reading import BadRowError

TraceSource = Path | str | bytes | Iterable[str]
"""A path, the text or the bytes of a file (gzipped ones too), or lines."""

GZIP = b"\x1f\x8b"
# What else people have lying around, told by its first bytes.
NO_TEXT = (
    (b"\xff\xfe", "UTF-16 text; save it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text; save it as UTF-8"),
    (b"PK\x03\x04", "a zip or Excel file; unpack it, or save the sheet as CSV"),
    (b"PAR1", "a Parquet file; write it as CSV or JSONL"),
    (b"\x28\xb5\x2f\xfd", "packed with zstd; unpack it, or pack it with gzip"),
    (b"BZh", "packed with bzip2; unpack it, or pack it with gzip"),
)


def trace_lines(source: TraceSource) -> Iterator[str]:
    """The lines of a trace, without a byte order mark. Raises :class:`WorkloadError` for what is no text.

    Single bytes that are no UTF-8 come through as lone surrogates; :func:`refuse_broken_text` finds them.
    """
    if isinstance(source, Path):
        try:
            with source.open("rb") as raw:
                yield from _byte_lines(raw, f"trace {source}")
        except OSError as error:
            raise WorkloadError(f"cannot read trace {source}: {error.strerror or error}") from None
    elif isinstance(source, bytes):
        yield from _byte_lines(io.BytesIO(source), "the trace")
    elif isinstance(source, str):
        yield from io.StringIO(source.removeprefix("\ufeff"), newline=None)
    else:
        yield from source


def _byte_lines(raw: BinaryIO, what: str) -> Iterator[str]:
    head = raw.read(4)
    raw.seek(0)
    packed = head.startswith(GZIP)
    if packed:
        raw = gzip.GzipFile(fileobj=raw)  # type: ignore[assignment]
    try:
        if packed:
            head = raw.read(4)
            raw.seek(0)
        for magic, found in NO_TEXT:
            if head.startswith(magic):
                raise WorkloadError(f"{what} is {found}")
        yield from io.TextIOWrapper(raw, "utf-8-sig", errors="surrogateescape")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise WorkloadError(f"{what} is damaged gzip: {error}") from None


def refuse_broken_text(text: str) -> None:
    """Raise :class:`BadRowError` where a line holds bytes that are no UTF-8."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        byte = ord(text[error.start]) - 0xDC00
        raise BadRowError(f"no UTF-8 text: byte 0x{byte & 0xFF:02x} at column {error.start + 1}") from None
