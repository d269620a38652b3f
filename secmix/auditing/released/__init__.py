"""What a released result tells by itself, without the messages that made it."""
