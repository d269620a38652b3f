"""What is not collected: glue imports libraries that may not be installed."""

collect_ignore_glob = ["*/glue.py"]
