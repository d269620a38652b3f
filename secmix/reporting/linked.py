"""Sentences whose numbers lead to where they come from, each in one string: a page links them, plain text drops that.

A link stands between control characters, which no report holds: they are cleaned out of all that users write.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markupsafe import Markup

_LINK = re.compile("\x02([^\x03]*)\x03([^\x04]*)\x04")


def leads(anchor: str, text: str) -> str:
    """``text``, which leads to ``anchor``."""
    return f"\x02{anchor}\x03{text}\x04"


def plain(text: str) -> str:
    """Drop what the text leads to.

    >>> plain(f"all {leads('cell-1', '3')} nodes")
    'all 3 nodes'
    """
    return _LINK.sub(r"\2", text)


def as_html(text: str) -> Markup:
    """The text with links, all else escaped.

    >>> print(as_html(f"{leads('cell-1', '3')} < 4"))
    <a href="#cell-1">3</a> &lt; 4
    """
    from markupsafe import Markup, escape

    return Markup(_LINK.sub(r'<a href="#\1">\2</a>', str(escape(text))))
