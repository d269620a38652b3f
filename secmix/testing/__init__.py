"""Hold your own aggregation rule to the tests that ours must pass, with one line in pytest.

>>> from secmix.testing import check_aggregator
>>> from secmix.aggregators import trimmed_mean
>>> def test_my_rule():
...     check_aggregator(trimmed_mean, f=1)

A trimmed mean that trims the largest values and forgets the smallest is caught, and the smallest counterexample
found is printed as a test to paste:

>>> import numpy as np
>>> def one_sided(messages, f):
...     if not 0 <= f < len(messages) / 2:
...         raise ValueError("f must be below n/2")
...     if not np.isfinite(messages).all():
...         raise ValueError("messages must be finite")
...     return np.sort(messages, axis=0)[: len(messages) - f].mean(axis=0)
>>> try:
...     check_aggregator(one_sided, f=1)
... except AssertionError as error:
...     print(error)  # doctest: +ELLIPSIS
one_sided fails "consensus": it must return what all honest nodes agree on, whatever the others send.
...
    messages = np.array([[...
...

A protocol of your own is held to what the audit presumes of it, and to what you say it reveals. The kernel that clears
nodes in an audit is asked whether that is so: the result says "proved", or at which line the proof ends:

>>> from secmix.protocols import SecureSum
>>> from secmix.testing import check_protocol
>>> def test_my_protocol():
...     check_protocol(SecureSum(arithmetic="modular"), reveals=lambda network, corrupt: my_arcs(network, corrupt))

The strategies from which the tests draw are public, for tests of your own.
"""

from secmix.testing.aggregators import check_aggregator
from secmix.testing.protocols import check_protocol
from secmix.testing.strategies import (
    byzantine_messages,
    connected_networks,
    corrupt_sets,
    honest_clouds,
    mixtures,
    subspaces,
)
from secmix.testing.summary import AggregatorCheck, ProtocolCheck

__all__ = [
    "AggregatorCheck",
    "ProtocolCheck",
    "byzantine_messages",
    "check_aggregator",
    "check_protocol",
    "connected_networks",
    "corrupt_sets",
    "honest_clouds",
    "mixtures",
    "subspaces",
]
