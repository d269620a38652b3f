"""Recordings of the messages of a real federation, written by its participants, to be audited afterwards.

A recording is a folder: see :mod:`secmix.recording.folder` for its format, and :mod:`secmix.recording.flower` for the
few lines that record a Flower app. A recording contains no code and no pickles.
"""

from secmix.recording.folder import RecordedMessage, Recorder, Recording, faults_of_recording, read_recording
from secmix.recording.format import ROLES, VERSION

__all__ = ["ROLES", "VERSION", "RecordedMessage", "Recorder", "Recording", "faults_of_recording", "read_recording"]
