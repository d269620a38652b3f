"""Adversaries who follow the protocol and read: eavesdroppers, curious nodes, a curious server, the public."""
