"""Entry point of ``secmix`` and ``python -m secmix``, which imports the rest where an interrupt is caught."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; an interrupt at any moment ends in one line and status 130."""
    try:
        from secmix.cli import app as cli

        cli.main()
    except KeyboardInterrupt:
        print("secmix: interrupted", file=sys.stderr)
        exec("")  # see secmix.cli.console.end
        sys.exit(130)


if __name__ == "__main__":
    main()
