"""What ``minirnn NAME`` does: one module per command, listed in `minirnn.commands.cli.COMMANDS`.

A command module has two functions:

``add_arguments(parser)``
    adds its options to an `argparse.ArgumentParser`;
``run(args) -> int``
    does the work and returns the exit status.

A mistake of the user is raised as `UserError`, directly or through `user_mistakes`. The command line prints it on one
line and exits with status 2. Any other exception is a bug and keeps its traceback.
"""

from minirnn.arguments.user_error import UserError, user_mistakes

__all__ = ["UserError", "user_mistakes"]
