"""What masks are made of: each a draw of its own (`traced`), or all a linear image of independent draws (`mixed`)."""
