"""Masks that fall off: that come twice, or follow from seeds that are known, public or short."""
