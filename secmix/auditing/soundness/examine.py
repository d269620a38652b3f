"""All checks of a sum protocol, in the order in which each presumes the ones before."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from secmix._base.checks import Array
from secmix._base.random import stream
from secmix.adversaries import Adversary
from secmix.adversaries.interfaces import AdversaryTraits
from secmix.auditing.soundness.mechanisms import repeat, scales
from secmix.auditing.soundness.mechanisms.corners import corners
from secmix.auditing.soundness.mechanisms.draws import public_draws
from secmix.auditing.soundness.mechanisms.exact import exact_replay
from secmix.auditing.soundness.mechanisms.fits import fits
from secmix.auditing.soundness.mechanisms.modular import residues
from secmix.auditing.soundness.mechanisms.provenance import provenance
from secmix.auditing.soundness.mechanisms.replay import replay
from secmix.auditing.soundness.model import Bench, Case, Model, note_shares, read_model
from secmix.auditing.soundness.result import BLIND, Check, Soundness, Witness, guarded
from secmix.auditing.soundness.runner import ALLOWED, fresh
from secmix.auditing.soundness.sight import Eyes
from secmix.errors import SecmixError
from secmix.estimators.exact.structure import LeakedSubspace
from secmix.network import Network
from secmix.protocols import SumProtocol

RUNS = 4  # real runs of a case
_Mechanism = Callable[[Bench, list[Model]], Check]
_ALWAYS: tuple[tuple[str, _Mechanism], ...] = (
    ("mask provenance", provenance),
    ("state", repeat.state),
    ("calls", repeat.calls),
)
_LINEAR: tuple[tuple[str, _Mechanism], ...] = (
    ("replay", replay),
    ("fits", fits),
    ("corners", corners),
    ("exact replay", exact_replay),
    ("public draws", public_draws),
    ("homogeneity", scales.homogeneity),
    ("residues", residues),
)


def examine(
    protocol: SumProtocol,
    network: Network,
    adversary: Adversary,
    inputs: Mapping[int, Array],
    *,
    used: SumProtocol | None = None,
    asked: tuple[int, ...] | None = None,
    seed: int = 0,
) -> Soundness:
    """Every check of ``protocol`` against ``adversary``.

    Parameters
    ----------
    protocol : sum protocol
        As it was built, before any run.
    inputs : mapping of iteration -> (n, runs, m)
        What the nodes put into the sums of some real runs.
    used : sum protocol, optional
        The object that has been through the runs.
    asked : tuple of int, optional
        The nodes that are asked about; default: all honest ones.

    Examples
    --------
    >>> from secmix.adversaries import Eavesdropper
    >>> from secmix.protocols import SecureSum
    >>> inputs = {0: np.random.default_rng(0).normal(size=(5, 20, 3))}
    >>> examine(SecureSum(), Network.cycle(5), Eavesdropper(), inputs).doubts
    []
    """
    corrupt = adversary.corrupt_nodes(network)
    asked = tuple(sorted(set(range(network.n)) - corrupt)) if asked is None else asked
    blind = not AdversaryTraits.of(adversary).sees_metadata
    eyes = Eyes(adversary, network, corrupt, blind)
    cases = _cases(protocol, network, inputs, seed)
    spread = np.std(cases[0].inputs.reshape(-1, cases[0].inputs.shape[2]), axis=0)
    spread = np.where(spread > 0, spread, max(float(spread.max(initial=0.0)), 1e-12))
    bench = Bench(fresh(protocol), network, eyes, cases, asked, spread, seed, protocol if used is None else used)
    bench.runs = min(inputs[cases[0].iteration].shape[1], 500)
    models: list[Model] = []
    checks = [guarded("linearity", lambda: _linearity(bench, models))]
    if models:
        checks += [guarded(name, lambda run=run: run(bench, models)) for name, run in _ALWAYS]  # type: ignore[misc]
        if not checks[0].failed:
            checks += [guarded(name, lambda run=run: run(bench, models)) for name, run in _LINEAR]  # type: ignore[misc]
    if bench.altered and not any(check.failed for check in checks):
        checks.append(Check("record", "failed", f"The record of some call does not tell all: {bench.altered}."))
    if not any(check.failed for check in checks):
        checks.append(_together(bench))
    if blind:
        checks.insert(0, BLIND)
    return Soundness(checks, bench.shares, masks=bench.masks)


def _together(bench: Bench) -> Check:
    """What all calls tell together of inputs that stay as they are: sums over other nodes differ by a node.

    Statistics hardly change once a fit has settled. Who sits out now and then, or weighs otherwise, is then known by
    what two averages differ by.
    """
    bases = [model.subspace.basis for _, model in bench.models]
    n, own = bench.network.n, np.eye(bench.network.n)[sorted(bench.eyes.corrupt)]
    size, vectors = np.linalg.svd(np.vstack([*bases, own, np.zeros((1, n))]))[1:]
    known = vectors[: int((size > 1e-6).sum())]
    worst = {node: float((known[:, node] ** 2).sum()) for node in bench.asked}
    node = max(worst, key=lambda node: worst[node] - bench.shares.get(node, 0.0), default=None)
    if node is None or worst[node] <= bench.shares.get(node, 0.0) + 1e-6:
        return Check("together", "passed", "All calls together tell no more of inputs than each by itself.")
    what = f"of a vector of node {node} that stays the same they tell {worst[node]:.0%}"
    sentence = "Calls open sums over other nodes, or with other weights: what these differ by is known too."
    return Check("together", "failed", sentence, Witness("all messages of several calls", what))


def known_in(
    protocol: SumProtocol, network: Network, adversary: Adversary, inputs: Array, *, seed: int = 0
) -> tuple[LeakedSubspace, Witness | None]:
    """What ``adversary`` learns of one call on ``inputs`` (n, runs, m), and the first message that is not linear.

    Raises
    ------
    SecmixError
        The call fails.
    """
    corrupt = adversary.corrupt_nodes(network)
    eyes = Eyes(adversary, network, corrupt, not AdversaryTraits.of(adversary).sees_metadata)
    [case] = _cases(protocol, network, {0: inputs}, seed, most=inputs.shape[1])
    spread = np.ones(inputs.shape[2])
    bench = Bench(fresh(protocol), network, eyes, [case], (), spread, seed, None)
    call = bench.call(bench.probed(case))
    if call.failure:
        raise SecmixError(f"the protocol fails with {call.failure}")
    model = read_model(bench, case, call)
    return model.subspace, model.odd


def _cases(
    protocol: SumProtocol, network: Network, inputs: Mapping[int, Array], seed: int, most: int = RUNS
) -> list[Case]:
    """Real runs of the first iteration and of the last."""
    chosen = sorted({min((t for t in inputs if t >= 0), default=min(inputs)), max(inputs)})
    cases = []
    for place, t in enumerate(chosen):
        # No zero with a sign, as rounded data have them: sums with zeros, which the checks form, do not keep it.
        s = np.asarray(inputs[t].transpose(1, 0, 2)[:most], dtype=float) + 0.0
        rng = stream(seed, "soundness", "masks of real runs", place)
        masks = np.asarray(fresh(protocol).draw_masks(len(s), s.shape[2], network, rng), dtype=float)
        cases.append(Case(t, s, masks, place))
    return cases


def _linearity(bench: Bench, models: list[Model]) -> Check:
    """Probes and real runs in one call: each message is c + A s + M r to KAPPA units of rounding."""
    witness: Witness | None = None
    for case in bench.cases:
        if models and bench.heavy:
            break
        call = bench.call(bench.probed(case))
        if call.failure:
            return Check("linearity", "failed", f"The protocol fails with {call.failure}.", calls=bench.calls)
        bench.most = max(bench.most or 0, ALLOWED * call.messages)
        model = read_model(bench, case, call)
        note_shares(bench, model)
        models.append(model)
        witness = witness or bench.eyes.overlooks(call)
        witness = witness or model.odd
        if call.altered:
            witness = witness or Witness("the transcript", call.altered)
    if witness is not None:
        sentence = "Some messages are not linear in inputs and masks: what follows from those is not known exactly."
        return Check("linearity", "failed", sentence, witness, len(bench.cases))
    return Check(
        "linearity", "passed", "Every message is a linear function of inputs and masks.", calls=len(bench.cases)
    )
