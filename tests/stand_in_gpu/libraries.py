"""Builds the libraries whose functions all call one Python function: libcuda.so.1, libcublas.so.13, libcublasLt.so.13.

python libraries.py          prints the folder with the libraries, which is made anew when this file or PyCUDA changes
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ARGUMENTS = 24
"""The number of arguments of the longest function. Unused ones hold whatever is on the stack."""

CUBLAS = [
    "cublasCreate_v2",
    "cublasDestroy_v2",
    "cublasSetStream_v2",
    "cublasSetWorkspace_v2",
    "cublasSetMathMode",
    "cublasGemmEx",
    "cublasGemmStridedBatchedEx",
    "cublasGetVersion_v2",
    "cublasGetStatusName",
    "cublasGetStatusString",
]

ASKED_BY_NAME = [
    "cuStreamBeginCapture_v2",
    "cuStreamEndCapture",
    "cuGraphInstantiateWithFlags",
    "cuGraphDestroy",
    "cuGraphExecDestroy",
    "cuGraphLaunch",
    "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    "cuLaunchKernelEx",
    "cuPointerGetAttribute",
    "cuGetErrorName",
    "cuGetErrorString",
]
"""The functions of libcuda.so.1 that minirnn calls by ctypes, in addition to those that PyCUDA is linked with."""

# The first call starts the Python half, so that processes that never ask for a GPU import nothing.
HEAD = """
#define _GNU_SOURCE
#include <dlfcn.h>
typedef unsigned long long u;
typedef long long (*answer_t)(const char*, u*);
static answer_t answer;
void HOOK(answer_t given) { answer = given; }
static long long ask(const char* name, u* arguments) {
  if (!answer) {
    int (*ensure)(void) = dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
    void (*release)(int) = dlsym(RTLD_DEFAULT, "PyGILState_Release");
    int (*run)(const char*, void*) = dlsym(RTLD_DEFAULT, "PyRun_SimpleStringFlags");
    if (!ensure || !release || !run) return 3;
    int state = ensure();
    run("import sys; sys.path.append('ROOT'); from tests.stand_in_gpu import answers; answers.install()", 0);
    release(state);
  }
  return answer ? answer(name, arguments) : 3;
}
"""


def text_of(names: list[str], hook: str) -> str:
    """A C file with one function for each name."""
    parameters = ", ".join(f"u a{k}" for k in range(ARGUMENTS))
    arguments = ", ".join(f"a{k}" for k in range(ARGUMENTS))
    lines = [HEAD.replace("HOOK", hook).replace("ROOT", str(ROOT))]
    lines += [
        f'long long {name}({parameters}) {{ u a[] = {{{arguments}}}; return ask("{name}", a); }}' for name in names
    ]
    return "\n".join(lines) + "\n"


def linked_names(pycuda: Path) -> list[str]:
    """The driver functions that PyCUDA's extension module is linked with."""
    listed = subprocess.run(["nm", "-D", "--undefined-only", pycuda], capture_output=True, text=True, check=True)
    return re.findall(r" (cu[A-Z]\w*)", listed.stdout)


def build() -> Path:
    """The folder with the libraries. Raises SystemExit if this Python has no PyCUDA."""
    spec = find_spec("pycuda")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("libraries.py: this Python has no PyCUDA; scripts/with_stand_in_gpu.sh brings one")
    pycuda = next(Path(spec.submodule_search_locations[0]).glob("_driver*.so"))
    key = hashlib.sha256(Path(__file__).read_bytes() + pycuda.read_bytes() + bytes(ROOT)).hexdigest()[:16]
    parent = Path(os.environ.get("STAND_IN_GPU_BUILD") or tempfile.gettempdir())
    folder = parent / f"stand_in_gpu-{os.getuid()}-{key}"
    if folder.is_dir():
        return folder
    texts = {
        "libcuda.so.1": text_of(sorted({*linked_names(pycuda), *ASKED_BY_NAME}), "stand_in_cuda_hook"),
        "libcublas.so.13": text_of(CUBLAS, "stand_in_cublas_hook"),
        "libcublasLt.so.13": "void stand_in_cublas_lt(void) {}\n",
    }
    made = Path(tempfile.mkdtemp(dir=parent))
    for library, text in texts.items():
        source = made / f"{library.split('.')[0]}.c"
        source.write_text(text)
        command = [os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", f"-Wl,-soname,{library}"]
        subprocess.check_call([*command, "-o", made / library, source, "-ldl"])
    try:
        made.rename(folder)
    except OSError:  # another process was first
        shutil.rmtree(made)
    return folder


if __name__ == "__main__":
    sys.stdout.write(f"{build()}\n")
