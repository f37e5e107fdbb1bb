"""The first file of the process that supervisors and answers are forked from: ``python -I start.py SOCKET KIND ROOT``.

It makes this folder a package of its own, so that nothing else of minirnn is imported (which is slow, and would put
the course within reach), and hands over to `template`.
"""

import importlib
import os
import sys
import types

if __name__ == "__main__":
    package = types.ModuleType("_sandbox")
    package.__path__ = [os.path.dirname(os.path.abspath(__file__))]
    sys.modules["_sandbox"] = package
    importlib.import_module("_sandbox.template").main(sys.argv[1:])
