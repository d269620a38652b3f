"""Audit of a recorded job of NVFlare: which controls acted, and what each participant learns of each client."""

from secmix.auditing.recorded_job.audit import JobAudit, audit_job

__all__ = ["JobAudit", "audit_job"]
