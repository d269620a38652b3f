"""From the messages of one run to the rows behind them, a file for each kind of message."""
