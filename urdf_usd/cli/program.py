"""Entry point of the command ``urdf-usd``."""

from __future__ import annotations

import os
import sys

_STDERR = 2
_INTERRUPTED = 130


def start() -> None:
    """Run the command line of this process."""
    # A closed standard stream becomes the null device. Otherwise the next file that is opened
    # gets its number, and what a library prints is written into it.
    while (opened := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        os.set_inheritable(opened, True)
    os.close(opened)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115  # until the end of the process
    try:
        from urdf_usd.cli.main import main
    except KeyboardInterrupt:
        # Before a command can handle it.
        sys.stderr.write("interrupted\n")
        sys.exit(_INTERRUPTED)
    main()
