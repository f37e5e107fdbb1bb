"""``python -m minirnn`` is the command ``minirnn``."""

from minirnn.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
