"""Secrets that a protocol was given before it is audited: its object has them, and no text of its code.

Keys that nodes have had since they enrolled are drawn as the object is made. To the audit they are constants; to an
adversary who has read the code they are not.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

_LEAST = 16  # bytes: shorter ones may be tried, and occur in code anyway
_MOST = 10_000  # values that are looked at


def given_secrets(protocol: Any) -> list[bytes]:
    """List the long numbers and bytes that a protocol's object or module holds, and that no text of its code has.

    >>> given_secrets(object())
    []
    """
    kinds = [kind for each in _with_inner(protocol) for kind in type(each).__mro__]
    modules = [sys.modules[kind.__module__] for kind in kinds if kind.__module__ in sys.modules]
    own = [each for each in modules if each.__name__.partition(".")[0] not in ("builtins", "secmix")]
    written = [text for each in own for text in _literals(getattr(each, "__file__", None) or "")]
    held = [*_values(protocol), *(value for each in own for value in _octets(list(vars(each).values())))]
    return [value for value in dict.fromkeys(held) if not any(value in text or text in value for text in written)]


def is_made_of(octets: bytes, secrets: Sequence[bytes]) -> bool:
    """Say whether bytes have a secret in them, or are a part of one.

    >>> is_made_of(b"0123456789abcdef, round 1", [b"0123456789abcdef"]), is_made_of(b"round 1", [b"0123456789abcdef"])
    (True, False)
    """
    return any(each in octets or (len(octets) >= _LEAST and octets in each) for each in secrets)


def _with_inner(protocol: Any) -> Iterator[Any]:
    """Yield a protocol and the ones within it, whose code may have what it holds."""
    while protocol is not None:
        yield protocol
        protocol = getattr(protocol, "inner", None)


def _values(protocol: Any) -> Iterator[bytes]:
    """Yield the long numbers and bytes of an object, and of all that it holds."""
    met: set[int] = set()
    left = [protocol]
    while left and len(met) < _MOST:
        value = left.pop()
        if id(value) in met or isinstance(value, type):
            continue
        met.add(id(value))
        yield from _octets([value])
        if isinstance(value, dict):
            left += [*value.keys(), *value.values()]
        elif isinstance(value, (list, tuple, set, frozenset)):
            left += value
        else:
            left += getattr(value, "__dict__", {}).values()


def _octets(values: Sequence[Any]) -> Iterator[bytes]:
    for value in values:
        if isinstance(value, (bytes, bytearray)) and len(value) >= _LEAST:
            yield bytes(value)
        elif type(value) is int and value.bit_length() > 8 * _LEAST - 28:  # of as many bits, the first may be zero
            yield from (value.to_bytes(-(-value.bit_length() // 8), order) for order in ("little", "big"))
        elif isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.nbytes >= _LEAST:
            rows = value.reshape(-1, value.shape[-1]) if value.ndim > 1 else value[None]
            several = (row.tobytes() for row in rows if row.nbytes >= _LEAST)
            yield from (each for each in several if each.count(0) < len(each) / 4)  # small numbers are settings


@lru_cache(maxsize=64)
def _literals(file: str) -> list[bytes]:
    """List the long bytes that stand in the text of a file: as they are, as text, in hexadecimal, or as a number."""
    with suppress(OSError, SyntaxError, UnicodeDecodeError, ValueError):
        tree = ast.parse(Path(file).read_text(encoding="utf-8"))
        constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        texts = [each for each in constants if isinstance(each, str) and len(each) >= _LEAST]
        literals = [*_octets(constants), *(each.encode() for each in texts)]
        for text in texts:
            with suppress(ValueError):
                literals.append(bytes.fromhex(text))
        return literals
    return []
