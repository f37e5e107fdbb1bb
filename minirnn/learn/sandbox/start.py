"""The first file of the process that supervisors and answers are forked from: ``python -I start.py SOCKET KIND ROOT``.

On systems without fork, it is the first file of an answer's process: ``python -I start.py unlocked``.

It makes this folder a separate package, so that nothing else of minirnn is imported (which is slow, and would put
the course within reach), and hands over to `template` or `unlocked_child`.
"""

import importlib
import os
import sys
import types

if __name__ == "__main__":
    package = types.ModuleType("_sandbox")
    package.__path__ = [os.path.dirname(os.path.abspath(__file__))]
    sys.modules["_sandbox"] = package
    module = "unlocked_child" if sys.argv[1:] == ["unlocked"] else "template"
    importlib.import_module(f"_sandbox.{module}").main(sys.argv[1:])
