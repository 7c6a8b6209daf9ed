"""``python -m urdf_usd``, the same as the command ``urdf-usd``."""

from urdf_usd.cli.program import start

if __name__ == "__main__":
    start()
