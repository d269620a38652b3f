"""Wrong protocols, every one a slip that an engineer can make by mistake: promised never to be cleared."""
