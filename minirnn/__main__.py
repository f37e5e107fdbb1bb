"""``python -m minirnn`` is the command ``minirnn``."""

from minirnn.commands.cli import entry

if __name__ == "__main__":
    raise SystemExit(entry())
