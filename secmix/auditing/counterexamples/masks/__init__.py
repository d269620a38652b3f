"""Removable masks: masks that are used twice, or follow from seeds that are known, public or short."""
