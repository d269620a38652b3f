"""Account of epsilon of a recorded run: what each client spent, by the rounds in which it really took part.

How it is got: a client takes part in a round in which it sends a model or an update, each different one of which is a
release; rounds of a plan that it missed count for nothing, those that were added count. Epsilons add up as those of
releases with the stated noise do (:func:`~secmix.privacy.releases_epsilon`).

What it assumes: All about the noise is taken on somebody's word: that there is any, its kind and scale, the sensitivity
of what it is added to, and that it is drawn anew. One run shows no noise, so that nothing is cleared by this account.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from secmix._base.toml_text import read_toml
from secmix.errors import ScenarioError
from secmix.privacy import releases_epsilon
from secmix.recording import RecordedMessage, Recording
from secmix.recording.nvflare.ends import JobRecording
from secmix.scenario import ClaimSpec
from secmix.scenario.settings import Positive, Strict

_RELEASED = ("model", "update")
_SPARSE = "SVTPrivacy"


class StatedNoise(Strict):
    """Noise that every model or update of a client carries, as its configuration says.

    ``scale``: standard deviation, or scale of the Laplace distribution; ``sensitivity``: how far what is sent moves
    between neighbours, in L2 norm or, for Laplace noise, in L1 norm: twice the norm that an update is clipped to, if it
    may be any other.
    """

    kind: Literal["gaussian", "laplace"] = "gaussian"
    scale: Positive
    sensitivity: Positive

    @property
    def words(self) -> str:
        """The noise in a sentence."""
        return f"{self.kind.capitalize()} noise of scale {self.scale:g} on what moves by {self.sensitivity:g} at most"


class StatedClaim(Strict):
    """A claim about a recorded run, with the noise that it rests on."""

    claim: ClaimSpec
    noise: StatedNoise


@dataclass(frozen=True)
class RecordedSpending:
    """Epsilon of one client in a recorded run."""

    client: str
    rounds: list[int]  # in which it took part
    epsilon: list[float]  # after each of them
    delta: float
    word: str  # what was taken on whose word
    # kinds of numbers that the same messages hold, and for which no noise is stated
    beside: list[str] = field(default_factory=list)
    claimed: float | None = None  # epsilon that is claimed of all rounds together

    @property
    def total(self) -> float:
        """Epsilon of all rounds."""
        return self.epsilon[-1] if self.epsilon else 0.0

    def as_plain(self) -> dict[str, Any]:
        """Return the account as plain values; None stands for infinity."""
        return vars(self) | {"epsilon": [each if math.isfinite(each) else None for each in self.epsilon]}


def read_stated(path: Path) -> StatedClaim:
    """Read the tables ``[claim]`` and ``[noise]`` of a TOML file.

    Raises ScenarioError if the file cannot be read, or a key is unknown, missing or of no allowed value.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{path}: cannot be read ({type(error).__name__})") from None
    try:
        return StatedClaim.model_validate(read_toml(text, str(path)))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise ScenarioError(
            f"{path}, {key}: {first['msg']}; expected [claim] with epsilon and delta, and [noise] with kind "
            '("gaussian" or "laplace"), scale and sensitivity'
        ) from None


def spent_as_stated(
    recording: Recording, stated: StatedClaim, names: Mapping[int, str] | None = None
) -> list[RecordedSpending]:
    """Return what each node spent by the rounds of a recording, if its models and updates carry the stated noise.

    ``names``: of nodes by their number; by default "node 0" and so on. Raises SecmixError if the noise leaves no
    epsilon at the delta of the claim.
    """
    delta, word = stated.claim.delta, f"{stated.noise.words}, drawn anew for each message"
    spent = []
    for node in recording.nodes:
        sent = [m for m in recording.messages if m.sender == node]
        by_round = _releases(sent)
        counts = list(accumulate(by_round.values()))
        name = (names or {}).get(node, f"node {node}")
        epsilons = [_epsilon(stated.noise, count, delta) for count in counts]
        beside = sorted(set(_beside(sent)))
        spent.append(RecordedSpending(name, list(by_round), epsilons, delta, word, beside, stated.claim.epsilon))
    return spent


def _epsilon(noise: StatedNoise, count: int, delta: float) -> float:
    ratios = [noise.sensitivity / noise.scale] * count
    if noise.kind == "gaussian" and delta == 0:
        return math.inf
    return releases_epsilon(**{noise.kind: ratios}, delta=delta)


def _releases(sent: list[RecordedMessage]) -> dict[int, int]:
    """Return how many different models or updates a node sent in each round in which it sent any."""
    contents: dict[int, set[bytes]] = {}
    for message in sent:
        arrays = [numbers for role in _RELEASED for numbers in message.of_role(role)]
        if arrays:
            contents.setdefault(message.iteration, set()).add(b"".join(each.tobytes() for each in arrays))
    return {number: len(contents[number]) for number in sorted(contents)}


def _beside(sent: list[RecordedMessage]) -> Iterator[str]:
    """Yield what is sent in clear numbers beside models and updates."""
    for message in sent:
        for kind, names, numbers in message.parts:
            if message.roles.get(kind) not in (*_RELEASED, "opaque", "error") and len(numbers):
                yield from names or [kind]


def spent_as_configured(job: JobRecording) -> list[RecordedSpending]:
    """Return what each client of a job spent by the sparse vector technique of NVFlare, as its own accountant counts.

    A call spends ``epsilon`` on which numbers are sent, and on these ``epsilon_release`` or ``noise_var`` each.
    Variables of a single number count among those it chooses from and pass it without noise: this is nobody's proof.
    """
    spent = []
    for participant in job.participants:
        for line in participant.filters:
            if _SPARSE in (line["class"], *line.get("parents", [])) and not participant.server:
                passed = [p for p in participant.passages if p["filter"] == line["id"] and p.get("numbers")]
                budgets = [_of_call(line["arguments"], int(p["numbers"] + p["single"])) for p in passed]
                word = f"the budget of {line['class']} ({', '.join(line['keys'])}), as it counts by itself"
                rounds = list(range(len(passed)))
                spent.append(RecordedSpending(participant.name, rounds, list(accumulate(budgets)), 0.0, word))
    return [participant for participant in spent if participant.rounds]


def _of_call(arguments: Mapping[str, Any], numbers: int) -> float:
    sent = min(math.ceil(numbers * float(arguments.get("fraction", 0.1))), numbers)
    if sent <= 0:
        return 0.0
    release = arguments.get("epsilon_release")
    of_numbers = sent * float(arguments.get("noise_var", 0.1)) if release is None else float(release)
    return float(arguments.get("epsilon", 0.1)) + of_numbers


def spent_in_job(job: JobRecording, stated: StatedClaim | None) -> list[RecordedSpending]:
    """Return the account of a recorded job: as stated, if anything is, and as its filters are configured."""
    names = dict(enumerate(job.clients))
    by_word = [] if stated is None else spent_as_stated(job.neutral(), stated, names)
    return [*(each for each in by_word if each.rounds or each.client in job.clients), *spent_as_configured(job)]


def spending_in_words(spent: RecordedSpending) -> str:
    """Say in one sentence how much a client spent, in which rounds, and whether that exceeds the claim."""
    if not spent.rounds:
        return f"{spent.client}: took part in no round"
    rounds = f"{len(spent.rounds)} round{'s' * (len(spent.rounds) != 1)} ({_numbers(spent.rounds)})"
    sentence = f"{spent.client}: took part in {rounds}; epsilon at delta = {spent.delta:g} after them: "
    sentence += _numbers([f"{epsilon:.4g}" for epsilon in spent.epsilon])
    if spent.claimed is not None and spent.total > spent.claimed:
        sentence += f", more than the {spent.claimed:g} that is claimed"
    sentence += f". On the configuration's word: {spent.word}"
    beside = f". Sent beside it, without noise that anything was said of: {', '.join(spent.beside)}"
    return sentence + beside * bool(spent.beside)


def _numbers(values: list[Any]) -> str:
    """List numbers, of many the first and the last."""
    few = values if len(values) <= 12 else [*values[:5], "...", *values[-3:]]
    return ", ".join(map(str, few))
