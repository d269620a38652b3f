"""The release page: for a board that decides whether a model or statistic may leave, as one page and as JSON."""
