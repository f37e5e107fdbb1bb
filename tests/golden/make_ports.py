"""Write the losses of the programs in tests/ports, run with PyTorch. Needs torch; `files.py` says how it is run."""

import sys

import torch

from tests.golden.files import write_or_check
from tests.ports.running import PROGRAMS, losses

torch.set_num_threads(1)

if __name__ == "__main__":
    found = {program: losses(program, "torch") for program in PROGRAMS}
    sys.exit(write_or_check("ports", {"losses": found}, rtol=3e-5, atol=3e-5))
