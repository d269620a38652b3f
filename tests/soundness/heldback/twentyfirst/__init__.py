"""Protocols of a twenty-first hand, who had read the documentation only: sums without a centre, as in practice."""

from __future__ import annotations

from ..audited import cases_in
from . import consensus, hierarchies, neighbourhoods, rings, slips, slips_of_graphs

CASES = cases_in([consensus, rings, hierarchies, neighbourhoods, slips, slips_of_graphs])
