"""How the process of ``urdf-usd`` starts."""

from __future__ import annotations

import sys

_INTERRUPTED = 130


def start() -> None:
    """Run the command line of this process."""
    try:
        from urdf_usd.conformance.cli.main import main
    except KeyboardInterrupt:
        # Commands say so themselves; there is none yet.
        sys.stderr.write("interrupted\n")
        sys.exit(_INTERRUPTED)
    main()
