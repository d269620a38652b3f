"""check_protocol: a user's protocol on drawn networks, sizes and coalitions; what fails is a test to paste."""

from __future__ import annotations

import copy
import secrets
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, integer, positive
from secmix.adversaries import Adversary, HonestButCurious
from secmix.adversaries.search.oracle import quietly
from secmix.errors import NetworkError, SecmixError
from secmix.estimators.exact.structure import leaked_subspace
from secmix.network import Network
from secmix.protocols import Collaboration, SumProtocol
from secmix.protocols.collaboration import checked_parts
from secmix.protocols.interfaces import SumTraits
from secmix.testing.counterexample import source_of, written
from secmix.testing.properties import Property
from secmix.testing.protocol_properties import COLLABORATION, SUM
from secmix.testing.sizes import wide_networks
from secmix.testing.summary import ProtocolCheck
from secmix.testing.watching import numbers_in
from secmix.transcript import Channel

NodeSets = Iterable[Iterable[int]]
Reveals = Literal["nothing", "total", "everything"] | NodeSets | Callable[[Network, frozenset[int]], NodeSets]
_CASES = {"quick": 14, "thorough": 200}
_WIDE = {"quick": 18, "thorough": 200}  # cases of drawn sizes, and as many of sizes that the code names
_LIGHT = ("average", "linear", "any size")  # what these are tried on


@dataclass(frozen=True)
class _Case:
    network: Network
    kind: str
    values: dict[str, Any]


def check_protocol(
    protocol: SumProtocol | Collaboration,
    *,
    reveals: Reveals = "total",
    network: Network | None = None,
    adversary: Adversary | None = None,
    parts: Sequence[ArrayLike] | None = None,
    tolerance: float = 1e-6,
    skip: Iterable[str] = (),
    level: Literal["quick", "thorough"] = "quick",
    seed: int | None = None,
) -> ProtocolCheck:
    """Hold a protocol to everything that the audit presumes of it, and to what it says it reveals.

    A sum protocol must give every node the mean, draw its masks as they should be, send what unit inputs and unit masks
    say, pass nothing outside the channel, go on with what arrived, depend on nothing but its inputs and its generator,
    and let an adversary learn the stated combinations of inputs and no others. Of a *collaboration* the results, the
    channel and the generator are checked.

    Parameters
    ----------
    protocol : sum protocol or collaboration
    reveals : {"nothing", "total", "everything"}, sets of nodes, or function of (network, corrupt)
        The sums of inputs that an adversary may learn, each as the set of its nodes. What corrupt nodes put in
        themselves is always known to them.
    network : Network, optional
        By default several are drawn; those that the protocol refuses with a NetworkError are counted.
    adversary : Adversary, optional
        By default coalitions of honest-but-curious nodes are drawn, who also hear every plain line.
    parts : sequence of (runs, N_i, d), optional
        Rows of each node for a collaboration; standard normal ones are drawn where none are given.
    tolerance : float
        The largest error of an average, for inputs of size 1; in proportion for larger ones.
    skip : iterable of str
        Properties, by title, that the protocol does not promise.
    level : {"quick", "thorough"}
    seed : int, optional
        Draws the same cases again; by default each check draws others.

    Returns
    -------
    ProtocolCheck
        How many cases of which sizes were tried, and what is assumed; print it.

    Raises
    ------
    AssertionError
        A promise is broken; the message holds the smallest case that was found, as a test to paste.
    SecmixError
        The arguments make no sense.

    Notes
    -----
    It says whether the protocol is what it is said to be, for inputs of any distribution; how much the permitted sums
    tell of a node's data is the audit's matter.

    Examples
    --------
    >>> from secmix.protocols import Plain, SecureSum
    >>> check_protocol(SecureSum(sigma=10.0, encrypted=True), reveals="nothing", seed=0,
    ...     network=Network.cycle(4), adversary=HonestButCurious([0], eavesdrops=False), skip=["reveals"]).nodes
    (4, 4)
    >>> try:
    ...     check_protocol(Plain(), reveals="total", seed=0)
    ... except AssertionError as error:
    ...     print(str(error).splitlines()[0])
    Plain fails "reveals": an adversary learns no combination of inputs but those that are stated, and its own.
    """
    positive(tolerance, "tolerance")
    if level not in _CASES:
        raise SecmixError(f"level is 'quick' or 'thorough'; given {level!r}")
    if not isinstance(protocol, SumProtocol | Collaboration):
        raise SecmixError(
            f"{type(protocol).__name__} has neither average and draw_masks nor collaborate and error: it is no protocol"
        )
    properties = COLLABORATION if isinstance(protocol, Collaboration) else SUM
    if unknown := set(skip) - {one.title for one in properties}:
        raise SecmixError(f"skip names {sorted(unknown)}; the properties are {[one.title for one in properties]}")
    seed = secrets.randbits(32) if seed is None else integer(seed, "seed", least=0)
    rng = np.random.default_rng(seed)
    given = None if parts is None else checked_parts(parts)
    cases: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    sizes: list[tuple[int, int, int]] = []
    calls = refused = coalitions = less = 0
    plan: list[tuple[Network, str, tuple[int, int] | None]] = [
        (drawn, kind, None) for drawn, kind in islice(cycle(_networks(network, given, rng)), _CASES[level])
    ]
    if not isinstance(protocol, Collaboration):
        plan += wide_networks(protocol, network, numbers_in(protocol), _WIDE[level], rng)
    for place, (drawn, kind, size) in enumerate(plan):
        if isinstance(protocol, Collaboration):
            values = _rows(drawn, given, rng)
        else:
            values = _inputs(protocol, drawn, place, reveals, adversary, tolerance, rng, size)
        case = _Case(drawn, kind, {**values, "network": drawn, "seed": int(rng.integers(2**31))})
        if not _runs_on(protocol, case):
            refused += 1
            continue
        for one in properties:
            if one.title in skip or (one.most is not None and cases[one.title] >= one.most):
                continue
            if (size is not None and one.title not in _LIGHT) or (one.title == "any size" and "reveals" in skip):
                continue
            cases[one.title] += 1
            calls += one.calls
            if why := _failure(protocol, one, case):
                _fail(protocol, one, *_smallest(protocol, one, case, why), seed)
        kinds[kind] += 1
        sample = values.get("inputs", values.get("parts", [None])[0])
        sizes.append((drawn.n, sample.shape[0], sample.shape[2]))
        if "stated" in values and "reveals" not in skip and size is None:
            coalitions += 1
            less += _learns_less(protocol, case)
    if not sizes:
        raise AssertionError(f"{type(protocol).__name__} refuses every network that was tried ({refused})")
    ends = [(min(column), max(column)) for column in zip(*sizes, strict=True)]
    return ProtocolCheck(
        type(protocol).__name__, dict(cases), calls, ends[0], ends[1], ends[2], dict(kinds), refused, coalitions, less,
        seed,
    )  # fmt: skip


def _networks(
    network: Network | None, parts: list[Array] | None, rng: np.random.Generator
) -> list[tuple[Network, str]]:
    """Networks to try, small ones first; those given stand alone."""
    if network is not None:
        return [(network, "given")]
    if parts is not None:
        return [(Network.complete(len(parts)), "complete"), (Network.cycle(len(parts)), "cycle")][: len(parts) - 1]
    found = [(Network.complete(3), "complete"), (Network.cycle(4), "cycle"), (Network.complete(5), "complete")]
    for least, most in ((4, 7), (5, 9), (9, 13)):
        n = int(rng.integers(least, most))
        name = rng.permutation(n)
        ring = {tuple(sorted((int(name[i]), int(name[(i + 1) % n])))) for i in range(n)}
        chords = {tuple(sorted(map(int, rng.choice(n, 2, replace=False)))) for _ in range(n // 2)}
        found.append((Network.from_edges(n, sorted(ring | chords)), "cycle with chords"))
        tree = [(int(name[i]), int(name[rng.integers(i)])) for i in range(1, n)]
        found.append((Network.from_edges(n, tree), "tree"))
    return found


def _inputs(
    protocol: SumProtocol,
    network: Network,
    place: int,
    reveals: Reveals,
    adversary: Adversary | None,
    tolerance: float,
    rng: np.random.Generator,
    size: tuple[int, int] | None = None,
) -> dict[str, Any]:
    runs, entries = (1, 1) if place == 0 else (int(rng.integers(1, 9)), int(np.exp(rng.uniform(0, np.log(40)))))
    entries, runs = size or (entries, runs)
    scale = 1.0 if place < 3 else float(10.0 ** rng.uniform(-3, 3))
    inputs = scale * rng.standard_normal((runs, network.n, entries))
    inputs = np.rint(9 * inputs / scale) if place == 0 else inputs
    if adversary is None:
        count = 1 if place < 3 else int(rng.integers(1, max(network.n - 1, 2)))
        adversary = HonestButCurious(sorted(int(i) for i in rng.choice(network.n, count, replace=False)))
    return {
        "inputs": inputs,
        "entries": entries if place else 2,
        "tolerance": tolerance * max(1.0, float(np.abs(inputs).max())),
        "adversary": adversary,
        "stated": _stated(reveals, network, adversary.corrupt_nodes(network)),
        "rounds": 2 if SumTraits.of(protocol).reuses_masks else 1,
    }


def _stated(reveals: Reveals, network: Network, corrupt: frozenset[int]) -> list[set[int]]:
    """The sums of inputs that may be learnt, as sets of nodes."""
    everybody = set(range(network.n))
    if reveals == "nothing":
        return []
    if reveals == "total":
        return [everybody]
    if reveals == "everything":
        return [{i} for i in sorted(everybody)]
    if isinstance(reveals, str):
        raise SecmixError(
            f"reveals is 'nothing', 'total', 'everything', sets of nodes or a function; given {reveals!r}"
        )
    sets = reveals(network, corrupt) if callable(reveals) else reveals
    found = [{int(i) for i in nodes} for nodes in sets]
    if any(not nodes <= everybody for nodes in found):
        raise SecmixError(f"reveals names nodes that the network of {network.n} does not have: {found}")
    return found


def _rows(network: Network, parts: list[Array] | None, rng: np.random.Generator) -> dict[str, Any]:
    if parts is not None:
        # In place of one's rows, the same dealt anew: other rows of the same kind.
        others = [part[:, rng.permutation(part.shape[1])] + 0.1 * part.std() for part in parts]
        return {"parts": [part.copy() for part in parts], "others": others}
    count, features = int(rng.integers(8, 20)), int(rng.integers(2, 4))
    first, second = (list(rng.standard_normal((network.n, 1, count, features))) for _ in "ab")
    return {"parts": first, "others": second}


def _runs_on(protocol: Any, case: _Case) -> bool:
    """Whether the protocol runs on this network; only a NetworkError is a refusal."""
    rng = np.random.default_rng(case.values["seed"])
    try:
        if "parts" in case.values:
            quietly(lambda: protocol.collaborate(case.values["parts"], case.network, rng, channel=Channel()))
        else:
            quietly(lambda: protocol.average(case.values["inputs"].copy(), case.network, rng))
    except NetworkError:
        return False
    except Exception:  # reported by the first property, with a test to paste
        return True
    return True


def _failure(protocol: Any, one: Property, case: _Case) -> BaseException | None:
    # Copies: a protocol that writes on its inputs must not change the case.
    needed = {name: copy.deepcopy(case.values[name]) for name in one.needs}
    try:
        quietly(lambda: exec(compile(one.lines, f"<{one.title}>", "exec"), {"protocol": protocol, "np": np, **needed}))
    except (Exception, SystemExit) as error:
        return error
    return None


def _smallest(protocol: Any, one: Property, case: _Case, why: BaseException) -> tuple[_Case, BaseException]:
    """A case with fewer runs and entries, and rounder inputs, that fails alike."""
    if "inputs" not in one.needs:
        return case, why
    found, left = True, 60
    while found and left > 0:
        found, left = False, left - 1
        inputs = case.values["inputs"]
        fewer = [inputs[: len(inputs) // 2], inputs[len(inputs) // 2 :], inputs[1:]] if len(inputs) > 1 else []
        width = inputs.shape[2]
        fewer += [inputs[:, :, : width // 2], inputs[:, :, width // 2 :], inputs[:, :, 1:]] if width > 1 else []
        rounder = [0 * inputs, np.sign(inputs), np.rint(inputs), np.round(inputs, 1)]
        for smaller in (*fewer, *(other for other in rounder if len(repr(other)) < len(repr(inputs)))):
            candidate = _Case(case.network, case.kind, {**case.values, "inputs": smaller})
            error = _failure(protocol, one, candidate)
            if error is not None and type(error) is type(why):
                case, why, found = candidate, error, True
                break
    return case, why


def _learns_less(protocol: Any, case: _Case) -> bool:
    """Whether the adversary learns fewer combinations than are stated."""
    values = case.values
    leaked = leaked_subspace(protocol, case.network, values["adversary"], rng=values["seed"])
    own = [{node} for node in leaked.corrupt]
    rows = [[float(i in nodes) for i in range(case.network.n)] for nodes in [*values["stated"], *own]]
    return bool(rows) and leaked.rank < np.linalg.matrix_rank(np.array(rows))


def _fail(protocol: Any, one: Property, case: _Case, why: BaseException, seed: int) -> None:
    name = type(protocol).__name__
    said = f"{type(why).__name__}: {why}".splitlines()[0][:300]
    said = said if isinstance(why, AssertionError) else f"the protocol raises {said}"
    imports, definition = source_of(protocol)
    lines = [f"{key} = {_written(case.values[key])}" for key in one.needs]
    head = "\n".join(["import numpy as np", "", "from secmix import Network, adversaries", *imports])
    title = one.title.replace(" ", "_")
    function = f"def test_{name}_{title}():\n" + textwrap.indent("\n".join([*lines, one.lines.strip("\n")]), "    ")
    call = f'if __name__ == "__main__":\n    test_{name}_{title}()'
    test = "\n\n\n".join(part.strip("\n") for part in (head, definition, function, call) if part.strip())
    raise AssertionError(
        f'{name} fails "{one.title}": {one.promise}\n{said}\n'
        f"{case.kind} network of {case.network.n} nodes; found with seed={seed}.\n\n{test}\n"
    ) from None


def _written(value: Any) -> str:
    if isinstance(value, Network):
        return f"Network.from_edges({value.n}, {[(int(a), int(b)) for a, b in value.edges]})"
    if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, HonestButCurious):
        return f"adversaries.HonestButCurious({sorted(map(int, value.corrupt))}, eavesdrops={value.eavesdrops})"
    if isinstance(value, Adversary):
        return f"adversaries.{value!r}"
    return written(value)
