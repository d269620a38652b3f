"""The protocols of the scenario that ``secmix init`` writes: all that sum, less those that cannot run there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import tomli_w

from secmix._base import plugins
from secmix.errors import SecmixError, one_line
from secmix.scenario import Scenario, parse

_LAST = re.compile(r"(?<=\n)    \{ name = [^\n]*\n(?=\]\nadversary)")


def with_all_sums(text: str) -> str:
    """Return the scenario with every installed sum protocol that takes no settings, after those that it sweeps."""
    swept = {spec["name"] for spec in parse(text).sweep["protocol"]}
    lines = "".join(
        f'    {{ {tomli_w.dumps({"name": name}).strip()}, label = "{name.replace("_", " ").capitalize()}" }},\n'
        for name in plugins.available("protocols")
        if name not in swept and _sums(name)
    )
    return _LAST.sub(lambda last: last[0] + lines, text)


def _sums(name: str) -> bool:
    try:
        part = plugins.build("protocols", {"name": name})
    except SecmixError:  # one package that is broken hides no other
        return False
    return callable(getattr(part, "average", None)) and callable(getattr(part, "draw_masks", None))


def without_what_fails(text: str, path: Path, remarks: list[str]) -> str:
    """Turn protocols that cannot run on this network or these data into comments of the scenario."""
    from secmix.auditing.engine.run_cell import try_out
    from secmix.auditing.setup import PreparedData
    from secmix.scenario.resolve import seen_from

    scenario = parse(text, f"'{path}'")
    cells = [seen_from(cell, path.parent) for cell in scenario.cells()]
    ready: dict[str, PreparedData] = {}
    left = 0
    first: SecmixError | None = None
    for spec in scenario.sweep["protocol"]:
        of_protocol: Sequence[Scenario] = [cell for cell in cells if cell.protocol.name == spec["name"]]
        try:
            try_out(of_protocol[-1], None, prepared=ready)
            left += 1
        except SecmixError as error:
            first = first or error
            pattern = rf'^    (\{{ name = "{spec["name"]}".*)$'
            why = one_line(str(error)).replace("\\", "/")
            text = re.sub(pattern, rf"    # \1  {why}", text, flags=re.M)
            remarks.append(f"left out {spec['name']}: {error}")
    if not left and first is not None:
        raise first
    return text
