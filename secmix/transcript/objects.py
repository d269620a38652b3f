"""Objects as messages: what they consist of goes over the line, and the receiver makes another of the same class."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from secmix.errors import SecmixError


def fields_of(payload: Any) -> dict[str, Any]:
    """All that an object holds by itself, in its ``__dict__`` or in slots."""
    slots = (slot for base in type(payload).__mro__ for slot in _slots(base) if slot not in ("__dict__", "__weakref__"))
    held = {slot: getattr(payload, slot) for slot in slots if hasattr(payload, slot)}
    return {**held, **getattr(payload, "__dict__", {})}


def _slots(base: type) -> tuple[str, ...]:
    named = base.__dict__.get("__slots__", ())
    names = (named,) if isinstance(named, str) else tuple(named)
    return tuple(
        f"_{base.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name
        for name in names
    )


def is_found_by_name(kind: type) -> bool:
    """Whether a class is known to sender and receiver alike: found in its module under its name.

    A class that is made for a message could carry anything.

    Examples
    --------
    >>> is_found_by_name(SecmixError), is_found_by_name(type("Made", (), {"secret": 3}))
    (True, False)
    """
    found: Any = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is kind


def with_fields(kind: type, fields: Mapping[str, Any], what: str) -> Any:
    """An object of the class ``kind`` that holds ``fields`` and nothing else.

    Raises
    ------
    SecmixError
        If it holds more than its fields, as a text or a list of a class of its own does.
    """
    try:
        made: Any = object.__new__(kind)
        for name, value in fields.items():
            object.__setattr__(made, name, value)
    except (TypeError, AttributeError) as error:
        raise SecmixError(
            f"a message of kind '{what}' is a {kind.__name__}, which holds more than its fields"
        ) from error
    return made
