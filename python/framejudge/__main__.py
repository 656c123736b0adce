"""The command's entry point; `python -m framejudge` is the same."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command; an interrupt while it still loads ends like any other."""
    try:
        from framejudge.cli import app  # noqa: PLC0415 - see above

        app()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
