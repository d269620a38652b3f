"""Draws: variables where they are secret, in ``draw_masks`` and from the system; public coins elsewhere.

A coin is a :class:`~secmix.kernel.randomness.coins.Public`, of which the options are listed where these are few. Below:
which stream of draws a secret seed makes.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from secmix.kernel.randomness.coins import MOST_OPTIONS, by_value, coin_among, is_iteration
from secmix.kernel.randomness.secret_bytes import (
    Piece,
    as_pieces,
    bare,
    bytes_of,
    in_one_way,
    is_octet,
    octets_of_draw,
    secret_pieces,
)
from secmix.kernel.randomness.streams import OF_SEQUENCE, POOL, Stream, fresh_bytes, stream_of
from secmix.kernel.values.arrays import Followed, array_of, of_table, values, within
from secmix.kernel.values.current_trace import DRAWS, INF, here, may_stop, now, tracing
from secmix.kernel.values.forms import alone
from secmix.kernel.values.numbers import Number, function
from secmix.kernel.values.protocol_text import is_protocol
from secmix.kernel.values.tables import unknowns

LAWS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("standard_normal", "random", "standard_cauchy"), ()),
    **dict.fromkeys(("normal", "laplace", "logistic"), ("loc", "scale")),
    **{"uniform": ("low", "high"), "standard_t": ("df",)},
    "integers": ("low", "high", "size", "dtype", "endpoint"),
}
"""Laws that are known, and their parameters."""
_OTHER_LAWS = frozenset(
    """
    beta binomial chisquare exponential f gamma geometric gumbel hypergeometric lognormal logseries negative_binomial
    noncentral_chisquare noncentral_f pareto poisson power rayleigh standard_exponential standard_gamma triangular
    vonmises wald weibull zipf
    """.split()  # noqa: SIM905
)
"""Laws of numbers that are drawn one by one."""
_PARAMETERS: dict[str, tuple[str, ...]] = {
    **{"integers": LAWS["integers"], "permutation": ("x", "axis")},
    "choice": ("a", "size", "replace", "p", "axis"),
}
"""Draws of which the options may be listed, and their parameters."""
_PARAMETER = "a parameter of a draw"
_SPREAD = {"normal": 1.0, "standard_normal": 1.0, "uniform": 12**-0.5, "random": 12**-0.5, "integers": 12**-0.5}
_SPREAD |= {"laplace": 2**0.5, "logistic": np.pi / 3**0.5, "standard_cauchy": 2**0.5, "standard_t": 1.0}
"""Standard deviations. Of heavy tails that of the normal draw with their Fisher information: sums and mixtures of such
tell no more of what they are added to than those of these normal draws (Zamir 1998, Fisher information inequality)."""


class OfStream:
    """A generator, of a stream if its seed is secret."""

    stream: Stream | None = None
    drawn_before = 0

    def next_of(self, stream: Stream, asked: Any, draw: Callable[[], Any]) -> Any:
        """Return the next draws of its stream."""
        self.drawn_before += 1
        return stream.drawn(self.drawn_before - 1, asked, draw)

    def __reduce__(self) -> Any:
        now().leave("a copy of a generator")


class Draws(OfStream, np.random.Generator):
    """A generator whose draws are variables while secrets are drawn, and public coins otherwise.

    ``secret`` says that they always are (seeded by the system) or never: a protocol that makes one of bits has seeded
    these by a public number. None: of the generator that a call is given.
    """

    def __init__(self, bits: Any, secret: bool | None = False) -> None:
        super().__init__(getattr(bits, "concrete", bits))
        self.bits = bits if isinstance(bits, SecretBits) else None
        self.stream = self.bits.taken() if self.bits is not None else None
        self.secret = True if self.stream is not None else secret

    def spawn(self, n_children: int) -> Any:
        """Return generators like this one."""
        bits = super().bit_generator.spawn(n_children) if self.bits is None else self.bits.spawn(n_children)
        return [Draws(each, self.secret) for each in bits]

    @property
    def bit_generator(self) -> Any:
        """Return what it draws from, and note that: set back, or copied, it draws the same again."""
        now().narrow("the state of a generator")
        return super().bit_generator

    def drawn(self, name: str, args: Any, kw: Any) -> Any:
        """Return what a method of NumPy's draws, as variables or as coins."""
        args, kw = parameters(args, kw)
        # One that is not followed: some draws are made of others.
        real = getattr(np.random.Generator(super().bit_generator), name)(*args, **kw)
        trace = now()
        if self.secret is False:
            self.drawn_before += 1
            return real
        if not (trace.secret_draws or self.secret):
            return coin(name, real, args, kw)
        if trace.is_plain:
            return real
        draw = functools.partial(secretly, name, real, args, kw, self.stream)
        return draw() if self.stream is None else self.next_of(self.stream, (name, args, kw), draw)


def parameters(args: Any, kw: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return parameters of a draw as they are in this run; a secret one ends the proof."""
    return by_value(lambda *a, **k: (a, k), *values(args, _PARAMETER), **values(kw, _PARAMETER))  # type: ignore[no-any-return]


def secretly(name: str, drawn: Any, args: Any, kw: Any, stream: Stream | None = None) -> Any:
    """Return what was drawn as variables, of ``stream`` if there is one."""
    if name == "bytes":
        return fresh_bytes(drawn, stream)
    if name == "multivariate_normal":
        return _jointly(drawn, stream, *args, **kw)
    single = np.asarray(drawn).dtype
    if name in _OTHER_LAWS and stream is None:
        # Numbers of laws that may be several, by an array of parameters, are taken to be of a law each.
        laws = itertools.count(0, any(isinstance(x, (np.ndarray, list)) for x in (*args, *kw.values())))
        law = f"{name} {within(_spelled_out, args)} {within(_spelled_out, kw)}"
        one = lambda value: _by_another_law(f"{law} {next(laws)}", value)  # noqa: E731
        return array_of(np.frompyfunc(one, 1, 1)(drawn), single)
    if name not in LAWS or (single.kind == "f" and single.itemsize < 8):
        now().leave(f"secret draws by {name}(), a law that is not followed,")
    return _variables(drawn, *_law(name, np.shape(drawn), args, kw), stream, name)


def _spelled_out(parameter: Any) -> Any:
    return parameter.tolist() if isinstance(parameter, np.ndarray) else parameter  # whose text leaves entries out


def _by_another_law(law: str, value: Any) -> Number:
    """Return a draw that hides nothing, since its law is not followed: it may go into what a node encodes."""
    drawn = Number(value, alone(now().variable("draw", -1, value, 0, law=law, place=here())), INF, DRAWS, 0)
    out: Number = function(f"a draw by {law}", lambda x: x, drawn, step=int(isinstance(value, int)))
    out.form, out.pure = {}, False
    return out


def _law(name: str, shape: tuple[int, ...], args: Any, kw: Any) -> tuple[Any, Any, Any]:
    """Return standard deviations, of whole draws how many values they take, and where the laws lie."""
    given = dict(zip((*LAWS[name], "size"), args, strict=False)) | kw
    low, high = given.get("low", 0), given.get("high", 1)
    if name == "integers":
        low, high = (0, low) if given.get("high") is None else (low, high)
        high = high + bool(given.get("endpoint", False))
    width = given.get("scale", 1.0) if "scale" in LAWS[name] else np.subtract(high, low, dtype=object)
    count = width if name == "integers" else 0
    centre = given.get("loc", 0.0) if "loc" in LAWS[name] else low
    spread = np.asarray(width, dtype=float) * _SPREAD[name]
    if name == "standard_t":
        spread = np.sqrt((np.asarray(given["df"]) + 3.0) / (np.asarray(given["df"]) + 1.0))
    several = (spread, np.asarray(count, object), np.asarray(centre, object))
    return tuple(np.broadcast_to(each, shape) for each in several)  # type: ignore[return-value]


def _variables(drawn: Any, spread: Any, count: Any, centre: Any, stream: Stream | None, law: str) -> Any:
    trace, place = now(), here()

    def one(value: Any, size: float, values: Any, at: Any) -> Any:
        if not size:
            return value  # always the same
        step = 1 if values else 0
        if stream is None:
            own = {"spread": size, "centre": at, "law": law, "range": int(values), "place": place}
            variable = trace.variable("draw", -1, value, step, **own)
        else:
            variable = stream.variable(value, size, int(values), place, law)
        number = Number(value, alone(variable), INF, DRAWS, step)
        number.below = int(at) + int(values) if values and at >= 0 else 0
        return number

    if stream is None and not count.any() and spread.all() and np.ndim(drawn) > 1:
        several = zip(*(each.ravel().tolist() for each in (drawn, spread, centre)), strict=True)
        variables = [
            trace.variable("draw", -1, value, 0, spread=size, centre=at, law=law, place=place)
            for value, size, at in several
        ]
        lead = drawn.shape[:-1]
        if (table := unknowns(drawn, variables, np.full(lead, DRAWS, object), np.array(INF))) is not None:
            return of_table(table)
        forms = zip(drawn.ravel().tolist(), map(alone, variables), strict=True)
        flat = np.empty(drawn.size, object)
        flat[:] = [Number(value, form, INF, DRAWS, 0) for value, form in forms]
        return array_of(flat.reshape(drawn.shape), drawn.dtype)
    if np.ndim(drawn) == 0:
        return one(drawn.item() if isinstance(drawn, np.generic) else drawn, float(spread), count.item(), centre.item())
    return array_of(np.frompyfunc(one, 4, 1)(drawn.astype(object), spread, count, centre), drawn.dtype)


def _jointly(drawn: Any, stream: Stream | None, mean: Any, cov: Any, *args: Any, **kw: Any) -> Any:
    """Return normal draws of any covariance, as what they are made of: independent ones along its axes."""
    mean, cov = np.asarray(mean, dtype=float), np.asarray(cov, dtype=float)
    sizes, axes = np.linalg.eigh(cov)
    least = 1e-12 * sizes.max(initial=0.0)
    if not np.allclose(cov, cov.T, rtol=1e-12, atol=least) or sizes.min(initial=0.0) < -1e3 * least:
        now().leave("secret draws of what is no covariance")
    axes, spread = axes[:, sizes > least], np.sqrt(sizes[sizes > least])
    own = (drawn - mean) @ axes
    none = np.zeros(own.shape, object)
    draws = _variables(own, np.broadcast_to(spread, own.shape), none, none, stream, "normal")
    return draws @ axes.T + mean


def coin(name: str, drawn: Any, args: Any, kw: Any) -> Any:
    """Return a public coin, with all that it may be where that is little."""
    if np.asarray(drawn).dtype.kind not in "biuf":  # text, bytes, or what was shuffled in place
        now().narrow("public coins")
        return drawn
    if np.ndim(drawn) == 0:
        drawn = drawn.item() if isinstance(drawn, np.generic) else drawn
        return coin_among([each.item() for each in _options(name, args, kw)], drawn, "a public coin")
    return coin_among(_options(name, args, kw), drawn, "public coins")


def _options(name: str, args: Any, kw: Any) -> list[Any]:
    """List what a draw may be, if that is known and little."""
    given = dict(zip(_PARAMETERS.get(name, ()), args, strict=False)) | kw
    if name not in _PARAMETERS or given.get("axis"):
        return []
    size, replaced = given.get("size"), given.get("replace", name != "permutation")
    if name == "integers":
        low, high = given.get("low", 0), given.get("high")
        low, high = (0, low) if high is None else (low, high)
        if np.ndim(low) or np.ndim(high) or high - low > MOST_OPTIONS:
            return []
        pool = np.arange(low, high + bool(given.get("endpoint")))
    else:
        several = given["a" if name == "choice" else "x"]
        if np.size(several) > MOST_OPTIONS or (np.ndim(several) == 0 and several > MOST_OPTIONS):
            return []
        pool = np.arange(several) if np.ndim(several) == 0 else np.asarray(several)
        size = len(pool) if name == "permutation" else size
    count = 1 if size is None else math.prod(np.atleast_1d(size).tolist())
    if (len(pool) ** count if replaced else math.perm(len(pool), count)) > MOST_OPTIONS:
        return []
    places = range(len(pool))
    ways = itertools.product(places, repeat=count) if replaced else itertools.permutations(places, count)
    shape = () if size is None else tuple(np.atleast_1d(size).tolist())
    return [pool[list(way)].reshape((*shape, *pool.shape[1:])) for way in ways]


def _method(name: str) -> Callable[..., Any]:
    return lambda self, *args, **kw: self.drawn(name, args, kw)


for _name in dir(np.random.Generator):
    if not _name.startswith("_") and _name not in ("bit_generator", "spawn"):
        setattr(Draws, _name, _method(_name))


def generator(seed: Any = None) -> Any:
    """Stand for ``default_rng``: seeded by the system its draws are secret, by a public number they are public."""
    if is_seed(seed):
        return Draws(seeded_bits(np.random.PCG64, seed))
    if isinstance(seed, np.random.Generator):
        return seed
    seed, trace = by_value(lambda given: given, seed), now()
    trace.system_seeds += seed is None
    bits = np.random.default_rng([7, trace.system_seeds] if seed is None else seed).bit_generator
    return Draws(bits, secret=seed is None)


_LENGTHS = frozenset(256**k for k in range(1, 17))  # moduli that leave the last bytes of a draw
GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")


class SecretSequence(list[Any]):
    """The numbers of a secret seed, as NumPy's SeedSequence has them: behind those of a pool where it was spawned."""

    def __init__(self, entropy: Any, spawn_key: Sequence[Any] = ()) -> None:
        several = list(numbers_of(entropy))
        if spawn_key:
            words = sum(len(pieces_of(each)) // 4 for each in several)
            several += [0] * (POOL // 32 - words)
        super().__init__([*several, *spawn_key])
        self.entropy, self.spawn_key, self.spawned = entropy, tuple(spawn_key), 0

    def spawn(self, n_children: int) -> list[SecretSequence]:
        """Return seeds of their own, none of which it returned before."""
        first, self.spawned = self.spawned, self.spawned + n_children
        return [SecretSequence(self.entropy, (*self.spawn_key, first + k)) for k in range(n_children)]


@dataclass
class SecretBits:
    """A bit generator with a secret seed: of one generator, which goes on where it stands."""

    concrete: Any  # NumPy's, of this run
    stream: Stream
    sequence: SecretSequence | None = None  # None: it works with a key
    is_taken: bool = False

    def taken(self) -> Stream:
        """Return its stream, to the first generator that asks."""
        if self.is_taken:
            now().leave("two generators of one secret seed's bits")
        self.is_taken = True
        return self.stream

    def spawn(self, n_children: int) -> list[SecretBits]:
        """Return bit generators of its kind with seeds of their own."""
        if self.sequence is None:
            now().leave("generators spawned from one with a secret key")
        seeds = [] if self.sequence is None else self.sequence.spawn(n_children)
        return [seeded_bits(type(self.concrete), seed) for seed in seeds]

    def __reduce__(self) -> Any:
        now().leave("a copy of a generator")


def is_seed(seed: Any) -> bool:
    """Say whether anything in a seed is secret."""
    return any(isinstance(each, Number) for each in numbers_of(seed))


def seeded_bits(kind: Any, seed: Any) -> SecretBits:
    """Return NumPy's bit generator of this kind, as the stream that follows from a secret seed.

    Two kinds make two streams of one seed; default_rng is PCG64.
    """
    sequence = seed if isinstance(seed, SecretSequence) else SecretSequence(seed)
    pieces = pieces_of_several(sequence)
    # A pool is filled up with zeros, and a secret number is; some piece is secret.
    is_filled = isinstance(sequence[-1], Number)
    while pieces[-1] == ("public", 0) and (is_filled or len(pieces) <= POOL // 8):
        pieces.pop()
    stream = stream_of(f"{kind.__name__} {OF_SEQUENCE}", pieces, most_bits=POOL)
    return SecretBits(kind([int(getattr(each, "value", each)) for each in sequence]), stream, sequence)


def keyed_bits(kind: Any, key: Any, counter: Any = 0) -> SecretBits:
    """Return a bit generator that works with the key itself, two words of 64 bits or one of 128.

    Of a ``counter`` the two last words may be others than zero: the draws that follow do not meet then.
    """
    several = list(numbers_of(key))
    words = [bytes_of(each, 16 // len(several), "little") for each in several] if len(several) in (1, 2) else []
    if not words:
        now().leave("a key of another length than 128 bits")
    places = [0] * 4 if type(counter) is int and not counter else list(numbers_of(counter))
    if len(places) != 4 or any(type(each) is not int or each for each in places[:2]):
        now().leave("a counter whose first two words are not zero")
    ends = [bytes_of(each, 8, "little") for each in places[2:]]
    stream = stream_of(f"{kind.__name__} with a key", as_pieces([*words, *ends]))
    plain_key = sum(int.from_bytes(w.plain, "little") << 64 * k for k, w in enumerate(words))
    begin = [0, 0, *(int.from_bytes(each.plain, "little") for each in ends)]
    return SecretBits(with_key(kind, plain_key, counter=begin), stream)


def with_key(kind: Any, key: Any, **more: Any) -> Any:
    """Return a bit generator of a key: NumPy asks for a seed, and makes no use of it."""
    return unseeded(lambda: kind(key=key, **more))


def unseeded(make: Callable[[], Any]) -> Any:
    """Return what is made; that the system was asked for a seed meanwhile is not noted."""
    if not tracing():
        return make()
    before = dict(now().by_value)
    made = make()
    now().by_value = before
    return made


def numbers_of(seed: Any) -> Iterator[Any]:
    """Yield the numbers that a seed consists of."""
    if isinstance(seed, np.ndarray):
        yield from (seed.objects if isinstance(seed, Followed) else seed).ravel().tolist()
    elif isinstance(seed, (list, tuple)):
        for each in seed:
            yield from numbers_of(each)
    else:
        yield seed


def _as_words(pieces: Sequence[Piece]) -> list[Piece]:
    """Return the bytes of a number, filled up to words of 32 bits, which NumPy makes of one number and of several."""
    octets: list[Piece] = []
    for piece in pieces:
        is_complete = piece[0] == "draw" and (piece[2] == now().own(piece[1]).range or piece[2] in _LENGTHS)
        count = (piece[2] - 1).bit_length() if is_complete else 0
        octets += octets_of_draw(piece[1], -(-count // 8)) if is_complete else [piece]
    filled = -len(octets) % 4 if octets and is_octet(octets[0]) else 0
    return [*map(in_one_way, octets), *[("public", 0)] * filled]


def pieces_of_several(numbers: Sequence[Any]) -> list[Piece]:
    """Return what the numbers of a seed are made of, of which each has so many words whatever it is."""
    of_each = [pieces_of(each) for each in numbers]
    for k, (number, pieces) in enumerate(zip(numbers, of_each, strict=True)) if len(numbers) > 1 else ():
        is_last = k == len(numbers) - 1  # what is left out there is zero anyway
        if isinstance(number, Number) and (pieces[0][:1] == ("draw",) or (_may_be_short(number) and not is_last)):
            now().leave("a number of a seed that may have fewer words of 32 bits, which moves those after it,")
    return list(itertools.chain.from_iterable(of_each))


def _may_be_short(number: Number) -> bool:
    """Say whether the last word of a number is zero more often than once in 2**29, as it is of one below 2**61 - 1."""
    bits = math.log2(max(number.below or sum(c * now().own(v).range for v, c in number.terms.items()), 1))
    return bits > 32 and -bits % 32 > 3


def pieces_of(number: Any) -> list[Piece]:
    """Return what one number of a seed is made of: the bytes of words of 32 bits, which NumPy makes of it."""
    if isinstance(number, Number):
        pieces = secret_pieces(number)
        if not pieces:
            now().leave("a seed computed from secrets")
        if bare(number) is not None and not number.below:
            may_stop("a seed that may be negative")
        return _as_words(pieces) or [()]
    if is_iteration(number):
        return [("iteration", k, 4, now().call) for k in range(4)]
    number = int(number)
    length = 4 * max(-(-number.bit_length() // 32), 1)
    return [("public", octet) for octet in (number % 256**length).to_bytes(length, "little")]


def by_system(below: Callable[[int], Any], octets: Callable[[int], Any]) -> dict[str, Callable[..., Any]]:
    """Return methods of ``SystemRandom`` that draw whole numbers and bytes by these, where a protocol asks for them.

    It may have taken them long before, as ``partial(SystemRandom().randint, 0)`` does, so the class has them.
    """

    def between(start: int, stop: int | None = None) -> Any:
        return below(start) if stop is None else start + below(stop - start)

    def method(name: str, draw: Callable[..., Any]) -> Callable[..., Any]:
        original = getattr(random.SystemRandom, name)

        def ask(self: Any, *args: Any, **kw: Any) -> Any:
            asking: Any = sys._getframe(1)
            asking = asking.f_back if asking.f_code is random.Random.randint.__code__ else asking
            is_own = type(self) is random.SystemRandom and is_protocol(asking.f_code.co_filename)
            is_followed = is_own and len(args) <= _MOST_ARGUMENTS and not kw
            return draw(*args) if is_followed else original(self, *args, **kw)

        return ask

    draws: dict[str, Callable[..., Any]] = {"randrange": between, "getrandbits": lambda k: below(2**k)}
    draws |= {"randbytes": octets, "random": lambda: below(2**_OF_MANTISSA) * 2.0**-_OF_MANTISSA}
    return {name: method(name, draw) for name, draw in draws.items()}


_MOST_ARGUMENTS = 2  # of randrange: with a step it draws a lot, not a mask
_OF_MANTISSA = 53  # bits of a float between zero and one
