"""Hypothesis: strategies for tests of one's own, and the search for the smallest failure of a check.

A check draws without Hypothesis, which takes half a millisecond for an example, twice as long as a rule for most
messages; Hypothesis then makes small what fails.

Hypothesis is an optional dependency: ``pip install secmix[test]``. It is imported when it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from secmix._base.checks import Array, integer
from secmix.mixture import Mixture
from secmix.testing.counterexample import BrokenPromise

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Draw = tuple[Any, ...]
"""One of each of several options."""
_MANY = 5000  # options beyond which the first few are tried alone
_EXAMPLES = 200  # in which what fails alone, by half a chance for each of seven options, is drawn again


def _strategies() -> Any:
    """Import Hypothesis, or raise an error that says how to get it."""
    try:
        import hypothesis.strategies
    except ImportError:
        raise ImportError("secmix.testing needs Hypothesis; install it with: pip install 'secmix[test]'") from None
    return hypothesis.strategies


def _matrix(rows: int, columns: int) -> SearchStrategy[Array]:
    """Draw small integers, which shrink to readable examples, or multiples that are not exact in binary."""
    st = _strategies()
    if columns > 8:  # too many to draw one by one
        seeds: SearchStrategy[int] = st.integers(0, 2**16)
        return seeds.map(lambda seed: np.random.default_rng(seed).standard_normal((rows, columns)))
    entries: SearchStrategy[list[int]] = st.lists(st.integers(-9, 9), min_size=rows * columns, max_size=rows * columns)
    matrix = entries.map(lambda values: np.array(values, dtype=np.float64).reshape(rows, columns))
    return matrix.flatmap(lambda matrix: st.sampled_from([matrix, matrix * 0.1, matrix * 6.7]))


def honest_clouds(h: int | None = None, p: int | None = None, *, high: int = 60) -> SearchStrategy[Array]:
    """Draw honest messages (h, p): general ones, ties and duplicates, points on a line, one dimension, many dimensions.

    Parameters
    ----------
    h, p : int, optional
        How many, and of how many entries; drawn from 1 to 9 and 1 to 4 where not given, p sometimes ``high``.

    Examples
    --------
    >>> honest_clouds(h=3, p=2).example().shape  # doctest: +SKIP
    (3, 2)
    """
    st = _strategies()

    @st.composite  # type: ignore[untyped-decorator]
    def clouds(draw: Any) -> Array:
        rows = draw(st.integers(1, 9)) if h is None else integer(h, "h")
        columns = draw(st.one_of(st.integers(1, 4), st.just(high))) if p is None else integer(p, "p")
        kind = draw(st.sampled_from(["general", "ties", "duplicates", "line"]))
        cloud = draw(_matrix(rows, columns))
        if kind == "ties":
            cloud = cloud.round() % 2
        elif kind == "duplicates":
            cloud = cloud[draw(st.lists(st.integers(0, rows - 1), min_size=rows, max_size=rows))]
        elif kind == "line":
            steps = draw(st.lists(st.integers(-5, 5), min_size=rows, max_size=rows))
            cloud = cloud[0] + np.outer(steps, cloud[-1] if cloud[-1].any() else np.ones(columns))
        return np.asarray(cloud, dtype=np.float64)

    return clouds()  # type: ignore[no-any-return]


def byzantine_messages(f: int, p: int, *, finite: bool = True) -> SearchStrategy[Array]:
    """Draw what colluders send (f, p): near or far, together or each for itself; with NaN and infinities on request."""
    st = _strategies()
    integer(f, "f", least=0)

    @st.composite  # type: ignore[untyped-decorator]
    def messages(draw: Any) -> Array:
        rows = 1 if f and draw(st.booleans()) else f
        sent = draw(_matrix(rows, p)) * draw(st.sampled_from([1.0, 1e3, 1e6, 1e9]))
        sent = np.array(np.broadcast_to(sent, (f, p)))
        if not finite and f:
            for row in draw(st.sets(st.integers(0, f - 1), min_size=1)):
                sent[row, draw(st.integers(0, p - 1))] = draw(st.sampled_from([np.nan, np.inf, -np.inf]))
        return sent

    return messages()  # type: ignore[no-any-return]


def mixtures(k: int | None = None, d: int | None = None) -> SearchStrategy[Mixture]:
    """Draw Gaussian mixtures of k components (1 to 4) in d dimensions (1 to 3), with covariances far from singular."""
    st = _strategies()

    @st.composite  # type: ignore[untyped-decorator]
    def drawn(draw: Any) -> Mixture:
        count = draw(st.integers(1, 4)) if k is None else integer(k, "k")
        size = draw(st.integers(1, 3)) if d is None else integer(d, "d")
        shares = np.array(draw(st.lists(st.integers(1, 9), min_size=count, max_size=count)), dtype=np.float64)
        roots = draw(_matrix(count * size, size)).reshape(count, size, size) / 10
        covariances = roots @ roots.swapaxes(1, 2) + 0.1 * np.eye(size)
        return Mixture(shares / shares.sum(), draw(_matrix(count, size)), covariances)

    return drawn()  # type: ignore[no-any-return]


def subspaces(ambient: int | None = None, dimension: int | None = None) -> SearchStrategy[Array]:
    """Draw orthonormal bases (ambient, dimension), columns; axis-parallel ones and others; ambient is 1 to 6."""
    st = _strategies()

    @st.composite  # type: ignore[untyped-decorator]
    def bases(draw: Any) -> Array:
        rows = draw(st.integers(1, 6)) if ambient is None else integer(ambient, "ambient")
        columns = draw(st.integers(1, rows)) if dimension is None else integer(dimension, "dimension")
        if draw(st.booleans()):
            return np.eye(rows)[:, sorted(draw(st.permutations(range(rows)))[:columns])]
        rng = np.random.default_rng(draw(st.integers(0, 2**16)))
        return np.asarray(np.linalg.qr(rng.standard_normal((rows, columns)))[0])

    return bases()  # type: ignore[no-any-return]


def smallest_failure(
    options: Sequence[Sequence[Any]],
    fails: Callable[[Draw, BrokenPromise | None], BrokenPromise | None],
    *,
    examples: int,
    random: Random,
    first: Iterable[Draw] = (),
) -> BrokenPromise | None:
    """Return the failure that is easiest to read; None if no draw fails.

    ``options``: what is drawn is one of each; in each, what comes first is simplest; ``fails``: of simpler values,
    those count that fail as the first did; ``examples``: how many are drawn, after those of ``first``.
    """
    for value in chain(first, (tuple(map(random.choice, options)) for _ in range(examples))):
        if (failure := fails(value, None)) is not None:
            try:
                return _shrunk(options, value, failure, fails)
            except ImportError:
                return replace(
                    failure, note=f"{failure.note} (For a smaller example: pip install 'secmix[test]')".strip()
                )
    return None


def _shrunk(
    options: Sequence[Sequence[Any]],
    value: Draw,
    first: BrokenPromise,
    fails: Callable[[Draw, BrokenPromise], BrokenPromise | None],
) -> BrokenPromise:
    """Return the failure that is the easiest to read, of values whose parts are those of ``value`` or simpler ones."""
    st = _strategies()
    from hypothesis import Phase, Verbosity, find, settings
    from hypothesis.errors import FailedHealthCheck, Flaky, NoSuchExample

    best, left = first, first.tries

    def failing(other: Draw) -> bool:
        nonlocal best, left
        left -= 1
        failure = fails(other, first) if left >= 0 else None
        if failure is not None and failure.cost < best.cost:
            best = failure
        return failure is not None

    phases = (Phase.generate, Phase.shrink)
    quiet = settings(max_examples=_EXAMPLES, database=None, deadline=None, phases=phases, verbosity=Verbosity.quiet)
    simpler = st.tuples(*(st.sampled_from(_up_to(part, those)) for part, those in zip(value, options, strict=True)))
    # Flaky is what is not tried any more; within a test of Hypothesis it does not start a second search.
    with suppress(NoSuchExample, Flaky, FailedHealthCheck):
        find(simpler, failing, settings=quiet, random=Random(0))
    return best


def _up_to(part: Any, options: Sequence[Any]) -> Sequence[Any]:
    """Return the simpler options, and as often this one."""
    place = options.index(part) if part in options else len(options)
    before = list(options[: place if place < _MANY else 20])
    return [*before, *[part] * max(len(before), 1)]
