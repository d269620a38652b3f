"""What NumPy docstrings say of each parameter: read where models and parts are described to others."""

from __future__ import annotations

import inspect
import re
from typing import Any

_SECTION = re.compile(r"^(\w[\w ]*)\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", flags=re.M | re.S)


def sections(doc: str) -> dict[str, dict[str, str]]:
    """Parse the parameters or attributes of a NumPy docstring: section, name, text.

    >>> sections("One.\\n\\nParameters\\n----------\\na, b : int\\n    Two\\n    lines.\\n")
    {'Parameters': {'a': 'Two lines.', 'b': 'Two lines.'}}
    """
    by_title: dict[str, dict[str, str]] = {}
    for title, body in _SECTION.findall(doc + "\n"):
        entries: dict[str, str] = {}
        for names, text in re.findall(
            r"^(\w[\w, ]*)(?: :[^\n]*)?\n((?:[ \t]+[^\n]*\n|\n(?=[ \t]))*)", body, flags=re.M
        ):
            entries |= {name.strip(): " ".join(text.split()) for name in names.split(",")}
        by_title[title] = entries
    return by_title


def summary(part: Any) -> str:
    """Return the first paragraph of a docstring.

    >>> summary(summary)
    'Return the first paragraph of a docstring.'
    """
    return " ".join((inspect.getdoc(part) or "").split("\n\n")[0].split())


def described(part: Any, section: str) -> dict[str, str]:
    """Collect the entries of a section of a class's docstring, and of those it inherits from."""
    entries: dict[str, str] = {}
    for base in reversed(getattr(part, "__mro__", (part,))):
        own = base.__dict__.get("__doc__") if isinstance(base, type) else base.__doc__
        entries |= sections(inspect.cleandoc(own or "")).get(section, {})
    return entries
