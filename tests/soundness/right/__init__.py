"""Right cases: protocols of the literature, and harmless oddities that an audit must not accuse."""
