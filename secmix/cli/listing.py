"""Lists of what is installed: protocols with what each reveals by design, and attacks with what each forges."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from secmix._base.plugins import available, load
from secmix.errors import SecmixError


def forgeries_listed() -> Iterator[str]:
    """List every attack: its name, what it does in a line, and the messages it replaces."""
    from secmix.adversaries.attacks.attack import installed, named

    for name in installed():
        try:
            attack = named(name)
            does = f"{attack.does} Forges: {', '.join(sorted(attack.kinds))}."
        except SecmixError as error:  # one package that is broken hides no other
            does = str(error)
        yield f"{name}\n    {does}"


def protocols_listed() -> Iterator[str]:
    """List every protocol: its name, and what it reveals by design."""
    for name in available("protocols"):
        try:
            reveals = by_design(load("protocols", name))
        except SecmixError as error:  # one package that is broken hides no other
            reveals = str(error)
        yield f"{name}\n    {reveals}"


def by_design(part: Any) -> str:
    """Return the paragraph of a protocol's docstring that says what it reveals."""
    paragraphs = (part.__doc__ or "").split("\n\n")
    paragraph = next((p for p in paragraphs if "reveals by design" in p), paragraphs[0])
    paragraph = re.sub(r"^\s*\w+\s*\n\s*-+\s*\n", "", paragraph)  # the heading of its section
    return " ".join(paragraph.replace("**", "").split())
