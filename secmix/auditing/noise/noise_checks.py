"""Checks of the noise of releases: drawn from the protocol's own generator, anew each time, and sent to nobody."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.noise.played_calls import PlayedCall, title
from secmix.privacy.ledger import Release, seed_of


def known_noise(recorded: PlayedCall, root: np.random.SeedSequence) -> str:
    """Say which noise of a call somebody else may know; empty if none is found."""
    own = seed_of(np.random.default_rng(root))[:1]
    for place, release in enumerate(recorded.releases):
        if release.seed[:1] != own:
            return (
                f"the noise of {title(place, release)} comes from a generator with a seed of its own: whoever knows it "
                "takes the noise off; pass the rng that the protocol is given, or one of rng.spawn(n)"
            )
    return _drawn_twice(recorded.releases) or _sent(recorded)


def repeated_noise(first: Sequence[Release], second: Sequence[Release]) -> str:
    """Say which release has noise of an earlier call; empty if none has."""
    drawn = np.concatenate([np.empty(0), *(release.draws.ravel() for release in first)])
    for place, release in enumerate(second):
        if np.isin(release.draws, drawn).any():
            return f"{title(place, release)} has the same noise in two calls"
    return ""


def _drawn_twice(releases: Sequence[Release]) -> str:
    """Name a release with a draw that an earlier one has too: of numbers with 52 bits none comes twice by chance."""
    earlier = np.empty(0)
    for place, release in enumerate(releases):
        draws = release.draws.ravel()
        if len(np.unique(draws)) < len(draws) or np.isin(draws, earlier).any():
            return f"{title(place, release)} has noise that was drawn before"
        earlier = np.concatenate([earlier, draws])
    return ""


def _sent(recorded: PlayedCall) -> str:
    """Name a message that carries noise without what it hides."""
    hidden = [_noise(release) for release in recorded.releases]
    known = np.concatenate([np.empty(0), *hidden])
    for block in recorded.call.blocks:
        numbers: Any = block.payload
        if block.line != "held" and numbers.dtype.kind == "f" and np.isin(numbers, known).any():
            return f"the '{block.kind}' in round {block.round} carries the noise of a release"
    return ""


def _noise(release: Release) -> Array:
    """Return the draws of a release and its noise, but where it hides a zero and is itself what is released."""
    draws, noise = release.draws.ravel(), (release.scale * release.draws).ravel()
    output = release.output.ravel()
    hides = (output != noise) & (output != draws)
    return np.concatenate([draws[hides], noise[hides]])
