"""The catalogue of adversary configurations: the TOML files of ``attacks/``, packed into the wheel."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from secmix.errors import ScenarioError, nearest
from secmix.scenario import Scenario, load

_PACKAGE = Path(__file__).parents[1]
_PLACES = (_PACKAGE / "_catalogue", _PACKAGE.parent / "attacks")
"""In an installed wheel; in a checkout."""


@dataclass(frozen=True)
class Entry:
    """One scenario of the catalogue."""

    name: str
    path: Path

    @property
    def scenario(self) -> Scenario:
        """The scenario itself."""
        return load(self.path)

    @property
    def threat_model(self) -> str:
        """The comment at the head of the file, which describes the threat model."""
        lines = []
        for line in self.path.read_text(encoding="utf-8").splitlines():
            if not line.startswith("#"):
                break
            lines.append(line.lstrip("#").strip())
        return "\n".join(lines)


def entries() -> dict[str, Entry]:
    """Return the catalogue by name.

    >>> "passive-neighbours" in entries()
    True
    """
    place = next((place for place in _PLACES if place.is_dir()), None)
    files = sorted(place.glob("*.toml")) if place else []
    return {path.stem: Entry(path.stem, path) for path in files}


def find(name: str) -> Entry:
    """Find the entry called ``name``."""
    known = entries()
    if name not in known:
        raise ScenarioError(f"no file and no catalogue entry is called '{name}'; {nearest(name, known)}")
    return known[name]
