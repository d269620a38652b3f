"""Whether known sums of encodings may be solved for the inputs behind them."""

from __future__ import annotations

import networkx
from hypothesis import given
from hypothesis import strategies as st

from secmix.kernel.values.algebra import Sums, as_many_as_inputs

SUMS = st.lists(st.tuples(st.frozensets(st.integers(0, 6), max_size=4), st.integers(0, 3), st.booleans()), max_size=6)


@given(SUMS)
def test_sums_that_share_inputs_are_solved_for_together(sums: list[Sums]) -> None:
    """Of each part that hangs together: as many sums as inputs, some sum of encodings among them."""
    graph: networkx.Graph = networkx.Graph()
    for k, (inputs, _, _) in enumerate(sums):
        graph.add_edges_from(((k, "sum"), (v, "input")) for v in inputs)
    parts = [[{x for x, kind in part if kind == each} for each in ("sum", "input")] for part in
             networkx.connected_components(graph)]  # fmt: skip
    assert as_many_as_inputs(sums) == any(
        sum(sums[k][1] for k in some) >= len(inputs) and any(sums[k][2] for k in some) for some, inputs in parts
    )
