"""Objects as messages: a line carries their fields, and the receiver builds another object of the same class."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from secmix.errors import SecmixError


def fields_of(payload: Any) -> dict[str, Any]:
    """Collect all fields of an object, in its ``__dict__`` or in slots."""
    slots = (slot for base in type(payload).__mro__ for slot in _slots(base) if slot not in ("__dict__", "__weakref__"))
    values = {slot: getattr(payload, slot) for slot in slots if hasattr(payload, slot)}
    return {**values, **getattr(payload, "__dict__", {})}


def _slots(base: type) -> tuple[str, ...]:
    named = base.__dict__.get("__slots__", ())
    names = (named,) if isinstance(named, str) else tuple(named)
    return tuple(
        f"_{base.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name
        for name in names
    )


def is_importable(kind: type) -> bool:
    """Check whether sender and receiver both know a class: its module has it under its name.

    A class that is created for a message could carry anything.

    >>> is_importable(SecmixError), is_importable(type("Made", (), {"secret": 3}))
    (True, False)
    """
    member: Any = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        member = getattr(member, name, None)
    return member is kind


def with_fields(kind: type, fields: Mapping[str, Any], what: str) -> Any:
    """Build an object of the class ``kind`` with ``fields`` and nothing else.

    Raises SecmixError if such an object has more than its fields, as a subclass of str or list has.
    """
    try:
        built: Any = object.__new__(kind)
        for name, value in fields.items():
            object.__setattr__(built, name, value)
    except (TypeError, AttributeError) as error:
        raise SecmixError(
            f"a message of kind '{what}' is a {kind.__name__}, which has content besides its fields; send its fields "
            "instead"
        ) from error
    return built
