"""Masks expanded from seeds that are used twice, known, short or small; and encodings that tell more than a sum."""
