"""Theorems that count as proofs: those about protocols and rules of this package.

A declaration of other code, or one inherited from a class of ours, is not a proof: it is shown as declared, and clears
no node.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from secmix.aggregators import Traits, is_ours
from secmix.protocols import FederatedPCA, RobustServer
from secmix.protocols.interfaces import SumTraits


def proven_protocol(protocol: Any) -> bool:
    """Check whether ``protocol`` is of a class of ours with theorems, without methods of its own.

    >>> class Mine(RobustServer):
    ...     pass
    >>> proven_protocol(RobustServer()), proven_protocol(Mine())
    (True, False)
    """
    kind = type(protocol)
    if kind not in (RobustServer, FederatedPCA):
        return False
    own = set(vars(protocol)) - {field.name for field in dataclasses.fields(kind)}
    return not any(callable(getattr(kind, name, None)) for name in own)


def withstood(protocol: Any, n: int) -> int:
    """Count the colluders of n nodes for which a theorem bounds the error of a sum; 0 if none applies.

    >>> withstood(RobustServer("trimmed_mean", f=2), 9), withstood(RobustServer(lambda messages, f: messages[0]), 9)
    (2, 0)
    """
    own = SumTraits.of(protocol)
    if not proven_protocol(protocol) or own.function is None or not is_ours(own.function):
        return 0
    return declared(protocol, n)


def declared(protocol: Any, n: int) -> int:
    """Count the colluders of n nodes for which the protocol itself declares a bounded error."""
    own = SumTraits.of(protocol)
    return min(own.traits.tolerates(n, own.f), own.f) if isinstance(own.traits, Traits) else 0
