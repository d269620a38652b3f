"""Output folder, locations of errors, progress messages: what the command and ``secmix.audit`` share."""
