"""A user's own Flower app, run unchanged: every message between server and clients goes through the audit's channel.

Needs ``pip install 'secmix[flower]'``; flwr is imported when an app runs, not before.
"""

from secmix.protocols.flower.app import FlowerApp

__all__ = ["FlowerApp"]
