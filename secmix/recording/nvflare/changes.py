"""Change of a message by a filter: the message before it, beside the message behind it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secmix.recording.nvflare.contents import Contents, Part, contents

_MOST_NAMES = 1000
_ROUNDING = 4.0  # last digits
STEPS = "NUM_STEPS_CURRENT_ROUND"
"""By what privacy filters of NVFlare divide a model before they compare it with their limits."""


def snapshot(shareable: Mapping[str, Any]) -> Contents:
    """Read a message and copy its arrays: a filter may change them where they lie."""
    read = contents(shareable)
    read.arrays = [Part(part.path, part.numbers.copy(), part.shape, part.opaque) for part in read.arrays]
    return read


def change(before: Contents, after: Contents) -> dict[str, Any]:
    """Compare the arrays and numbers of a message before and behind a filter.

    The result: ``changed``; ``numbers`` of arrays before, how many variables are ``single`` numbers beside them,
    ``nonzero`` of the arrays' numbers before and behind, how many ``moved``,
    and how many of those that are not zero behind are the ``same`` as before; the ``largest`` magnitude behind; which
    variables it ``removed`` and which are ``left``; how many became opaque (``sealed``); the ``steps`` the message
    tells; the filters that the message newly ``claims``; hashes of the arrays that were ``withheld``.
    """
    old, new = ({part.path: part for part in each.arrays} for each in (before, after))
    counts = [_moved(part, new[path]) for path, part in old.items() if path in new and not new[path].opaque]
    moved, unchanged = (sum(pair[k] for pair in counts) for k in (0, 1))
    read = [part.numbers for part in after.arrays if not part.opaque and part.numbers.dtype.kind == "f"]
    singles_differ = before.singles != after.singles
    return {
        "changed": bool(moved or set(old) != set(new) or singles_differ or _sealed(old, new)),
        "numbers": sum(part.numbers.size for part in before.arrays if not part.opaque),
        "single": len(_single_variables(before)),
        "nonzero": [_nonzero(before), _nonzero(after)],
        "moved": moved,
        "same": unchanged,
        "largest": max((float(np.abs(each).max(initial=0.0)) for each in read), default=0.0),
        "removed": sorted(_names(before) - _names(after))[:_MOST_NAMES],
        "left": sorted(_names(after))[:_MOST_NAMES],
        "sealed": _sealed(old, new),
        "steps": next((value for path, value in after.singles.items() if path.endswith(STEPS)), 1.0),
        "claims": after.history[len(before.history) :],
        "withheld": {path: digest(part.numbers) for path, part in old.items() if _withheld(part, new.get(path))},
    }


def _names(message: Contents) -> set[str]:
    """Return the paths of all variables: of arrays, and of single numbers."""
    return {part.path for part in message.arrays} | _single_variables(message)


def _single_variables(message: Contents) -> set[str]:
    """Return the paths of single numbers that are not about the message itself."""
    return {path for path in message.singles if "meta" not in path.split("/")}


def digest(numbers: NDArray[Any]) -> str:
    """Hash an array, so that it is known again where it passes elsewhere."""
    return hashlib.sha256(f"{numbers.dtype}".encode() + np.ascontiguousarray(numbers).tobytes()).hexdigest()


def _withheld(before: Part, after: Part | None) -> bool:
    """Return whether a filter kept an array back that is worth it: many arrays are all zeros."""
    if before.opaque or before.numbers.size < 2 or np.all(before.numbers == before.numbers[0]):
        return False
    return after is None or after.opaque or _moved(before, after)[0] > 0


def _moved(before: Part, after: Part) -> tuple[int, int]:
    """Count the numbers that differ by more than rounding, and those that are alike and not zero."""
    if before.numbers.shape != after.numbers.shape:
        return max(before.numbers.size, after.numbers.size), 0
    alike = _alike(before.numbers, after.numbers)
    return int(np.count_nonzero(~alike)), int(np.count_nonzero(alike & (after.numbers != 0)))


def _alike(before: NDArray[Any], after: NDArray[Any]) -> NDArray[np.bool_]:
    """Compare number by number, up to the rounding of a division by steps and the product with them."""
    if before.dtype.kind != "f" and after.dtype.kind != "f":
        return np.asarray(before == after)
    off = max(float(np.finfo(each.dtype).eps) for each in (before, after) if each.dtype.kind == "f")
    return np.asarray(np.isclose(before, after, rtol=_ROUNDING * off, atol=0.0, equal_nan=True))


def _nonzero(message: Contents) -> int:
    return sum(int(np.count_nonzero(part.numbers)) for part in message.arrays if not part.opaque)


def _sealed(old: dict[str, Part], new: dict[str, Part]) -> int:
    return sum(not part.opaque and path in new and new[path].opaque for path, part in old.items())
