"""Record a job of NVFlare, unchanged but for one line of its configuration.

The line is a component, in ``config_fed_server`` and ``config_fed_client``, at the end of ``components``::

    {"id": "secmix", "path": "secmix.recording.nvflare.MessageRecorder", "args": {"folder": "/tmp/recording"}}

``secmix record nvflare JOB`` adds it to a copy of a job, and runs that in NVFlare's simulator. At the start of a run
the component puts a probe before and behind every filter of tasks (:mod:`secmix.recording.nvflare.chains`). Each
participant writes a recording of its own in ``folder``, named after it; its last probe on the way out, and its first
on the way in, see what is on the line. What stands before a filter is compared with what stands behind it, and not
written.
"""

from typing import Any


def __getattr__(name: str) -> Any:
    if name == "MessageRecorder":  # a class of NVFlare's: it is imported where it is used
        from secmix.recording.nvflare.component import MessageRecorder

        return MessageRecorder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
