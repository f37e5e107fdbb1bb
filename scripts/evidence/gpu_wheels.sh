#!/usr/bin/env bash
# Builds in FOLDER (default .whl) the wheels that a GPU machine without a package index needs for minirnn's cuda device and
# its tests: PyCUDA, compiled against CUDA's headers (no driver is needed: it links to a stub of libcuda), all that it, minirnn
# and the tests import, and NVIDIA's compute-sanitizer. cuBLAS is too large for this and must be there, as must the driver, nvcc and g++.
#   scripts/evidence/gpu_wheels.sh [FOLDER]            with --pycuda: no NumPy, and nothing for the tests
# PYTHON names the Python to build for (default python3.12). Needs it, gcc, g++ and CUDA's headers: those of nvcc's toolkit,
# or of wheels. PYCUDA_WHEEL names a wheel of PyCUDA that is there already. On the GPU machine then:
#   python3 -m pip install -q --no-index --find-links .whl --no-compile --target site .whl/*.whl && export PYTHONPATH=$PWD/site
# scripts/evidence/prove_gpu_wheels.sh shows that these wheels are enough.
set -euo pipefail

only_pycuda= out=.whl
for argument in "$@"; do case $argument in --pycuda) only_pycuda=1 ;; *) out=$argument ;; esac; done
out=$(mkdir -p "$out" && cd "$out" && pwd)
python=${PYTHON:-$(ls -d "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.12*/bin/python3.12 2>/dev/null | tail -n 1)}
python=${python:-$(command -v python3.12 || true)}
[ -n "$python" ] && "$python" --version >/dev/null || { echo "python3.12 not found: set PYTHON" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m venv "$work/venv"
pip=$work/venv/bin/pip
quiet() { "$@" >"$work/log" 2>&1 || { grep -iE "error|fatal" "$work/log" | tail -n 5 >&2; exit 1; }; }

build() {
    quiet "$pip" install -q "setuptools<81" wheel "numpy>=2"

    # CUDA's headers: of the toolkit that is installed, else of NVIDIA's wheels.
    include=
    if nvcc=$(command -v nvcc); then
        toolkit=$(nvcc --dryrun -x cu /dev/null 2>&1 | sed -n 's/^#\$ TOP=//p' | head -n 1)
        include=$(cd "${toolkit:-$(dirname "$nvcc")/..}" && pwd)/include
    fi
    if [ ! -f "$include/cudaProfiler.h" ]; then
        quiet "$pip" install -q --target "$work/cuda" "cuda-toolkit[cudart,crt,profiler]==13.*"
        include=$(dirname "$(find "$work/cuda" -name cudaProfiler.h | head -n 1)")
    fi

    mkdir "$work/stub"
    echo 'void minirnn_stub(void) {}' >"$work/stub/stub.c"
    gcc -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$work/stub/libcuda.so" "$work/stub/stub.c"

    quiet "$pip" download -q --no-deps --no-build-isolation --no-binary :all: -d "$work" "pycuda${PYCUDA_VERSION:+==$PYCUDA_VERSION}"
    tar -xzf "$work"/pycuda-*.tar.gz -C "$work"
    cd "$work"/pycuda-*/
    printf "CUDA_ENABLE_CURAND=False\nCUDA_INC_DIR=['%s']\nCUDADRV_LIB_DIR=['%s']\n" "$include" "$work/stub" >siteconf.py
    # The stub defines nothing that PyCUDA uses, so a linker that drops unneeded libraries would drop libcuda.so.1.
    LDFLAGS="-Wl,--no-as-needed" quiet "$pip" wheel -q --no-deps --no-build-isolation -w "$out" .
}

if [ -n "${PYCUDA_WHEEL:-}" ]; then cp "$PYCUDA_WHEEL" "$out"; else build; fi
quiet "$pip" download -q --no-deps --only-binary=:all: -d "$out" \
    cuda-pathfinder mako markupsafe platformdirs pytools siphash24 typing-extensions tqdm \
    nvidia-cuda-sanitizer-api
[ -n "$only_pycuda" ] ||
    quiet "$pip" download -q --only-binary=:all: -d "$out" \
        "numpy>=2" matplotlib safetensors hypothesis pytest pytest-mpl pytest-timeout pytest-xdist
ls -l "$out"
