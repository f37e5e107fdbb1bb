#!/usr/bin/env bash
# Runs a command on the stand-in GPU: the real PyCUDA, over the simulator (tests/stand_in_gpu/README.md). No GPU is needed.
#   scripts/with_stand_in_gpu.sh .venv/bin/python -m minirnn doctor
#   scripts/with_stand_in_gpu.sh .venv/bin/python -m pytest -m "cuda" --devices cuda
# The command is a Python, a Python script such as .venv/bin/minirnn, or something that runs the Python named by PYTHON
# (default: python3). The first call builds PyCUDA into a cache folder ($MINIRNN_STAND_IN_CACHE), which takes some minutes and
# needs pip, gcc, g++ and the headers of Python and of CUDA: those of nvcc's toolkit, or a wheel's. `--setup` builds and runs
# nothing else. Linux only. Exit status 69: the stand-in cannot be had here, for the reason that is printed.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[ $# -gt 0 ] || { sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
if script=$(command -v -- "$1") && { IFS= read -r first <"$script"; } 2>/dev/null && [[ $first == '#!'*/python* ]]; then
    set -- "${first#??}" "$script" "${@:2}" # in the Python that the script itself names
fi
case $(basename -- "$1") in python*) PYTHON=$(command -v -- "$1") ;; *) PYTHON=$(command -v "${PYTHON:-python3}") ;; esac
export PYTHON

unavailable() { echo "with_stand_in_gpu: $*" >&2; exit 69; }
[ "$(uname -s)" = Linux ] || unavailable "the stand-in GPU is for Linux"
# What a build would only find out after minutes.
"$PYTHON" -c 'import sys; sys.path.insert(0, sys.argv[1]); import minirnn' "$root" 2>/dev/null || {
    echo "with_stand_in_gpu: $PYTHON cannot import minirnn" >&2
    echo "  expected the Python of its environment, as in: scripts/with_stand_in_gpu.sh .venv/bin/python -m minirnn doctor" >&2
    exit 2
}
for tool in gcc g++ nm; do command -v $tool >/dev/null || unavailable "$tool is not installed"; done
"$PYTHON" -m pip --version >/dev/null 2>&1 || unavailable "$PYTHON has no pip"
header=$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h
[ -f "$header" ] || unavailable "the headers of Python are not installed: there is no $header"

tag=$("$PYTHON" -c 'import sys, sysconfig; print(sys.implementation.cache_tag, sysconfig.get_platform(), sep="-")')
cache=${MINIRNN_STAND_IN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/minirnn/stand-in-gpu}/$tag
mkdir -p "$cache"

build() {
    local start=$SECONDS work
    echo "with_stand_in_gpu: building PyCUDA, once, into $cache ..." >&2
    work=$(mktemp -d)
    "$root/scripts/evidence/gpu_wheels.sh" --pycuda "$work" >/dev/null || { rm -rf "$work"; unavailable "PyCUDA cannot be built"; }
    # From these wheels alone: so it is known that they are all that is needed.
    "$PYTHON" -m pip install -q --no-index --find-links "$work" --no-compile --target "$work/site" --no-deps "$work"/*.whl 2>"$work/log" ||
        { tail -n 3 "$work/log" >&2; unavailable "PyCUDA cannot be installed"; }
    rm -rf "$cache/site" "$cache/wheels"
    mkdir "$cache/wheels"
    mv "$work"/*.whl "$cache/wheels"
    mv "$work/site" "$cache/site"
    rm -rf "$work"
    echo "with_stand_in_gpu: built in $((SECONDS - start)) s" >&2
}

# A Python that has all packages of the given one, and PyCUDA.
overlay() {
    local base=$1 made=$2
    "$base" -m venv --without-pip "$made.new"
    "$base" - "$made.new" "$cache/site" "$root" <<'PY'
import sys, sysconfig
from pathlib import Path

made, *more = sys.argv[1:]
folder = next(Path(made).glob("lib/python*/site-packages"))
lines = [f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})", *more]
(folder / "stand_in_gpu.pth").write_text("\n".join(lines) + "\n")
PY
    rm -rf "$made" && mv "$made.new" "$made"
}

exec 9>"$cache/lock"
flock 9
[ -d "$cache/site/pycuda" ] && [ -d "$cache/wheels" ] || build
with=$cache/python-$(printf '%s %s' "$PYTHON" "$root" | cksum | cut -d ' ' -f 1)
[ -x "$with/bin/python" ] || overlay "$PYTHON" "$with"
[ "$PYTHON" = "$(command -v -- "$1" || true)" ] && set -- "$with/bin/python" "${@:2}"
PYTHON=$with/bin/python
libraries=$(STAND_IN_GPU_BUILD=$cache "$PYTHON" "$root/tests/stand_in_gpu/libraries.py")
exec 9>&-
[ "$1" = --setup ] && exit 0
export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} PATH=$root/tests/stand_in_gpu/bin:$PATH
export STAND_IN_GPU_CACHE=$cache/compiled STAND_IN_GPU_WHEELS=$cache/wheels
exec "$@"
