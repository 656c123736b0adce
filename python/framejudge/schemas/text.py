"""Strings at the edges: what can be written as JSON, and what can be shown on a terminal."""

from __future__ import annotations

import base64
import re
from typing import Any

__all__ = ["is_unicode", "json_safe", "printable"]

# C0 and C1 control characters, and those that reorder or hide text on a terminal.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def is_unicode(text: str) -> bool:
    """Say whether a string can be encoded: it holds no lone surrogate."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def json_safe(value: Any) -> Any:
    r"""Return a value with its bytes as base64 text, so that it can be written as JSON.

    Raises:
        ValueError: a string somewhere in it holds a lone surrogate.

    >>> json_safe({"thumbnail": b"\xff", "tags": ["rain"]})
    {'thumbnail': '/w==', 'tags': ['rain']}
    """
    if isinstance(value, str):
        if not is_unicode(value):
            raise ValueError(f"{value!a:.40} holds a lone surrogate, which is not valid Unicode")
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, dict):
        return {json_safe(key): json_safe(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_safe(item) for item in value]
    return value


def printable(text: str) -> str:
    r"""Return text that is safe on a terminal: control characters become escapes.

    >>> printable("cam\n\x1b[2J")
    'cam\\n\\x1b[2J'
    """
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)
