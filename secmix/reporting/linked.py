"""Sentences with a link from each number to its source: a page shows the links, plain text drops them.

A link is marked by control characters, which no report contains: they are removed from all that users write.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markupsafe import Markup

_LINK = re.compile("\x02([^\x03]*)\x03([^\x04]*)\x04")


def link(anchor: str, text: str) -> str:
    """Link ``text`` to ``anchor``."""
    return f"\x02{anchor}\x03{text}\x04"


def plain(text: str) -> str:
    """Remove the links from the text.

    >>> plain(f"all {link('cell-1', '3')} nodes")
    'all 3 nodes'
    """
    return _LINK.sub(r"\2", text)


def as_html(text: str) -> Markup:
    """Render the text with its links, and escape all else.

    >>> print(as_html(f"{link('cell-1', '3')} < 4"))
    <a href="#cell-1">3</a> &lt; 4
    """
    from markupsafe import Markup, escape

    return Markup(_LINK.sub(r'<a href="#\1">\2</a>', str(escape(text))))
