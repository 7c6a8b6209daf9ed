"""``python -m conformance`` is ``urdf-usd``."""

from conformance.cli import main

if __name__ == "__main__":
    main(prog_name="urdf-usd")
