"""From the bytes of a file to text a YAML parser may see; what is no such text gets one clear sentence."""

from __future__ import annotations

import codecs
import re
import unicodedata

from drr.policy.diagnostics import Diagnostic

MAX_BYTES = 1024 * 1024
"""Longer policies are refused unread."""

# The characters YAML lets stand in a file; everything else is a control character, a lone surrogate or no character.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NEWLINE = re.compile("\r\n?|\n")


def place(text: str, index: int) -> tuple[int, int]:
    """1-based line and column of the character at ``index``."""
    breaks = [match.end() for match in _NEWLINE.finditer(text, 0, index)]
    return len(breaks) + 1, index - (breaks[-1] if breaks else 0) + 1


def _refused(line: int, column: int, message: str, allowed: str) -> Diagnostic:
    return Diagnostic("error", line, column, "", message, allowed)


def _decoded(data: bytes) -> str | Diagnostic:
    allowed = "UTF-8 text; save the file again as UTF-8"
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _refused(1, 1, "the file is UTF-16 text, not UTF-8", allowed)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line, column = place(data[: error.start].decode("utf-8"), error.start)
        byte = data[error.start]
        message = (
            f"the file is not UTF-8 text: byte 0x{byte:02X} is not valid here (perhaps it is Latin-1 or Windows-1252)"
        )
        return _refused(line, column, message, allowed)


def readable_text(source: str | bytes) -> tuple[str | None, list[Diagnostic]]:
    """The text to parse, without a byte-order mark, and what there is to say about it; None where it is refused."""
    size = len(source) if isinstance(source, bytes) else len(source.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        message = f"the policy is {size:,} bytes long"
        return None, [_refused(1, 1, message, f"at most {MAX_BYTES:,} bytes")]
    text = _decoded(source) if isinstance(source, bytes) else source
    if isinstance(text, Diagnostic):
        return None, [text]
    notes = []
    if text.startswith("\ufeff"):
        text = text.lstrip("\ufeff")  # PyYAML would skip another one, and then be a character ahead of us
        message = "the file starts with a byte-order mark; it is ignored here, but the router refuses such a file"
        notes.append(
            Diagnostic("warning", 1, 1, "", message, "UTF-8 text without a byte-order mark", router_refuses=True)
        )
    if match := _FORBIDDEN.search(text):
        line, column = place(text, match.start())
        code = ord(match[0])
        kind = "control character" if unicodedata.category(match[0]) == "Cc" else "character"
        name = "a NUL character" if code == 0 else f"the {kind} U+{code:04X}"
        return None, [*notes, _refused(line, column, f"{name} stands here, so this is no plain text", "UTF-8 text")]
    return text, notes
