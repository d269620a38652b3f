"""What the front door needs: the folder an audit writes to, where an error stands, what is said meanwhile."""
