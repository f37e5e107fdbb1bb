"""Hostile CUDA kernels cannot read files, call host functions or switch off checks.

Tests `minirnn/learn/sandbox/kernel_text.py`, `minirnn/learn/sandbox/symbols.py` and `minirnn/learn/sandbox/tools.py`.
"""

import re
import shutil

import pytest

from minirnn.devices.cuda.driver import CompileError
from minirnn.devices.cuda.sim.options import SimOptions
from minirnn.learn import check as checking
from minirnn.learn.sandbox import kernel_changes, kernel_text, symbols, tools
from minirnn.learn.sandbox.clock import Clock
from minirnn.learn.sandbox.parent import WAYS
from tests.learn.answers import COURSE, checked, solution
from tests.learn.sandbox.attacks.attack import needs
from tests.slow import slow_unless

SECRET = COURSE.folder / "course.toml"
# Rejected texts with the line of the complaint: text -> (line, message).
REFUSED = {
    'asm(".incbin \\"SECRET\\"");': (1, "inline assembler"),
    '__asm__ volatile("");': (1, "inline assembler"),
    "a\\\nsm(\"\");": (1, "inline assembler"),
    "as\\  \nm(\"\");": (1, "inline assembler"),
    "/* x */ asm /* y */ (\"\");": (1, "inline assembler"),
    "// a comment \\\nasm\nasm(\"\");": (3, "inline assembler"),
    "#define A asm\nA(\"\");": (1, "inline assembler"),
    "#define A as ## m\nA(\"\");": (1, "the operator ##"),
    "%:define A as %:%: m": (1, "the operator ##"),
    '\n#include "SECRET"': (2, "plain name"),
    "#inc\\\nlude \"SECRET\"": (1, "plain name"),
    "# /* */ include /* */ \"SECRET\"": (1, "plain name"),
    "/*\n*/ # include <../../x>": (1, "plain name"),
    "%:include \"SECRET\"": (1, "plain name"),
    "#include FILE": (1, "plain name"),
    "#include <fstream>": (1, "the header fstream"),
    "#include <immintrin.h>": (1, "the header immintrin.h"),
    "#import \"SECRET\"": (1, "#import"),
    "#include_next <math.h>": (1, "#include_next"),
    "#embed \"SECRET\"": (1, "#embed"),
    "#line 1 \"cusim.h\"": (1, "#line"),
    "# 1 \"cusim.h\" 3": (1, "#1"),
    "#if __has_include(\"SECRET\")\n#endif": (1, "a question for files"),
    "#pragma GCC optimize(\"O3\")": (1, "#pragma GCC"),
    "#pragma GCC dependency \"SECRET\"": (1, "#pragma GCC"),
    "_Pragma(\"GCC optimize 3\")": (1, "_Pragma"),
    "#ident \"x\"": (1, "#ident"),
    "__attribute__((no_sanitize_thread)) void f();": (1, "the attribute no_sanitize_thread"),
    "__attribute__((__no_sanitize__(\"thread\"))) void f();": (1, "the attribute __no_sanitize__"),
    "__attribute__((unused, constructor)) void f();": (1, "the attribute constructor"),
    "__attribute__\n((optimize(3))) void f();": (1, "the attribute optimize"),
    "__attribute((target(\"avx2\"))) void f();": (1, "the attribute target"),
    "#define A __attribute__\nA((no_sanitize_thread)) void f();": (1, "__attribute__"),
    "[[gnu::no_sanitize_thread]] void f();": (1, "the attribute gnu"),
    "[ [ using gnu : no_sanitize_thread ] ] void f();": (1, "the attribute using"),
    "<:<:gnu::no_sanitize_thread:>:> void f();": (1, "the attribute gnu"),
    "__declspec(dllexport) void f();": (1, "__declspec"),
    "CUSIM_OWN void f();": (1, "CUSIM_OWN"),
    "extern \"C\" void cusim_yield();": (1, "cusim_yield"),
    "extern \"C\" void __tsan_read4(void *);": (1, "__tsan_read4"),
    "int f() { return __builtin_ia32_pause(); }": (1, "__builtin_ia32_pause"),
    "void *f() { return __builtin_return_address(0); }": (1, "__builtin_return_address"),
    "int f(int *p) { return __atomic_load_n(p, 0); }": (1, "__atomic_load_n"),
    "??=include \"SECRET\"": (1, "a trigraph"),
    "// ??/\n#include \"SECRET\"": (1, "a trigraph"),
    "int a;\rasm(\"\");": (1, "a control character"),
    "const char *s = R\"(\n)\"; asm(\"\");": (1, "a raw string"),
}  # fmt: skip
ALLOWED = [
    "// asm, __attribute__((constructor)) and #pragma x in a comment\n/* asm(\"\")\n#include \"/etc/passwd\" */",
    'const char *text = "asm // __attribute__((x)) /*";',
    "#pragma unroll 4\nint a[3];\nint f(int *b) { return a[b[0]] / *b; }",
    "struct __attribute__((aligned(16))) A { int x; };\n[[maybe_unused]] static int y;",
    "__device__ __forceinline__ int f(int x) { return __builtin_popcount(x) + 1'000; }",
    "#include <math.h> // fine\n#include \"cuda_fp16.h\" /* too */\n#define TWICE(x) (x) \\\n  + (x)",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_reads_files_or_takes_checks_away_is_refused_with_its_line(text):
    line, said = REFUSED[text]
    with pytest.raises(CompileError) as error:
        kernel_text.refuse(text.replace("SECRET", str(SECRET)))
    assert str(error.value).startswith(f"line {line}: ") and said in str(error.value), error.value


@pytest.mark.parametrize("text", ALLOWED)
def test_what_is_harmless_is_not_refused(text):
    kernel_text.refuse(text)


def test_what_macros_make_is_refused_after_the_preprocessor(tmp_path):
    text = "#define OPEN [\n#define NAME(x) gnu::x\n\nOPEN OPEN NAME(no_sanitize_thread) ]] void f();\n"
    kernel_text.refuse(text)
    result = checked(tmp_path, "ex17", text + solution("ex17"))
    assert result.score == 0 and "ex17_pointwise.cu:4: the attribute gnu is refused" in result.message, result.message


@pytest.mark.parametrize("id", ["ex18", "ex20"])
@pytest.mark.parametrize("attribute", ["__attribute__((no_sanitize_thread))", '[[gnu::no_sanitize("thread")]]'])
def test_a_stub_whose_accesses_nobody_counts_earns_nothing(tmp_path, id, attribute):
    stub = COURSE.stub(COURSE.entry(id))
    result = checked(tmp_path, id, stub.replace("__global__", f"{attribute} __global__", 1))
    assert result.score == 0 and "the attribute" in result.message and "is refused" in result.message


def test_loads_by_inline_assembler_earn_nothing(tmp_path):
    load = '__device__ float load(const float *p) { float x; asm volatile("movss (%1), %0" : "=x"(x)'
    load += ' : "r"(p)); return x; }'
    result = checked(tmp_path, "ex18", f"{load}\n{COURSE.stub(COURSE.entry('ex18'))}")
    assert result.score == 0 and "line 1: inline assembler is refused" in result.message


CALLS = {
    "system": 'extern "C" int system(const char *);\nstatic int made = system("touch OUTSIDE");\n',
    "fopen": '#include <stdio.h>\nstruct Spy { Spy() { if (FILE *f = fopen("OUTSIDE", "w")) fclose(f); } };\n'
             "static Spy s;\n",
    "memcpy": 'extern "C" void *memcpy(void *, const void *, size_t);\n__device__ void copy(float *a, float *b, int n)'
              " { memcpy(a, b, n); }\nvoid (*kept)(float *, float *, int) = copy;\n",
    "dlsym": 'extern "C" void *dlsym(void *, const char *);\nvoid *found = dlsym(0, "write");\n',
    "syscall": 'extern "C" long syscall(long, ...);\nstatic long made = syscall(39);\n',
}  # fmt: skip


@pytest.mark.parametrize("name", slow_unless(["system", "dlsym"], CALLS))
def test_a_kernel_calls_no_function_of_the_host(tmp_path, name):
    outside = tmp_path / "outside"
    result = checked(tmp_path, "ex17", CALLS[name].replace("OUTSIDE", str(outside)) + solution("ex17"))
    assert result.score == 0 and "is refused" in result.message and not outside.exists(), result.message


def test_only_the_compilers_own_helpers_begin_with_two_lines():
    for name in (
        "__addtf3",
        "__multf3",
        "__divdc3",
        "__fixsfti",
        "__floatundidf",
        "__extendhfsf2",
        "__powisf2",
        "__letf2",
    ):
        assert symbols.ALLOWED.fullmatch(name), name
    for name in ("__getcwd_chk", "__gets_chk", "__lxstat", "__fixpath", "__netf2_chk", "__getauxval", "__subprocess"):
        assert not symbols.ALLOWED.fullmatch(name), name


def test_memcpy_is_called_by_its_name(tmp_path):
    copy = "__global__ void copy(float *a, float *b, int n) { memcpy(a, b, n); }\n"
    result = checked(tmp_path, "ex17", copy + solution("ex17"))
    assert result.score == 0 and "a call of memcpy is refused" in result.message, result.message
    assert "to copy, write a loop or an assignment" in result.message


@pytest.mark.slow
def test_what_older_rules_let_pass_is_looked_at_again(tmp_path, monkeypatch):
    source = "__global__ void copy(float *a, float *b, int n) { memcpy(a, b, n); }\n"
    job = {"ways": sorted(WAYS), "secret": []}
    with monkeypatch.context() as before:
        before.setattr(symbols, "ALLOWED", re.compile(".*"))
        before.setattr(tools, "RULES", f"older ones {tmp_path}")
        assert tools.compiled(source, "copy.cu", SimOptions(check=True), job).exists()
    with pytest.raises(CompileError, match="a call of memcpy is refused"):
        tools.compiled(source, "copy.cu", SimOptions(check=True), job)


@pytest.mark.parametrize(
    "text", slow_unless(3, ['#include "SECRET"\n', 'asm(".incbin \\"SECRET\\"");\n', "#import <SECRET>\n"])
)
def test_the_compiler_itself_cannot_read_other_files(tmp_path, text):
    """The text is not checked, so the lock alone must hold."""
    needs("landlock")
    secret = tmp_path / "secret.h"
    secret.write_text("#error the secret is swordfish\n")
    source = tmp_path / "work" / "kernel.cpp"
    source.parent.mkdir()
    source.write_text(text.replace("SECRET", str(secret)))
    compiler = tools.compiler.find()
    command = [*compiler.command, "-c", "-x", "c++", str(source), "-o", str(source.with_suffix(".o"))]
    for ways in (WAYS, WAYS - {"seccomp"}):
        done = tools.locked(command, str(source.parent), tuple(ways), ())
        assert done.returncode and "swordfish" not in done.stderr
        assert re.search("denied|No such file|not found|Could not find", done.stderr), done.stderr
    source.write_text("#include <math.h>\nfloat f(float x) { return sinf(x); }\n")
    done = tools.locked(command, str(source.parent), tuple(WAYS), ())
    assert done.returncode == 0, done.stderr
    done = tools.locked([*command[:-1], str(tmp_path / "outside.o")], str(source.parent), tuple(WAYS), ())
    assert done.returncode and not (tmp_path / "outside.o").exists()


BOMBS = {
    "a loop": "constexpr long f(long n) { long s = 0; for (long k = 0; k < n; ++k) s += k; return s; }\n"
              "constexpr long a = f(1L << 40);\nlong b = a;\n",
    "macros": "#define A0 x x x x x x x x x x\n"
              + "".join(f"#define A{k + 1} {' '.join([f'A{k}'] * 10)}\n" for k in range(9)) + "A9\n",
    "templates": "template <int n> struct S { S<n - 1> a; S<n - 2 - (n & 1)> b; };\ntemplate <> struct S<0> {};\n"
                 "template <> struct S<-1> {};\ntemplate <> struct S<-2> {};\nS<800> s;\n",
    "complaints": "#define A b c; d e; f g; h i; j k; l m;\n#define B A A A A A A A A A A\n" + "B\n" * 20000,
}  # fmt: skip


@pytest.mark.parametrize("name", slow_unless(["macros"], BOMBS))
def test_a_compiler_that_never_ends_is_stopped(tmp_path, name):
    needs("seccomp")
    source = tmp_path / "kernel.cpp"
    source.write_text(BOMBS[name])
    found = tools.compiler.find()
    endless = ["-fconstexpr-loop-limit=2147483647", "-fconstexpr-ops-limit=9223372036854775807"]
    options = ["-std=c++17", *([] if found.is_clang else endless)]
    begun = tools.used()
    locks = tools.LockedCompiler(found.command, found.version, tuple(WAYS), (), until=begun + 0.5)
    with pytest.raises(CompileError) as refused:
        locks.run(*options, "-c", str(source), "-o", str(tmp_path / "kernel.o"))
    assert tools.used() - begun < 6 and len(str(refused.value)) <= tools.MOST_SAID
    with pytest.raises(CompileError, match="takes too much"):  # nothing is left for another run
        tools.LockedCompiler(found.command, found.version, tuple(WAYS), (), until=tools.used()).run("-E", str(source))


def test_the_judge_looks_at_no_kernels_text(tmp_path, monkeypatch):
    """Changing a kernel to find its mistake happens in the answer's process, where time and memory are limited."""
    monkeypatch.setattr(kernel_changes, "TOKEN", None)
    result = checked(tmp_path, "ex17", solution("ex17", ("if (k >= N)", "if (k > N)")))
    assert "> is used where >= belongs" in result.message, result.message


SLOW_TEXTS = {
    "a long word": "int {word} = 0;\n" + "k + k;\n" * 500,
    "conditions": "if (k) k;\n" * 500,
    "indices": "".join(f"u[{k}];" + "\n" * (k % 9 == 0) for k in range(700)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW_TEXTS)
def test_a_kernel_that_is_slow_to_change_costs_no_more_than_its_budget(tmp_path, name):
    text = SLOW_TEXTS[name].replace("{word}", "a" * 3000)
    wrong = solution("ex17", ("if (k >= N)", "if (k > N)"))
    end = wrong.rindex("}")
    result = checked(tmp_path, "ex17", f"{wrong[:end]}\n{text}\n{wrong[end:]}")
    assert result.status == "failed" and "read past the end" in result.message


def test_a_kernel_in_no_encoding_is_told_so(tmp_path):
    result = checked(tmp_path, "ex17", f"#coding: rot13\n{solution('ex17')}")
    assert "the file is not UTF-8 text" in result.message, result.message


def test_compiling_and_running_have_one_budget(tmp_path, monkeypatch):
    started = []
    monkeypatch.setattr(
        checking.Child, "_clock", lambda self, own: started.append(own) or Clock(self.session.pid, own, 300)
    )
    unique = f"// {tmp_path}\n"
    assert checked(tmp_path, "ex17", unique + solution("ex17"), seconds=20).passed
    assert 0 < started[0] < 20


def test_the_line_of_a_fault_is_known_below_the_locks(tmp_path):
    if shutil.which("addr2line") is None:
        pytest.skip("binutils are not installed")
    result = checked(tmp_path, "ex17", solution("ex17", ("if (k >= N) return;", "")))
    assert "ex17_pointwise.cu:" in result.message and "line unknown" not in result.message, result.message


@pytest.mark.parametrize("ways", slow_unless([WAYS], [WAYS, WAYS - {"namespaces"}, frozenset()]))
def test_variables_of_a_kernel_begin_anew_in_each_order(tmp_path, monkeypatch, ways):
    """Each order has its own copy of the library, and no copy is made after locking."""
    monkeypatch.setattr(checking.Child, "ways", ways)
    counted = solution("ex17", ("if (k >= N) return;", "if (k >= N + launches) return;"))
    result = checked(tmp_path, "ex17", f"__device__ int launches = 0;\n{counted}", hidden=True)
    assert result.passed and result.hidden, result.message


@pytest.mark.parametrize("form", ["absolute", "relative", "through a link"])
def test_a_compiler_reads_no_secret_wherever_it_begins(tmp_path, monkeypatch, form):
    """The secret folder may be given as a relative path, although the compiler starts in another folder."""
    needs("landlock")
    work, secret = tmp_path / "work", tmp_path / "work" / "secret"
    secret.mkdir(parents=True)
    (tmp_path / "link").symlink_to(secret)
    (secret / "solution.h").write_text("int solution;\n")
    (work / "open.h").write_text("int open_to_all;\n")
    monkeypatch.chdir(tmp_path)
    name = {"absolute": str(secret), "relative": "work/secret", "through a link": "link"}[form]
    plain = tools.compiler.find()
    locks = tools.LockedCompiler(plain.command, plain.version, ("landlock", "seccomp"), (name,))
    (work / "a.cpp").write_text('#include "open.h"\n')
    assert "open_to_all" in locks.run("-E", str(work / "a.cpp"))
    (work / "a.cpp").write_text('#include "secret/solution.h"\n')
    with pytest.raises(CompileError, match="solution.h'?: Permission denied"):
        locks.run("-E", str(work / "a.cpp"))
