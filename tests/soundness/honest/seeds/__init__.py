"""Seeds in place of masks, and encodings: slips against what the proof says of these."""
