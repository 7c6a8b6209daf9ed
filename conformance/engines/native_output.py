"""Capture of the output of native code, which bypasses Python's streams."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import tempfile
from collections.abc import Callable, Iterator

_STANDARD_STREAMS = (1, 2)
_C_LIBRARY = ctypes.CDLL(None if os.name == "posix" else "ucrtbase")


@contextlib.contextmanager
def captured() -> Iterator[Callable[[], str]]:
    """Send file descriptors 1 and 2 to a file, for the whole process.

    The file has a name in the folder for temporary files: after a segmentation fault
    it remains, so that the parent process can read the end of the output.

    Yields:
        A function that returns what has been printed so far.
    """
    with tempfile.NamedTemporaryFile(prefix="printed-", suffix=".txt") as sink:
        _flush()
        saved = [os.dup(stream) for stream in _STANDARD_STREAMS]
        try:
            for stream in _STANDARD_STREAMS:
                os.dup2(sink.fileno(), stream)

            def printed() -> str:
                _flush()
                sink.seek(0)
                return sink.read().decode(errors="replace")

            yield printed
        finally:
            _flush()
            for stream, copy in zip(_STANDARD_STREAMS, saved, strict=True):
                os.dup2(copy, stream)
                os.close(copy)


def _flush() -> None:
    """Empty the buffers of Python and of the C library."""
    for stream in (sys.stdout, sys.stderr):
        # A stream may be absent (pythonw) or closed.
        if stream is not None and not stream.closed:
            stream.flush()
    _C_LIBRARY.fflush(None)
