"""One protocol against one adversary: run, measured and judged."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from secmix.adversaries.interfaces import AdversaryTraits
from secmix.auditing import decide
from secmix.auditing.advice import advised, recommended, tried
from secmix.auditing.cell_parts import PrivacyClaim, Robustness, SigmaPoint, Trial, Verdict
from secmix.auditing.cells.confirm import CONFIRMING, confirmed
from secmix.auditing.cells.fields import (
    cell_fields,
    check_fields,
    corrupt_nodes,
    encryption_assumed,
    explained,
    leaked,
    not_measured,
    notes,
    sentence,
    stated,
)
from secmix.auditing.cells.groups import gather_in_groups
from secmix.auditing.cells.mask_size import sigma_curve
from secmix.auditing.cells.observed import observed, premises_of, readable, solvable, unchecked
from secmix.auditing.evidence.interface import (
    CellContext,
    Evidence,
    Gathered,
    asked,
    finite,
    is_counted,
    is_estimated,
)
from secmix.auditing.noise.privacy_claims import claim_of
from secmix.auditing.observation.observe import Seeds
from secmix.auditing.observation.sum_observation import SumObservation
from secmix.auditing.proof import iterations_in_words, narrowed_by, proof_of, with_proof_of
from secmix.auditing.report import Cell, CellResult, Finding
from secmix.auditing.robustness import robustness
from secmix.auditing.setup import CollaborationSetup, SumSetup
from secmix.auditing.soundness import Soundness
from secmix.errors import SecmixError
from secmix.kernel import KnownSums
from secmix.network import nodes_listed
from secmix.scenario import Scenario

_ASIDE = {"failed_matters": False, "late_matters": False}  # of what no verdict depends on
_ROBUSTNESS, _SIZES, _CHANGES = "what colluders can do to the result", "the curve over sizes of masks", "what to change"
_CLAIM = "the claim of differential privacy"
_SELDOM = 1.0  # seconds between results so far, which take a moment to make


@dataclass(frozen=True)
class Word:
    """Progress of a cell while it runs."""

    share: float  # of its steps that are done
    what: str  # begins now
    so_far: CellResult | None = None  # what the cell says if it ends now, where that is new; nobody is cleared in it


Notify = Callable[[Word], None]


def audit_cell(
    cell: Scenario,
    setup: SumSetup | CollaborationSetup,
    seeds: Seeds,
    reproduce: str,
    notify: Notify | None = None,
    deadline: float = math.inf,
) -> CellResult:
    """Run, measure and judge one cell, whatever its protocol.

    ``notify`` gets what begins, and the result so far: a violation in it stays one, whatever is measured, and whatever
    fails. After ``deadline`` (as of ``time.time``) nothing more is begun.
    """
    notify = notify or (lambda word: None)
    notify(Word(0.0, f"{cell.runs} runs"))
    case, checks = observed(cell, setup, seeds, partial(_look, notify, time.monotonic(), reproduce))
    case = replace(case, deadline=deadline)
    of_claim = [_CLAIM] * (cell.claim is not None)
    names = [*map(_called, _in_order(case)), CONFIRMING, _ROBUSTNESS, *of_claim, _SIZES, _CHANGES]
    steps = _Steps(names, notify, lambda measured, left: _so_far(case, checks, measured, left, reproduce))
    measured = _gathered(case, steps)
    steps.begin(CONFIRMING, _certain(measured), at_once=True)
    by_chance = any(is_counted(f) or is_estimated(f) for each in measured for f in each.findings)
    gathered = confirmed(case, measured) if by_chance else measured  # what follows from the protocol needs none of that
    steps.begin(_ROBUSTNESS, gathered)
    robust, failed = _robustness(case)
    for step in of_claim:
        steps.begin(step, gathered)
    claim = case.attempt(_CLAIM, lambda: claim_of(case)) if of_claim else None
    steps.begin(_SIZES, gathered)
    points = case.attempt(_SIZES, lambda: _mask_sizes(case), **_ASIDE) or []
    nodes = _judged(case, gathered).nodes

    def weighed() -> list[Trial]:
        advice = advised(
            *(cell, setup, nodes, points, robust, solvable(case, nodes), readable(case)),
            is_proved=isinstance(proof_of(case), KnownSums),
            narrow=bool(narrowed_by(case)),
        )
        colluders = robust.colluders if robust is not None and robust.verdict == "violated" else 0
        leaking = [node.node for node in nodes if node.standing in ("revealed", "partly leaked")]
        return tried(case, advice, colluders, leaking)

    steps.begin(_CHANGES, gathered)
    trials = case.attempt(_CHANGES, weighed, **_ASIDE) or []
    return _judged_cell(case, checks, gathered, reproduce, _Beside(robust, failed, points, trials, claim))


class _Steps:
    """Reports of each step of a cell as it begins.

    ``judge(found, left)`` gives what the cell says where the steps ``left``, of ``names``, are not reached.
    """

    def __init__(
        self, names: Sequence[str], notify: Notify, judge: Callable[[list[Gathered], list[str]], CellResult]
    ) -> None:
        self._names, self._notify, self._judge = list(names), notify, judge
        self._last = time.monotonic()

    def begin(self, name: str, measured: list[Gathered], *, at_once: bool = False) -> None:
        """Say that a step begins, and, now and then or ``at_once``, what was found before it."""
        k = self._names.index(name)
        so_far = None
        if measured and (at_once or time.monotonic() > self._last + _SELDOM):
            so_far = self._judge(measured, self._names[k:])
            self._last = time.monotonic()
        self._notify(Word((k + 1) / (len(self._names) + 1), name, so_far))


def _look(notify: Notify, begun: float, reproduce: str, case: CellContext, after: str) -> None:
    """Report exact evidence before the step ``after`` if the runs were slow, since that step may be slow too."""
    if time.monotonic() < begun + _SELDOM:
        return
    exact = [evidence for evidence in _in_order(case) if evidence.exact and not evidence.always]
    measured = [case.attempt(_called(evidence), partial(evidence.gather, case)) or Gathered() for evidence in exact]
    left = [f"{after}, and what follows"]
    # What fails here fails again with all runs, and is named there.
    notify(Word(0.0, after, case.attempt(after, lambda: _so_far(case, Soundness([]), measured, left, reproduce))))


@dataclass(frozen=True)
class _Beside:
    """Contents of a cell beside what its evidences found."""

    robustness: Robustness | None = None
    failed: bool = False  # whether what colluders can do was asked for and not found out
    points: list[SigmaPoint] = field(default_factory=list)
    trials: list[Trial] = field(default_factory=list)
    claim: PrivacyClaim | None = None


def _judged_cell(
    case: CellContext,
    checks: Soundness,
    gathered: list[Gathered],
    reproduce: str,
    beside: _Beside,
    *,
    finished: bool = True,
) -> CellResult:
    """Put what was found into a cell of the report, with its verdict; one that is not ``finished`` holds nowhere."""
    privacy = _judged(case, gathered)
    of_robustness: list[Verdict] = ["inconclusive"] * beside.failed
    if beside.robustness is not None:
        of_robustness = [beside.robustness.verdict]
    of_claim: list[Verdict] = [] if case.cell.claim is None else ["inconclusive"]
    if beside.claim is not None:
        of_claim = [beside.claim.verdict]
    verdict = decide.of_cell([privacy.verdict, *of_robustness, *of_claim], finished=finished)
    sums = case.observation if isinstance(case.observation, SumObservation) else None
    encryption = encryption_assumed(case) if any(node.verdict == "holds" for node in privacy.nodes) else ""
    covers = iterations_in_words(proof_of(case))
    content = Cell(
        **cell_fields(case.cell, case.setup, reproduce),
        **check_fields(checks, beside.robustness, encryption),
        is_collaboration=sums is None,
        verdict=verdict,
        sentence=sentence(verdict, privacy.nodes, beside.robustness, covers, beside.claim, public=_public(case))
        + not_measured(list(case.unmeasured)),
        robustness=beside.robustness,
        claim=beside.claim,
        heard=sorted(case.observation.lines.read),
        used=sorted(case.observation.lines.used),
        leaked=leaked(case),
        output_error=finite(sums.output_error) if sums else None,
        nodes=sorted(privacy.nodes + corrupt_nodes(case.setup), key=lambda s: s.node),
        # Several evidences may draw the same curve: one a node will do.
        curves=list({curve.node: curve for each in gathered for curve in each.curves}.values()),
        sigma_curve=beside.points,
        picture=next((each.picture for each in gathered if each.picture), None),
        advice=recommended(beside.trials),
        trials=beside.trials,
        notes=[*notes(case), *_skipped(gathered), *_missed(case, gathered)],
        unmeasured=list(case.unmeasured),
        proof=stated(case),
        covers=covers,
    )
    return content, privacy.findings


def _so_far(
    case: CellContext, checks: Soundness, measured: list[Gathered], left: list[str], reproduce: str
) -> CellResult:
    """Return a cell of the findings so far, before the steps ``left``; it clears nobody."""
    unmeasured = {**case.unmeasured, **{f"{what}: not reached": True for what in left}}
    case = with_proof_of(case, replace(case, unmeasured=unmeasured))
    beside = _Beside(failed=AdversaryTraits.of(case.setup.adversary).against is not None)
    return _judged_cell(case, checks, measured, reproduce, beside, finished=False)


def _robustness(case: CellContext) -> tuple[Robustness | None, bool]:
    """Return the damage that colluders do, and whether that was asked for and could not be found out."""
    if AdversaryTraits.of(case.setup.adversary).against is None:
        return None, False
    damage = case.attempt(_ROBUSTNESS, lambda: robustness(case))
    return damage, damage is None


def revealed(cell: Scenario, setup: SumSetup, seeds: Seeds) -> list[int]:
    """Return the nodes whose data are known by the evidence that ``cell`` asks for; the others may be doubtful.

    Raises SecmixError if an evidence fails: it might have revealed somebody.
    """
    case = unchecked(cell, setup, seeds)
    nodes = _judged(case, _gathered(case, None)).nodes
    if case.unmeasured:
        raise SecmixError("; ".join(case.unmeasured))
    return [node.node for node in nodes if node.standing == "revealed"]


def _called(evidence: Evidence) -> str:
    return f"evidence '{evidence.name}'"


def _in_order(case: CellContext) -> list[Evidence]:
    """Return what is gathered; evidence that only bounds the leakage of nodes not settled comes last."""
    return sorted(asked(case), key=lambda each: each.bounds_only)


def _gathered(case: CellContext, steps: _Steps | None) -> list[Gathered]:
    """Return what each evidence found, in the order of reports."""
    by_name: dict[str, Gathered] = {}
    exact = False
    for evidence in _in_order(case):
        if steps is not None:
            steps.begin(_called(evidence), _certain(by_name.values()), at_once=exact)
        exact = evidence.exact
        # An evidence that a scenario may leave out accuses and clears nobody: so it may be left out for time.
        needed = evidence.exact or evidence.always
        gather = partial(gather_in_groups, evidence) if case.observation.in_groups else evidence.gather
        gathered = case.attempt(_called(evidence), partial(gather, case), late_matters=needed)
        by_name[evidence.name] = gathered or Gathered()
        so_far: dict[int, list[Finding]] = defaultdict(list)
        for other in by_name.values():
            for finding in other.findings:
                so_far[finding.node].append(finding)
        case.decided.update(node for node in case.judged if decide.decides(so_far[node], case.cell.policy))
    return [by_name[evidence.name] for evidence in asked(case)]


def _certain(gathered: Iterable[Gathered]) -> list[Gathered]:
    """Return what was found without what fresh runs may not confirm."""
    return [replace(each, findings=[f for f in each.findings if not is_estimated(f)]) for each in gathered]


def _judged(case: CellContext, gathered: list[Gathered]) -> decide.Privacy:
    """Decide on the privacy of a cell, and say of each node what leaves its verdict open."""
    premises = {node: premises_of(case, node) for node in case.judged}
    findings = [finding for each in gathered for finding in each.findings]
    policy = case.cell.policy
    if not _public(case):  # max_membership limits what leaves, and asks nobody else
        policy = policy.model_copy(update={"max_membership": None})
    privacy = decide.of_findings(findings, premises, policy)
    return replace(privacy, nodes=explained(privacy, premises, case.cell.runs))


def _public(case: CellContext) -> bool:
    return AdversaryTraits.of(case.setup.adversary).reads_result


def _skipped(gathered: list[Gathered]) -> list[str]:
    """Say what was not measured because the data of a node were known already."""
    nodes: dict[str, list[int]] = {}
    for what, node in (pair for each in gathered for pair in each.skipped):
        nodes.setdefault(what, []).append(node)
    known = "whose data are known already"
    return [f"{what}: not measured of {nodes_listed(which)}, {known}" for what, which in nodes.items()]


def _missed(case: CellContext, gathered: list[Gathered]) -> list[str]:
    """Return what could not be measured, and why, in words."""
    missed = (why for each in gathered for why in each.missed)
    return [f"not measured: {why}" for why in dict.fromkeys([*missed, *case.unmeasured])]


def _mask_sizes(case: CellContext) -> list[SigmaPoint]:
    """Return the curve where Gaussian evidence is asked for; none where messages are no finite numbers.

    All else that is known still counts.
    """
    if "gaussian" not in case.cell.measure.evidence:
        return []
    try:
        with np.errstate(all="ignore"):
            return sigma_curve(case)
    except (np.linalg.LinAlgError, FloatingPointError):
        return []
