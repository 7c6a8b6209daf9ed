"""Entry point of the command ``urdf-usd``."""

from __future__ import annotations

import sys

_INTERRUPTED = 130


def start() -> None:
    """Run the command line of this process."""
    try:
        from urdf_usd.cli.main import main
    except KeyboardInterrupt:
        # Before a command can handle it.
        sys.stderr.write("interrupted\n")
        sys.exit(_INTERRUPTED)
    main()
