"""A converter that ends with a segmentation fault if a joint turns without limits."""

import os
import signal
import sys
from pathlib import Path

from urdf_usd import convert

if 'type="continuous"' in Path(sys.argv[1]).read_text():
    print("at", sys.argv[1], file=sys.stderr)
    os.kill(os.getpid(), signal.SIGSEGV)
convert(Path(sys.argv[1]), sys.argv[2])
