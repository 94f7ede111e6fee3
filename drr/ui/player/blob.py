"""The player's wire format: a JSON header and integer or float columns in one deflated blob.

Inflated, a blob is a little-endian ``uint32`` with the length of the header, the header as UTF-8 JSON, and the bytes of
the columns in the order in which the header lists them. Columns of many bytes per item are stored plane by plane (all
lowest bytes first, then all second bytes, ...), which deflate likes far better: the high bytes hardly ever change.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

_LEVEL = 6
_SAFE = (1 << 53) - 1


def write_blob(header: Mapping[str, Any], columns: Mapping[str, Array]) -> bytes:
    """Deflate ``header`` (plain JSON data) and ``columns`` (integers, or floats of 64 bits) into one blob."""
    described, parts = [], []
    for name, values in columns.items():
        stored = _narrow(values)
        described.append([name, stored.dtype.str[1:], len(stored)])
        parts.append(stored.view(np.uint8).reshape(len(stored), stored.itemsize).T.tobytes())
    text = json.dumps({**header, "columns": described}, separators=(",", ":"), ensure_ascii=False).encode()
    return zlib.compress(b"".join([struct.pack("<I", len(text)), text, *parts]), _LEVEL)


def read_blob(blob: bytes) -> tuple[dict[str, Any], dict[str, Array]]:
    """What :func:`write_blob` was given; columns come back in the narrowest type that holds them."""
    raw = zlib.decompress(blob)
    (length,) = struct.unpack_from("<I", raw)
    header: dict[str, Any] = json.loads(raw[4 : 4 + length])
    at = 4 + length
    columns: dict[str, Array] = {}
    for name, kind, count in header.pop("columns"):
        dtype = np.dtype(f"<{kind}")
        planes = np.frombuffer(raw, np.uint8, count * dtype.itemsize, at).reshape(dtype.itemsize, count)
        columns[name] = np.ascontiguousarray(planes.T).view(dtype).reshape(count)
        at += count * dtype.itemsize
    return header, columns


def _narrow(values: Array) -> Array:
    """The narrowest little-endian type that holds every value."""
    if values.dtype.kind == "f":
        return np.ascontiguousarray(values, dtype="<f8")
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    for name in ("u1", "i1", "u2", "i2", "i4"):
        limits = np.iinfo(name)
        if limits.min <= low and high <= limits.max:
            return np.ascontiguousarray(values, dtype=f"<{name}")
    return np.ascontiguousarray(values, dtype="<f8")


def is_wide(numbers: Sequence[int]) -> bool:
    """Whether a number is beyond what a browser's floating-point number holds exactly."""
    return any(abs(number) > _SAFE for number in numbers)
