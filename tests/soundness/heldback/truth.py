"""The truth of a protocol against each adversary that fits it, as cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious

from ..case import Case

ADVERSARIES = {
    "server": CuriousServer(),
    "nodes 1 and 2": HonestButCurious({1, 2}),
    "nodes 1 and 3": HonestButCurious({1, 3}),
    "eavesdropper": Eavesdropper(),
}
Truth = Literal["safe", "leaks"]


def known(
    name: str,
    protocol: Callable[[], Any],
    why: str,
    *,
    server: Truth | None = None,
    two: Truth | None = None,
    apart: Truth | None = None,
    eavesdropper: Truth | None = None,
    **settings: Any,
) -> list[Case]:
    """One case for each adversary of which the truth is given."""
    truths = dict(zip(ADVERSARIES, (server, two, apart, eavesdropper), strict=True))
    return [
        Case(f"{name}: {who}", "held back", protocol, ADVERSARIES[who], why, truth, settings=settings)
        for who, truth in truths.items()
        if truth is not None
    ]
