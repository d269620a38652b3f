"""Noise as a proof: releases of a collaboration are played back on other data, and bound what all else can tell."""
