"""The rewriting of __global__, __shared__, __device__, __constant__, on small texts."""

import pytest

from minirnn.devices.cuda.driver import CompileError
from minirnn.devices.cuda.sim.rewrite import declared_name, rewrite


def body(text: str) -> str:
    """The rewritten text without the exports at its end."""
    return rewrite(text).text.partition('\nextern "C" __attribute__((visibility("default"))) void')[0].rstrip("\n")


@pytest.mark.parametrize(
    "text, name",
    [
        ("__global__ void k(float *x) { }", "k"),
        ('extern "C" __global__ void k(float *x) { }', "k"),
        ('extern "C" void __global__ k(float *x) { }', "k"),
        ("static __global__ void\nk\n(float *x) { }", "k"),
        ("__global__ __attribute__((noinline)) void k(int n) { }", "k"),
        ("__global__ void __attribute__((aligned(4), used)) k(int n) { }", "k"),
        ("namespace deep { __global__ void k() { } }", "k"),
        ("__global__ void k();", "k"),
    ],
)
def test_a_kernel_is_found_and_renamed(text: str, name: str) -> None:
    done = rewrite(text)
    assert done.kernels == [name]
    assert f"cusim_k_{name}" in done.text
    assert f"cusim_call_{name}(void **a)" in done.text
    assert "__global__" not in done.text


def test_a_kernel_declared_and_defined_is_exported_once() -> None:
    done = rewrite("__global__ void k(int); __global__ void k(int n) { } __global__ void b() { }")
    assert done.kernels == ["k", "b"]
    assert done.text.count("void cusim_call_k(") == 1
    assert done.text.count("cusim_k_k(int") == 2


def test_a_template_is_a_function_as_any_other() -> None:
    done = rewrite("template <typename T> __global__ void k(T *x) { __shared__ T s[4]; s[0] = *x; }")
    assert done.kernels == []
    assert body("template <class T> __device__ T f(T x) { return x; }") == "template <class T>  T f(T x) { return x; }"


@pytest.mark.parametrize(
    "text, variables",
    [
        ("__device__ int a;", ["a"]),
        ("__constant__ float a[4][5], b = 3, *c;", ["a", "b", "c"]),
        ("__device__ __constant__ float a[2] = {1, 2};", ["a"]),
        ("static __device__ float a[2][3] = {{1, 2, 3}, {4, 5, 6}}, b;", ["a", "b"]),
        ("__device__ Pair<int, float> a, b[N];", ["a", "b"]),
        ("__device__ int a[1 << 4], b[64 >> 2], c = d[3], e = max(1, 2);", ["a", "b", "c", "e"]),
        ("namespace n { __device__ int a; }", ["a"]),
        ('extern "C" { __device__ int a; }', ["a"]),
        ("__device__ int f(int x) { return x; }", []),
        ("struct S { int a; __device__ int f() { return a; } __device__ S(int a); };", []),
        ("void k() { __device__ int a; }", []),
        ("template <class T> __device__ T pi = T(3);", []),
    ],
)
def test_variables_at_file_scope_are_exported(text: str, variables: list[str]) -> None:
    done = rewrite(text)
    assert done.variables == variables
    assert "__device__" not in done.text
    assert "__constant__" not in done.text


@pytest.mark.parametrize(
    "declaration, names",
    [
        ("__shared__ float s[32];", "s"),
        ("__shared__ float a[4][5], b, c[N + 1];", "a, b, c"),
        ("__shared__ __attribute__((aligned(16))) Tile<float, 4> tile;", "tile"),
        ("volatile __shared__ int a[2], b;", "a, b"),
        ("static __shared__ int a;", "a"),
        ("__shared__\n  int\n  a[2],\n  b;", "a, b"),
    ],
)
def test_shared_variables_become_references_into_the_blocks_memory(declaration: str, names: str) -> None:
    text = "__global__ void k() { " + declaration + " use(); }"
    done = rewrite(text).text
    assert f'>("{names}")' in done
    for name in names.split(", "):
        assert f"auto &{name} = cusim_r1.{name}" in done
    assert done.partition("use()")[0].count("\n") == text.partition("use()")[0].count("\n")


def test_each_shared_declaration_has_its_own_struct() -> None:
    done = body("__global__ void k() { __shared__ int a; { __shared__ int a; } } void f() { __shared__ float b; }")
    assert [done.count(f"struct cusim_s{n} {{") for n in (1, 2, 3, 4)] == [1, 1, 1, 0]


@pytest.mark.parametrize(
    "declaration, pointer",
    [
        ("extern __shared__ float s[];", "float *s = (float *)cusim_dynshared();"),
        ("extern __shared__ __attribute__((aligned(16))) unsigned char s[ ];", "*s = (unsigned char *)"),
        ("extern volatile __shared__ int s[];", "volatile int *s = (volatile int *)"),
        ("__shared__ extern alignas(16) double s[];", "double *s = (double *)cusim_dynshared();"),
    ],
)
def test_dynamic_shared_memory_becomes_a_pointer(declaration: str, pointer: str) -> None:
    words = " ".join(body("__global__ void k() { " + declaration + " }").replace("*", " * ").split())
    assert " ".join(pointer.replace("*", " * ").split()) in words


@pytest.mark.parametrize(
    "declaration, words",
    [
        ("extern __shared__ float s[];", "typedef float cusim_s_t; static cusim_s_t *const &s = "),
        ("extern __shared__ __attribute__((aligned(16))) float s[][8];", "typedef float cusim_s_t[8]; static"),
        ("namespace n { extern volatile __shared__ int s[]; }", "typedef volatile int cusim_s_t; static"),
        ('extern "C" { extern __shared__ float s[]; }', "typedef float cusim_s_t; static"),
    ],
)
def test_dynamic_shared_memory_at_file_scope_is_a_pointer_that_the_runtime_sets(declaration: str, words: str) -> None:
    assert words in rewrite(declaration).text
    twice = rewrite(declaration + "\n" + declaration).text
    assert twice.count("typedef") == 1  # declared once more: a header and the file that includes it


def test_rows_of_dynamic_shared_memory() -> None:
    assert "float (*s)[8] = (float (*)[8])cusim_dynshared();" in body("void k() { extern __shared__ float s[][8]; }")


def test_comments_and_strings_are_left_alone() -> None:
    text = "void f() { print(\"{ __shared__ int a; } \\\" __global__\"); char c = '{', d = '\\''; }\n__device__ int v;"
    assert body(text).splitlines()[0] == text.splitlines()[0]
    assert rewrite(text).variables == ["v"]


def test_lines_stay_where_they_were() -> None:
    text = '# 1 "a.cu"\n\n__global__\nvoid k() {\n  __shared__ int\n    a,\n    b; mark1();\n\n  mark2(); }\nint mark3;'
    done = rewrite(text).text
    for mark in ("mark1", "mark2", "mark3"):
        assert done.partition(mark)[0].count("\n") == text.partition(mark)[0].count("\n"), mark


def test_a_line_marker_inside_a_declaration() -> None:
    text = '__global__ void k() {\n  __shared__ float\n# 7 "b.cu"\n    a[3];\n mark(); }'
    assert "#" not in body(text).partition("mark")[0]
    assert "auto &a = cusim_r1.a" in body(text)


@pytest.mark.parametrize(
    "text, place",
    [
        ("int x;\n__shared__ float s[3];", "line 2: "),
        ('# 1 "a.cu"\nint x;\n# 5 "b.cuh" 1\n\nnamespace n {\n__shared__ float s[3]; }', "b.cuh:7: "),
    ],
)
def test_shared_memory_outside_a_kernel_is_refused_with_its_line(text: str, place: str) -> None:
    with pytest.raises(CompileError) as error:
        rewrite(text)
    assert str(error.value).startswith(f"{place}__shared__ outside a kernel\n  expected inside the kernel")


def test_a_text_without_line_markers_is_the_users() -> None:
    with pytest.raises(CompileError, match="^line 2: inline PTX is not simulated"):
        rewrite('int a;\nvoid f() { asm(""); }')


def test_a_declarator_without_a_name() -> None:
    with pytest.raises(CompileError, match="which name this declares"):
        declared_name("(*)")
