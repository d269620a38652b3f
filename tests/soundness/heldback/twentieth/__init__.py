"""Protocols of a twentieth hand, who had read the proof, against it: sessions, and what a first call makes of others."""

from __future__ import annotations

from ..audited import cases_in
from . import after, right, slips

CASES = cases_in([slips, after, right])
