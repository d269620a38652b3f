"""Audit of what one real run recorded, of any framework or of a job of NVFlare."""

from secmix.auditing.recorded.recorded_job import JobAudit, audit_job
from secmix.auditing.recorded.recorded_run import RecordedAudit, audit_recording

__all__ = ["JobAudit", "RecordedAudit", "audit_job", "audit_recording"]
