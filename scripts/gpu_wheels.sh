#!/usr/bin/env bash
# Builds in ./.whl (or $1) the wheels that a GPU machine without a package index needs to run minirnn's cuda device:
# PyCUDA, compiled for CPython 3.12 against the local CUDA toolkit's headers (no driver needed: it links to a stub of
# libcuda), what PyCUDA imports, and nvmath-python. cuBLAS and the CUDA bindings must be on the GPU machine.
# Needs python3.12 (or PYTHON312), a CUDA toolkit (nvcc on PATH) and a C++ compiler. On the GPU machine then:
#   python3 -m pip install -q --no-index --no-deps --no-compile --target site .whl/*.whl && export PYTHONPATH=$PWD/site
set -euo pipefail

out=$(mkdir -p "${1:-.whl}" && cd "${1:-.whl}" && pwd)
python=${PYTHON312:-$(ls -d "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.12*/bin/python3.12 2>/dev/null | tail -n 1)}
python=${python:-$(command -v python3.12 || true)}
[ -n "$python" ] && "$python" --version >/dev/null || { echo "python3.12 not found: set PYTHON312" >&2; exit 1; }
nvcc=$(command -v nvcc) || { echo "nvcc not found" >&2; exit 1; }
toolkit=$(nvcc --dryrun -x cu /dev/null 2>&1 | sed -n 's/^#\$ TOP=//p' | head -n 1)
toolkit=$(cd "${toolkit:-$(dirname "$nvcc")/..}" && pwd)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m venv "$work/venv"
pip=$work/venv/bin/pip
"$pip" install -q "setuptools<81" wheel "numpy>=2"

mkdir "$work/stub"
echo 'void minirnn_stub(void) {}' >"$work/stub/stub.c"
gcc -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$work/stub/libcuda.so" "$work/stub/stub.c"

"$pip" download -q --no-deps --no-build-isolation --no-binary :all: -d "$work" "pycuda${PYCUDA_VERSION:+==$PYCUDA_VERSION}"
tar -xzf "$work"/pycuda-*.tar.gz -C "$work"
cd "$work"/pycuda-*/
printf "CUDA_ROOT=%s\nCUDA_ENABLE_CURAND=False\nCUDADRV_LIB_DIR=[%s]\n" "'$toolkit'" "'$work/stub'" >siteconf.py
# The stub defines nothing that PyCUDA uses, so a linker that drops unneeded libraries would drop libcuda.so.1.
LDFLAGS="-Wl,--no-as-needed" "$pip" wheel -q --no-deps --no-build-isolation -w "$out" .
"$pip" download -q --no-deps --only-binary=:all: -d "$out" \
    pytools platformdirs mako typing-extensions siphash24 nvmath-python tqdm safetensors
ls -l "$out"
