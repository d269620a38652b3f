"""Wrong protocols that only somebody writes who hides data from the audit on purpose: documented, not promised."""
