"""Filters that a job's configuration names: which of them acted in the recorded run.

Of filters whose law is known (NVFlare's own) the messages behind them must keep that law. Of any other filter only
this is said: it was never called, it changed messages, or it changed none, which a filter that merely looks may do.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from secmix.recording.nvflare.changes import digest
from secmix.recording.nvflare.ends import JobMessage, JobRecording, Participant

_ROUNDING = 1e-5  # of the division by steps and the product with them, in single precision
_BY_CHANCE = 0.01  # share of numbers that noise may leave as they were, in low precision
_NO_MODELS = ("metrics/", "statistics/")  # kinds that privacy filters of models leave alone, and rightly
Passages = Sequence[Mapping[str, Any]]
Outcome = Literal["in force", "violated", "unclear"]


@dataclass(frozen=True)
class Control:
    """One configured filter of one participant, and what it did."""

    participants: tuple[str, ...]  # who has it in its configuration, and saw it do the same
    name: str  # its class
    chain: str
    keys: tuple[str, ...]  # tasks and directions that it is configured for, "train/out"
    source: str
    # calls, changed: messages that passed it, and those of them that it changed
    calls: int
    changed: int
    outcome: Outcome
    how: str

    @property
    def title(self) -> str:
        """Its class, who has it, and for which tasks."""
        where = ", ".join(self.keys) or "no task"
        source = " by the site's policy" if self.source == "site" else ""
        return f"{self.name} of {', '.join(self.participants)}{source} ({self.chain}: {where})"


def controls(job: JobRecording) -> list[Control]:
    """Judge every configured filter of every participant that kept a recording; violated ones come first."""
    merged: dict[tuple[object, ...], Control] = {}
    for control in (_control(job, each, line) for each in job.participants for line in each.filters):
        key = (control.name, control.chain, control.keys, control.source, control.outcome, control.how)
        before = merged.get(key)
        merged[key] = control if before is None else _together(before, control)
    order = ("violated", "unclear", "in force")
    return sorted(
        merged.values(), key=lambda control: (order.index(control.outcome), control.participants, control.name)
    )


def _together(first: Control, second: Control) -> Control:
    """Say once what a filter did alike at several participants."""
    participants = tuple(dict.fromkeys([*first.participants, *second.participants]))
    calls, changed = first.calls + second.calls, first.changed + second.changed
    return replace(first, participants=participants, calls=calls, changed=changed)


def counted(messages: int) -> str:
    """Say a number of messages."""
    return f"{messages} message{'s' * (messages != 1)}"


def _control(job: JobRecording, participant: Participant, line: Mapping[str, Any]) -> Control:
    passed = [each for each in participant.passages if each["filter"] == line["id"]]
    read = [each for each in passed if "refused" not in each]
    outcome, how = _judged(job, participant, line, passed, read)
    return Control(
        (participant.name,),
        str(line["class"]),
        str(line["chain"]),
        tuple(map(str, line["keys"])),
        str(line["source"]),
        len(passed),
        sum(bool(each.get("changed")) or "refused" in each for each in passed),
        outcome,
        how,
    )


def _judged(
    job: JobRecording, participant: Participant, line: Mapping[str, Any], passed: Passages, read: Passages
) -> tuple[Outcome, str]:
    if not passed:
        return _never_called(job, participant, line)
    if refusals := len(passed) - len(read):
        kinds = ", ".join(sorted({str(each["refused"]) for each in passed if "refused" in each}))
        if not read:
            return "in force", f"it refused all of {counted(refusals)} ({kinds})"
    kinds_of = [str(line["class"]), *map(str, line.get("parents", []))]
    law = next((_LAWS[name] for name in kinds_of if name in _LAWS), None)
    if law is None:
        return _by_change(read)
    with_model = [p for p in read if not all(path.startswith(_NO_MODELS) for path in [*p["left"], *p["removed"]])]
    carrying = [passage for passage in with_model if passage["numbers"]]
    if not carrying:
        none = f"of {counted(len(read))} that passed it none had a model"
        past = _past(job, participant.name, line)
        return ("violated", f"{none}; models left in {past}, which does not pass it") if past else ("unclear", none)
    outcome, how = law(line["arguments"], carrying)
    if outcome == "in force" and (elsewhere := _let_through(job, participant.name, read)):
        return "violated", f"it {how}, but what it kept back left all the same in {elsewhere}, which does not pass it"
    return outcome, how if outcome != "in force" else f"it {how}" + _too_late(job, participant, line)


def _past(job: JobRecording, name: str, line: Mapping[str, Any]) -> str:
    """List the models that a participant sent past an outgoing filter of their tasks."""
    tasks = {task for task, _, way in (key.rpartition("/") for key in line["keys"]) if way == "out"}
    sent = [m for m in job.messages if m.sender == name and m.task in tasks]
    with_models = [m for m in sent if any(not path.startswith(_NO_MODELS) for path in m.arrays)]
    return ", ".join(sorted({f"{m.title} to {m.receiver}" for m in with_models}))


def _never_called(job: JobRecording, participant: Participant, line: Mapping[str, Any]) -> tuple[Outcome, str]:
    """Say why a filter was never called: no message of its tasks passed in its direction."""
    tasks = sorted({key.rpartition("/")[0] for key in line["keys"]})
    own = [m for m in job.messages if participant.name in (m.sender, m.receiver)]
    if not any(m.arrays for m in own):
        return "unclear", "it was never called, and no message with arrays passed this participant"
    others = sorted({m.title for m in own if m.arrays})
    what = f"it was never called: its configuration names the keys {', '.join(line['keys']) or 'none'} of the chain "
    what += f"{line['chain']}; arrays passed in {', '.join(others)}"
    if "*" in tasks:
        what += "; NVFlare looks filters up by the exact name of the task, and no task is called *"
    return "violated", what


def _by_change(read: Passages) -> tuple[Outcome, str]:
    changed = sum(bool(each["changed"]) for each in read)
    if changed:
        return "in force", f"it changed {changed} of {counted(len(read))}; what it is to do is not known here"
    return "unclear", f"it changed none of {counted(len(read))}: if it is a control, it did not act"


def _let_through(job: JobRecording, name: str, read: Passages) -> str:
    """Return tasks in which the participant sent an array that the filter kept back, unless it had got it itself."""
    withheld = {each for passage in read for each in passage.get("withheld", {}).values()}
    if not withheld:
        return ""
    got = {each for m in job.messages if m.receiver == name for each in _digests(m)}
    sent = [m for m in job.messages if m.sender == name and any(each in withheld - got for each in _digests(m))]
    return ", ".join(sorted({f"{m.title} to {m.receiver}" for m in sent}))


def _digests(message: JobMessage) -> list[str]:
    return [digest(numbers) for numbers in message.readable.values()]


def _too_late(job: JobRecording, participant: Participant, line: Mapping[str, Any]) -> str:
    """Say that a filter at the receiving end hides nothing from who is there, or on the line."""
    if any(key.rpartition("/")[2] == "out" for key in line["keys"]):  # a site's key is the direction alone
        return ""
    return f"; it acts at {participant.name}, which has received the message before"


def _svt(arguments: Mapping[str, Any], read: Passages) -> tuple[Outcome, str]:
    """Judge the sparse vector technique: at most a fraction of the numbers is sent, and those with noise."""
    fraction = float(arguments.get("fraction", 1.0))
    for call in read:
        if call["nonzero"][0] and not call["changed"]:
            return "violated", f"a message of {call['numbers']} numbers ({call['key']}) passed it unchanged"
        # It counts variables of a single number too, which it lets pass.
        most = math.ceil(fraction * (call["numbers"] + call["single"]))
        if call["nonzero"][1] > most or call["same"] > _BY_CHANCE * call["numbers"]:
            return "violated", (
                f"of {call['numbers']} numbers {call['nonzero'][1]} passed and {call['same']} of them without noise; "
                f"its fraction is {fraction:g} ({call['key']})"
            )
    return _acted(read, f"let at most {fraction:g} of the numbers pass, none of them without noise")


def _percentile(arguments: Mapping[str, Any], read: Passages) -> tuple[Outcome, str]:
    """Judge the largest percentile: small differences are zero, and none by step is above gamma."""
    gamma = float(arguments.get("gamma", 0.0))
    for call in read:
        if call["nonzero"][0] and call["largest"] > gamma * call["steps"] * (1 + _ROUNDING):
            return "violated", (
                f"a number of magnitude {call['largest']:.4g} passed it ({call['key']}); its gamma {gamma:g} times "
                f"{call['steps']:g} steps is {gamma * call['steps']:.4g}"
            )
    return _acted(read, f"let no number above {gamma:g} by step pass")


def _exclude(arguments: Mapping[str, Any], read: Passages) -> tuple[Outcome, str]:
    """Judge an exclusion of variables: no array of such a name is left."""
    names = arguments.get("exclude_vars")
    if not names:
        return "violated", "it has no names of variables to exclude, and so excludes none"
    matches = _matching(names)
    left = sorted({path for each in read for path in each["left"] if matches(_variable(path))})
    shown = names["pattern"] if isinstance(names, Mapping) else ", ".join(map(str, names))
    if left:
        return "violated", f"{', '.join(left)} passed it, though it is to exclude {shown}"
    if not any(each["removed"] for each in read):
        return "violated", f"it removed nothing: no array has a name that fits {shown}"
    removed = sorted({path for each in read for path in each["removed"]})
    return "in force", f"removed {', '.join(removed)}"


def _variable(path: str) -> str:
    """Return the name of a model's variable; none for what is in no model."""
    for kind in ("weights/", "weight_diff/"):
        if f"/{kind}" in f"/{path}":
            return f"/{path}".partition(f"/{kind}")[2]
    return ""


def _matching(names: Any) -> Callable[[str], bool]:
    if isinstance(names, Mapping):
        return lambda name: bool(name) and re.search(str(names["pattern"]), name) is not None
    return lambda name: bool(name) and name in names


def _encryptor(arguments: Mapping[str, Any], read: Passages) -> tuple[Outcome, str]:
    """Judge homomorphic encryption: arrays leave as bytes that nobody here can read."""
    layers = arguments.get("encrypt_layers") not in (None, [True]) and arguments["encrypt_layers"]
    for call in read:
        if not call["sealed"] or (not layers and call["sealed"] < len(call["left"])):
            return "violated", f"{call['sealed']} of {len(call['left'])} arrays left it encrypted ({call['key']})"
    rest = max(len(call["left"]) - call["sealed"] for call in read)
    readable = f"; {rest} other{'s' * (rest != 1)} stayed readable, as configured" if rest else ""
    return "in force", f"encrypted arrays in all of {counted(len(read))}: opaque to this adversary{readable}"


def _acted(read: Passages, how: str) -> tuple[Outcome, str]:
    if not any(each["nonzero"][0] for each in read):
        return "unclear", "all numbers that came to it were zero"
    changed = sum(bool(each["changed"]) for each in read)
    if not changed:
        return "violated", f"it changed none of {counted(len(read))}: its limits bind nothing"
    return "in force", f"changed {changed} of {counted(len(read))} and {how}"


_LAWS: dict[str, Callable[[Mapping[str, Any], Passages], tuple[Outcome, str]]] = {
    "SVTPrivacy": _svt,
    "PercentilePrivacy": _percentile,
    "ExcludeVars": _exclude,
    "HEModelEncryptor": _encryptor,
}
