"""Who would have to collude, in an audit: the search, the policy it is held to, and what would mend it."""
