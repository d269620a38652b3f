"""Checks of the premises of exact evidence, and of collaborations.

Exact evidence reads a protocol off unit inputs and unit masks. That is correct if all that the adversary reads is a
linear function of inputs and masks. The checks here search for anything else; a node is not cleared if one fails.
"""

from secmix.auditing.soundness.check_result import Check, Counterexample, Soundness
from secmix.auditing.soundness.collaborations.collaboration_checks import examine_collaboration
from secmix.auditing.soundness.linear_masks import with_linear_masks

__all__ = ["Check", "Counterexample", "Soundness", "examine_collaboration", "with_linear_masks"]
