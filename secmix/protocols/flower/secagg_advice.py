"""Premises and advice of a Flower app: what is taken for granted, what passes beside masks, and what to change."""

from __future__ import annotations

from collections.abc import Sequence

from secmix.protocols.collaboration import BYTES
from secmix.protocols.flower.records import SECAGG
from secmix.protocols.flower.system import MASK_BITS, bits_of_mask_seeds, bits_of_masks
from secmix.protocols.interfaces import Revealed
from secmix.transcript import SERVER, Origin

_MASKED = f"{SECAGG}/masked_params"
_MOST_TRIED = 32  # bits: at 10 µs a seed, 2³² take one processor twelve hours; the next size is 64
_EMPTY = "fitres.status"  # that training went well, in each answer


def premises(readable: Sequence[Origin]) -> list[str]:
    """State what the masks of SecAgg+ do not cover, and that its keys are not guessed; nothing of other apps."""
    if not any(SECAGG in origin.kind for origin in readable):
        return []
    stated = [
        "SecAgg+ takes keys, seeds and shares from the system's generator; here they are drawn by the audit. That real "
        "ones cannot be guessed from what is sent is taken for granted, not tested"
    ]
    honest = _who_mask(readable)
    if (span := bits_of_masks()) is not None:
        stated.append(_on_small_masks(span))
    elif bits := bits_of_mask_seeds():
        stated.append(_on_short_seeds(bits, len(honest)))
    if len(honest) == 1:
        stated.append(
            f"of all who send masked models to the server only node {honest.pop()} is honest: the sum less the models "
            "of the others is its model; what colluders compute so is not tried, and nothing is cleared"
        )
    if beside := _beside(readable):
        stated.append(f"the masks of SecAgg+ cover the model alone: the server reads {', '.join(beside)} as they are")
    return stated


def advice(revealed: Revealed) -> list[str]:
    """Suggest what to change where the adversary learns something; lines are encrypted already."""
    if not revealed.nodes:
        return []
    if not revealed.readable:
        return [
            "Let every client answer in every round, with messages of the same kinds and lengths: nobody outside reads "
            "them, and yet when and how long they are tells something."
        ]
    if any(_MASKED in origin.kind for origin in revealed.readable):
        beside = ", ".join(_beside(revealed.readable))
        return [f"Leave out what clients send beside their masked models ({beside}), or blur it."] * bool(beside)
    who = "clients who collude" if revealed.corrupt else "the server"
    return [
        f"Lines are encrypted, and it is {who} who learns this: let clients mask their models (SecAggPlusWorkflow and "
        "secaggplus_mod), with no metrics beside, or let them add noise before they send (LocalDpMod). Masks hide a "
        "model in the sum of all; where all others collude, only noise helps."
    ]


def is_opaque(readable: Sequence[Origin]) -> bool:
    """Check for numbers that are masked or encrypted for this adversary.

    Models are no more so where only one who masks is honest: the others know its masks, or their sum. Nor are they
    where masks span less than their modulus.
    """
    masking = len(_who_mask(readable))
    small = masking > 0 and bits_of_masks() is not None
    return any(SECAGG in origin.kind for origin in readable) and masking != 1 and not small


def _who_mask(readable: Sequence[Origin]) -> set[int]:
    """Return the honest nodes whose masked models the adversary reads as the server does."""
    return {origin.sender for origin in readable if _MASKED in origin.kind and origin.receivers == (SERVER,)}


def _on_small_masks(bits: int) -> str:
    """Say that masks span fewer bits than their modulus, and what that leaves."""
    if not bits:
        return (
            "all masks of SecAgg+ are the same here, whatever their seed, as measured on the code that runs: who knows "
            "the code takes them off"
        )
    return (
        f"each mask of SecAgg+ spans {bits} of the {MASK_BITS} bits of its modulus here, as measured on the code that "
        "runs: it hides no more than noise of that size does"
    )


def _on_short_seeds(bits: int, honest: int) -> str:
    """Say how many bits the seed of a mask has, and whether the adversary could try all seeds."""
    sentence = f"each mask of SecAgg+ is made of a seed of {bits} bits here, as measured on the code that runs"
    if not honest:
        return f"{sentence}; this adversary reads no masked model on which it could try seeds"
    if honest == 1:
        return f"{sentence}; of the masks on the only honest model this adversary knows all seeds"
    if bits > _MOST_TRIED:
        return f"{sentence}; this adversary could not try them all"
    if honest == 2:
        return (
            f"{sentence}; a model is covered by one whose seed this adversary does not know: it could try all of them, "
            f"2^{bits}, within a day on one machine. The audit does not, and clears nothing"
        )
    others = honest - 1
    return (
        f"{sentence}; a model is covered by one for each honest node that shares one with its node, {others} or fewer "
        f"(num_shares). Where that is one, this adversary could try all 2^{bits} seeds within a day on one machine; "
        f"with {others} it would have to find them together, among 2^{bits * others}. The audit tries none, and clears "
        "nothing"
    )


def _beside(readable: Sequence[Origin]) -> list[str]:
    """List the records that clients send to the server with a masked model, or beside one."""
    names = {
        origin.kind.removeprefix("train reply: ")
        for origin in readable
        if origin.receivers == (SERVER,) and origin.kind.startswith("train reply: ") and SECAGG not in origin.kind
    }
    return sorted(name for name in names if not name.endswith(BYTES) and name != _EMPTY)
