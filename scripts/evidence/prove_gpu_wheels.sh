#!/usr/bin/env bash
# Proves that what scripts/evidence/gpu_wheels.sh collects is all that a machine with a driver, nvcc and cuBLAS needs: an empty
# environment is filled from these wheels alone, without an index, and on the stand-in GPU it imports every module that the
# device cuda can import, computes, and runs tests. PyCUDA's wheel is that of the stand-in, so it is not built again.
#   scripts/evidence/prove_gpu_wheels.sh FOLDER          an empty folder for the wheels and the environment; PYTHON as for gpu_wheels.sh
set -euo pipefail

work=$(mkdir -p "${1:?a folder to work in}" && cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
python=${PYTHON:-python3}
# A command that is no Python gets the libraries and nvcc of the stand-in, and no PyCUDA.
on_stand_in() { PYTHON=$python scripts/with_stand_in_gpu.sh env "$@"; }

PYCUDA_WHEEL=$(on_stand_in bash -c 'ls "$STAND_IN_GPU_WHEELS"/pycuda-*.whl')
PYTHON=$python PYCUDA_WHEEL=$PYCUDA_WHEEL scripts/evidence/gpu_wheels.sh "$work/whl"
"$python" -m venv "$work/empty"
"$work/empty/bin/python" -m pip install -q --no-index --find-links "$work/whl" --no-compile "$work"/whl/*.whl
"$work/empty/bin/python" -m pip check
on_stand_in PYTHONPATH="$PWD" "$work/empty/bin/python" - <<'PY'
import importlib, pkgutil, sys
import numpy as np
import minirnn as mr
from minirnn.devices import cuda

names = [found.name for found in pkgutil.walk_packages(cuda.__path__, "minirnn.devices.cuda.")]
for name in [*names, "pycuda.driver", "pycuda.compiler", "cuda.pathfinder", "xdist", "pytest_timeout", "hypothesis"]:
    importlib.import_module(name)
device = mr.devices.get("cuda")
model, x = mr.nn.GRU(3, 4).to(device), mr.tensor(np.ones((5, 2, 3), np.float32), device=device)
(model(x)[0] ** 2).sum().backward()
assert all(np.isfinite(p.grad.numpy()).all() for p in model.parameters())
print(f"{len(names)} modules imported and a GRU trained on {device.driver.limits.name}, by {sys.prefix}")
PY
on_stand_in PYTHONPATH="$PWD" "$work/empty/bin/python" -m pytest -q -n 2 -p no:cacheprovider -p tests.stand_in_gpu.plugin \
    --devices cuda tests/devices/cuda/gpu/test_pycuda.py
