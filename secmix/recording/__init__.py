"""What passed in a real federation, written down by those who took part, to be looked at afterwards.

A recording is a folder: see :mod:`secmix.recording.folder` for its format, and :mod:`secmix.recording.flower` for the
few lines that record a Flower app. Nothing in it is code, and nothing is pickled.
"""

from secmix.recording.folder import VERSION, Message, Recorder, Recording, read_recording

__all__ = ["VERSION", "Message", "Recorder", "Recording", "read_recording"]
