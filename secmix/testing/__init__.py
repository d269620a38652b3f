"""Hold your own aggregation rule to the tests that ours must pass, with one line in pytest.

>>> from secmix.testing import check_aggregator
>>> from secmix.aggregators import trimmed_mean
>>> def test_my_rule():
...     check_aggregator(trimmed_mean, f=1)

Where it fails, the smallest counterexample found is printed as a test to paste:

>>> try:
...     check_aggregator(lambda messages, f: messages.mean(axis=0), f=1)
... except AssertionError as error:
...     print(error)  # doctest: +ELLIPSIS
<lambda> fails "consensus": it must return what all honest nodes agree on, whatever the others send.
...
    messages = np.array([[...
...

A protocol of your own is held to what the audit presumes of it, and to what you say it reveals. The kernel that clears
nodes in an audit is asked whether that is so: the result says "proved", or at which line the proof ends:

>>> from secmix.protocols import SecureSum
>>> from secmix.testing import check_protocol
>>> def test_my_protocol():
...     check_protocol(SecureSum(arithmetic="modular"), reveals=lambda network, corrupt: my_arcs(network, corrupt))

The strategies from which the tests draw are public, for tests of your own, and so is the search for what passes between
nodes outside the channel.
"""

from secmix.auditing.soundness.collaborations.undeclared import passed_outside
from secmix.testing.aggregators import check_aggregator
from secmix.testing.check_summary import AggregatorCheck, ProtocolCheck
from secmix.testing.protocols import check_protocol
from secmix.testing.strategies import (
    byzantine_messages,
    honest_clouds,
    mixtures,
    subspaces,
)

__all__ = [
    "AggregatorCheck",
    "ProtocolCheck",
    "byzantine_messages",
    "check_aggregator",
    "check_protocol",
    "honest_clouds",
    "mixtures",
    "passed_outside",
    "subspaces",
]
