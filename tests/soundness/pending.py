"""Cases whose verdict is not yet what it must be, with the verdict seen; empty when the audit is as it should be."""

from __future__ import annotations

PENDING: dict[str, str] = {}
