"""Whether the exact evidence may be believed: what every protocol passes, whoever wrote it.

The audit reads a protocol off unit inputs and unit masks. That is right if what the adversary sees is a linear function
of inputs and masks, and nothing else. The checks here look for anything else, each in one file; what fails one is not
cleared.
"""

from secmix.auditing.soundness.collaborations.checks import examine_collaboration
from secmix.auditing.soundness.mixed import understood
from secmix.auditing.soundness.result import Check, Soundness, Witness
from secmix.auditing.soundness.runner import fresh

__all__ = ["Check", "Soundness", "Witness", "examine_collaboration", "fresh", "understood"]
