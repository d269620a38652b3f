"""Protocols of a nineteenth hand, who had read the documentation only: statistics summed as practice does."""

from __future__ import annotations

from ..audited import cases_in
from . import committees, moments, pads, quantised, slips

CASES = cases_in([moments, quantised, committees, pads, slips])
