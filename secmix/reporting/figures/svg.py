"""matplotlib figures as SVG inside HTML: text stays text, and colours follow the page, light or dark."""

from __future__ import annotations

import io
import re
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# matplotlib has no CSS variables: it draws in these colours, which inline() replaces by var(--name) of the page.
_THEME = {
    "#010101": "ink",
    "#020202": "muted",
    "#030303": "rule",
    "#040404": "paper",
    "#050505": "warn",
    "#060606": "bad",
    "#070707": "s1",
    "#080808": "s2",
    "#090909": "s3",
    "#0a0a0a": "s4",
    "#0b0b0b": "s5",
}
COLOUR = {name: code for code, name in _THEME.items()}
SERIES = tuple(COLOUR[f"s{k}"] for k in range(1, 6))
MARKERS = ("o", "s", "^", "D", "v")
# Leakage 0 to 1, pale to dark: lightness alone carries it, so it survives grey print and colour blindness.
RAMP = ("#f6efe2", "#f3cfa6", "#e69a6b", "#c8553f", "#8c1230")
STYLE: Any = {
    "svg.fonttype": "none",
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.edgecolor": COLOUR["muted"],
    "axes.labelcolor": COLOUR["ink"],
    "axes.titlecolor": COLOUR["ink"],
    "axes.titlelocation": "left",
    "axes.titlesize": 9,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "grid.color": COLOUR["rule"],
    "grid.linewidth": 0.6,
    "text.color": COLOUR["ink"],
    "text.parse_math": False,
    "xtick.color": COLOUR["muted"],
    "ytick.color": COLOUR["muted"],
    "xtick.labelcolor": COLOUR["ink"],
    "ytick.labelcolor": COLOUR["ink"],
    "figure.facecolor": "none",
}


def shade(level: float) -> str:
    """Compute the colour of a leakage between 0 and 1."""
    place = min(max(level, 0.0), 1.0) * (len(RAMP) - 1)
    low = min(int(place), len(RAMP) - 2)
    ends = [[int(code[k : k + 2], 16) for k in (1, 3, 5)] for code in RAMP[low : low + 2]]
    return "#" + "".join(f"{round(a + (b - a) * (place - low)):02x}" for a, b in zip(*ends, strict=True))


def ink_on(code: str) -> str:
    """Choose black or white, whichever has more contrast with a colour (at least 4.5 : 1, WCAG 2)."""
    channels = [int(code[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if luminance > 0.179 else "#ffffff"


def inline(figure: Figure, name: str, alt: str) -> str:
    """Render the figure as an SVG element: the same bytes each time, unique ids, no addresses, no fixed size.

    ``name``: prefix of every id; must differ between figures of one page; ``alt``: the figure in words.
    """
    from html import escape

    from matplotlib import rc_context

    buffer = io.StringIO()
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
    with rc_context({**STYLE, "svg.hashsalt": name}), warnings.catch_warnings():
        # Text stays text: the reader's fonts supply a letter that matplotlib's own font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(buffer, format="svg", metadata=nothing, transparent=True)
    _, _, body = buffer.getvalue().partition("<svg")
    attributes, _, body = body.partition(">")
    view = re.search(r'viewBox="[^"]*"', attributes)
    if view is None:
        raise RuntimeError("matplotlib wrote an SVG without a viewBox")
    body = re.sub(r"<metadata>.*?</metadata>\s*", "", body, flags=re.S)
    body = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", body)
    body = body.replace("xlink:href", "href").replace("'DejaVu Sans'", "var(--sans, sans-serif)")
    for code, variable in _THEME.items():
        body = body.replace(code, f"var(--{variable})")
    return f'<svg class="figure" role="img" aria-label="{escape(alt)}" {view.group()}>{_smaller(body)}'


def _smaller(body: str) -> str:
    """Shorten the SVG to about half: coordinates to a hundredth of a point, no ids without references.

    Invisible parts go too: areas without colour, rotations by 0, the font that the page sets for its figures.
    """
    body = re.sub(r'<path d="[^"]*"\s+style="fill: none"\s*/>', "", body)
    body = re.sub(r' transform="rotate\(-?0 [^"]*\)"', "", body)
    body = body.replace(" font-family: var(--sans, sans-serif);", "")
    wanted = set(re.findall(r"(?:href=\"#|url\(#)([^\")]+)", body))
    body = re.sub(r' id="([^"]*)"', lambda match: match.group() if match[1] in wanted else "", body)
    body = re.sub(r"<[^>]+>", _shorter, re.sub(r"\s*\n\s*", " ", body))
    body = re.sub(r' ?" ?(?=[/>])', '"', re.sub(r"> <(?!tspan)", "><", body)).strip()
    return _unwrapped(body)


def _shorter(tag: re.Match[str]) -> str:
    """Round the coordinates of a tag and close up its style; numbers in the text between tags stay as they are."""
    rounded = re.sub(r"-?\d+\.\d{3,}", lambda match: f"{float(match.group()):.2f}".rstrip("0").rstrip("."), tag.group())
    return re.sub(r'style="[^"]*"', lambda style: style.group().replace("; ", ";").replace(": ", ":"), rounded)


def _unwrapped(body: str) -> str:
    """Remove groups without attributes."""
    removed: list[bool] = []

    def replacement(tag: re.Match[str]) -> str:
        if tag.group() == "</g>":
            return "" if removed.pop() else "</g>"
        removed.append(tag.group() == "<g>")
        return "" if removed[-1] else tag.group()

    return re.sub(r"<g(?: [^>]*[^/])?>|</g>", replacement, body.replace("<g/>", ""))
