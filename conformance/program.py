"""How the process of ``urdf-usd`` starts and ends.

A small robot is converted in less time than Python needs to look for garbage among all
that OpenUSD brings, while that loads, and to take it apart at the end. Both are left
out for commands that do one thing in one process. All others start and end as any
program does: they have processes, journals and folders to take leave of. Of these, some
have a second process load engines and libraries while they load what they need.
"""

from __future__ import annotations

import gc
import os
import sys

# Nothing of theirs is left to be done when they return: files are closed, and folders
# for scratch are gone.
_SHORT = frozenset({"convert", "expand", "inspect", "lint"})
# By what they have loaded in a second process.
_EXAMINING = {"check": "FOR_ROBOTS", "run": "FOR_ROBOTS", "export": "FOR_USDS"}
_HELP = frozenset({"-h", "--help"})
_INTERRUPTED = 130


def start() -> None:
    """Run the command line of this process, and end the process."""
    command, rest = (*sys.argv[1:2], "")[0], sys.argv[2:]
    is_short = command in _SHORT
    if is_short:
        gc.disable()
    try:
        if command in _EXAMINING and not _HELP.intersection(rest):
            from urdf_usd.conformance import isolation  # noqa: PLC0415  others need none

            isolation.start_loading(getattr(isolation, _EXAMINING[command]))
        from urdf_usd.conformance.cli import main  # noqa: PLC0415  garbage is looked for as it loads
    except KeyboardInterrupt:
        # As commands do, of which there is none yet.
        sys.stderr.write("interrupted\n")
        sys.exit(_INTERRUPTED)

    if not is_short:
        main()
        return
    try:
        main(obj=_collect_again)
    except SystemExit as end:
        _leave(end)
        raise


def _collect_again() -> None:
    """Look for garbage from now on, but never among what was loaded."""
    gc.freeze()
    gc.enable()


def _leave(end: SystemExit) -> None:
    """End the process at once, unless there is still something to be said."""
    if not isinstance(end.code, int):
        return
    try:
        for stream in (sys.stdout, sys.stderr):
            # A process may have none.
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        # Python's own way out tells of streams that were closed.
        return
    os._exit(end.code)
