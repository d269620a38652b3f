"""Attacks on subspaces: what colluders send in place of a basis U_ℓ, a product Φ_ℓ U or a gradient, all (n, r).

Each is ``attack(honest (h, n, r), f, rng) -> messages (f, n, r)``. Alternating, ones and orthogonal are named in the
experiment of Singh 2024, which does not say how large they are; ``worst_basis`` searches the Grassmannian, and
``tightest`` attains the bound of the Subspace Median. At the end stand the attacks that protocols meet.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable

import numpy as np

from secmix._base.checks import Array
from secmix._base.stable_order import oriented
from secmix.adversaries.against_rules.subspaces import consensus, repeated, worst_basis
from secmix.adversaries.attacks.attack import Attack, RoundMessages
from secmix.aggregators import RejectedMessages
from secmix.errors import DataError, ScenarioError

_MATRICES = ("basis", "product", "gradient")
_NUMBERS = ("threshold", "scale")
_FAR = 1e6  # of the largest honest number, where a single number is expected
_BUDGET = 300  # Subspace Medians a search may compute
_SIZES = (0.3, 1.0, 3.0, 30.0, 1e4)  # of an honest product

SubspaceAttack = Callable[[Array, int, np.random.Generator], Array]
"""``attack(honest (h, n, r), f, rng) -> messages (f, n, r)``."""


def alternating(honest: Array, f: int, rng: np.random.Generator, C: float = 10.0) -> Array:
    """Fill matrices with C and −C in a chessboard pattern (named in Singh 2024); of rank one."""
    n, r = honest.shape[1:]
    return repeated(C * (1.0 - 2.0 * (np.add.outer(np.arange(n), np.arange(r)) % 2)), f)


def ones(honest: Array, f: int, rng: np.random.Generator, C: float = 100.0) -> Array:
    """Fill matrices with C (named in Singh 2024); of rank one."""
    return np.full((f, *honest.shape[1:]), C)


def orthogonal(honest: Array, f: int, rng: np.random.Generator) -> Array:
    """Draw an orthonormal basis in the complement of the subspace the honest messages agree on (named in Singh 2024).

    U* is taken to be the top r left singular vectors of the honest messages, each first orthonormalised; the basis is
    uniform in its complement, and where 2 r > n filled up from U*.
    """
    n, r = honest.shape[1:]
    centre = consensus(honest)
    free = min(r, n - r)
    drawn = rng.standard_normal((n, free))
    drawn -= centre @ (centre.T @ drawn)
    drawn -= centre @ (centre.T @ drawn)  # once more, for what rounding left
    basis = np.linalg.qr(drawn)[0] if free else np.empty((n, 0))
    return repeated(np.hstack([basis, centre[:, : r - free]]), f)


def reverse(honest: Array, f: int, rng: np.random.Generator, C: float = 10.0) -> Array:
    """Send −(C/L) times the sum of the honest messages, L = h + f: for gradients.

    A power method takes no harm from it: the mean is then a negative multiple of the honest one, and spans the same.
    """
    return repeated(-(C / (len(honest) + f)) * honest.sum(axis=0), f)


SUBSPACE_FIXED: dict[str, SubspaceAttack] = {
    attack.__name__: attack for attack in (alternating, ones, orthogonal, reverse)
}
"""Every fixed attack on subspaces by name."""


def speaking(attack: SubspaceAttack, corrupt: Iterable[int], rng: np.random.Generator) -> Callable[[int, Array], Array]:
    """Make an ``exchange`` in which the corrupt nodes send what the attack says, knowing a round's honest messages.

    >>> exchange = speaking(ones, [1], np.random.default_rng(0))
    >>> exchange(0, np.zeros((2, 2, 1)))[:, 0, 0].tolist()
    [0.0, 100.0]
    """
    forging = sorted(set(corrupt))

    def exchange(round: int, sent: Array) -> Array:
        arrived = sent.copy()
        honest = np.setdiff1d(np.arange(len(sent)), forging)
        if forging:
            arrived[forging] = attack(sent[honest], len(forging), rng)
        return arrived

    return exchange


def forging(attack: SubspaceAttack, *, does: str = "") -> Attack:
    """Make an attack on bases, products and gradients of a function, whose messages are sent ``scale`` times as large.

    Where a protocol asks for a single number (AltGDmin's thresholds and scales), colluders send 10⁶ times the largest
    honest one. ``attack``: for messages of m numbers, which are (m/r, r) with the protocol's own ``r``. Raises
    ScenarioError on sending: if the protocol has no ``r``, or one that does not fit the messages.

    >>> from secmix.adversaries import TamperingChannel
    >>> from secmix.protocols import FederatedPCA
    >>> channel = TamperingChannel(forging(ones), [1], np.random.default_rng(0), protocol=FederatedPCA(1))
    >>> channel.send(0, [0, 1], -1, "basis", np.zeros((2, 1, 3)))[:, 0].tolist()
    [[0.0, 0.0, 0.0], [100.0, 100.0, 100.0]]
    """

    def forge(messages: RoundMessages) -> Array:
        if messages.kind in _NUMBERS:
            return np.full(messages.own.shape, _FAR * messages.scale * np.abs(_known(messages)).max())
        honest = _matrices(_known(messages), messages.protocol)
        return messages.scale * attack(honest, len(messages.own), messages.rng).reshape(len(messages.own), -1)

    return Attack((*_MATRICES, *_NUMBERS), forge, does=does)


def _known(messages: RoundMessages) -> Array:
    """Return the honest messages or, before any is sent, what the colluders would send themselves."""
    return messages.honest if len(messages.honest) else messages.own


def _matrices(messages: Array, protocol: object) -> Array:
    r = getattr(protocol, "r", None)
    if not isinstance(r, int) or messages.shape[1] % r:
        raise ScenarioError(
            f"messages of {messages.shape[1]} numbers cannot be read as (n, r): attacks on subspaces need a protocol "
            f"whose attribute r divides that; given r = {r!r}"
        )
    return messages.reshape(len(messages), -1, r)


def _worst(messages: RoundMessages) -> Array:
    """Search for the worst common message: by itself the search goes as far as it pays, ``scale`` adds nothing."""
    honest, f = _matrices(_known(messages), messages.protocol), len(messages.own)
    if messages.kind == "product":
        return repeated(_worst_product(honest, messages), f).reshape(f, -1)
    if f < len(honest):
        try:
            bases = []
            for most, rng in messages.budget.searches(_BUDGET, messages.rng):
                bases.append(worst_basis(honest, f, rng, budget=most))
                messages.budget.spend(bases[-1].tries, most, certain=False)
            return max(bases, key=lambda search: search.error).messages.reshape(f, -1)
        except DataError:  # no spread to hide in: all honest bases span the same, or the whole space
            pass
    return orthogonal(honest, f, messages.rng).reshape(f, -1)


def _worst_product(honest: Array, messages: RoundMessages) -> Array:
    """Choose, of products that point out of the honest subspace in all columns or in one, the worst for the rule.

    One column is that in which the honest products are weakest: there a false direction displaces a true one first.
    """
    n, r = honest.shape[1:]
    target, f = consensus(honest), len(messages.own)
    weakest = oriented(np.linalg.svd(honest.mean(axis=0), full_matrices=False)[2][-1])
    away = orthogonal(honest, 1, messages.rng)[0]
    shapes = [away / np.linalg.norm(away), np.outer(away[:, 0], weakest), alternating(honest, 1, messages.rng, 1.0)[0]]
    size = float(np.median(np.linalg.norm(honest, axis=(1, 2))))
    worst, best = -1.0, shapes[0]
    for shape in shapes:
        for far in _SIZES:
            false = far * size / np.linalg.norm(shape) * shape
            arrived = np.concatenate([honest, repeated(false, f)]).reshape(-1, n * r)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RejectedMessages)
                combined = messages.protocol.combined(arrived).reshape(n, r)
            error = _sine(target, combined)
            if error > worst:
                worst, best = error, false
    return np.asarray(best)


def _sine(target: Array, combined: Array) -> float:
    """Compute SD_F from the target to the product's span, or to what is left of it where it has lost rank."""
    left, sizes, _ = np.linalg.svd(combined, full_matrices=False)
    span = left[:, sizes > 1e-12 * sizes[0]]
    return float(np.linalg.norm(target - span @ (span.T @ target)))


basis_alternating = forging(alternating, does="Every colluder sends 10 and −10 in a chessboard pattern.")
"""C and −C in a chessboard pattern, C = 10 scale."""

basis_ones = forging(ones, does="Every colluder sends 100 in each entry.")
"""C in every entry, C = 100 scale."""

basis_orthogonal = forging(orthogonal, does="Every colluder sends a basis of directions that no honest one has.")
"""scale times an orthonormal basis of directions that the honest messages do not have."""

basis_reverse = forging(reverse, does="Every colluder sends minus ten times the mean of all messages.")
"""−10 scale times the mean of all messages, the colluders' own counted as zero."""

basis_worst = Attack(
    ("basis", "product"),
    _worst,
    searches=True,
    does="The basis or product, the same from all colluders, that a search finds to take the rule farthest.",
)
"""The basis or product that takes the protocol's rule farthest, as far as a search finds."""

SUBSPACE_FORGERIES: dict[str, Attack] = {
    "alternating": basis_alternating,
    "ones": basis_ones,
    "orthogonal": basis_orthogonal,
    "reverse": basis_reverse,
    "worst_basis": basis_worst,
}
"""The attacks on protocols that send subspaces, by the name of the function behind each."""
