"""What is installed, in lines: protocols with what each reveals by design, and attacks with what each forges."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from secmix._base.plugins import available, load
from secmix.errors import SecmixError


def forgeries_listed() -> Iterator[str]:
    """Of every attack the name, what it does in a line, and the messages it replaces."""
    from secmix.adversaries.attacks.attack import installed, named

    for name in installed():
        try:
            attack = named(name)
            does = f"{attack.does} Forges: {', '.join(sorted(attack.kinds))}."
        except SecmixError as error:  # one package that is broken hides no other
            does = str(error)
        yield f"{name}\n    {does}"


def protocols_listed() -> Iterator[str]:
    """Of every protocol the name, and what it reveals by design."""
    for name in available("protocols"):
        try:
            told = by_design(load("protocols", name))
        except SecmixError as error:  # one package that is broken hides no other
            told = str(error)
        yield f"{name}\n    {told}"


def by_design(part: Any) -> str:
    """The paragraph of a protocol's docstring that says what it reveals."""
    paragraphs = (part.__doc__ or "").split("\n\n")
    told = next((p for p in paragraphs if "reveals by design" in p), paragraphs[0])
    told = re.sub(r"^\s*\w+\s*\n\s*-+\s*\n", "", told)  # the heading of its section
    return " ".join(told.replace("**", "").split())
