"""What torch's names are called here, or why they are not here: one table for messages and for the documentation.

`POINTERS` has one sentence for each name that minirnn lacks, `of_method` what to write instead of a method in place.
"""

from __future__ import annotations

HERE = {
    "Size": "a shape is a tuple",
    "no_deprecation": "warnings are Python's",
    "nonzero": "mr.tensor(np.nonzero(t.numpy())[0])",
    "bincount": "mr.tensor(np.bincount(t.numpy()))",
    "unique": "mr.tensor(np.unique(t.numpy()))",
    "histc": "np.histogram(t.numpy())",
    "searchsorted": "np.searchsorted(a.numpy(), v.numpy())",
    "cdist": "((a.unsqueeze(1) - b) ** 2).sum(-1).sqrt()",
    "addmm": "bias + a @ b",
    "baddbmm": "bias + a @ b",
    "addmv": "bias + a @ v",
    "addcmul": "t + value * a * b",
    "addcdiv": "t + value * a / b",
    "lerp": "a + weight * (b - a)",
    "log2": "mr.log(x) / math.log(2)",
    "log10": "mr.log(x) / math.log(10)",
    "exp2": "2 ** x",
    "sinh": "(mr.exp(x) - mr.exp(-x)) / 2",
    "cosh": "(mr.exp(x) + mr.exp(-x)) / 2",
    "asinh": "mr.log(x + mr.sqrt(x * x + 1))",
    "acosh": "mr.log(x + mr.sqrt(x * x - 1))",
    "atanh": "(mr.log1p(x) - mr.log1p(-x)) / 2",
    "fmod": "a - b * mr.trunc(a / b)",
    "true_divide": "a / b",
    "divide": "mr.ops.divide, or a / b",
    "subtract": "mr.ops.subtract, or a - b",
    "multiply": "mr.ops.multiply, or a * b",
    "negative": "-x",
    "neg": "-x",
    "eq": "a == b",
    "ne": "a != b",
    "lt": "a < b",
    "le": "a <= b",
    "gt": "a > b",
    "ge": "a >= b",
    "median": "t.sort(dim).values, and an index",
    "kthvalue": "t.sort(dim), and an index",
    "cummax": "np.maximum.accumulate(t.numpy())",
    "select": "t[:, k]",
    "diag": "t * mr.eye(n), or t[range(n), range(n)]",
    "diagonal": "t[range(n), range(n)]",
    "trace": "t[range(n), range(n)].sum()",
    "index_add": "mr.scatter_add",
    "index_copy": "t[index] = values",
    "index_fill": "t[index] = value",
    "masked_scatter": "t[mask] = values",
    "hstack": "mr.cat(list, dim=1)",
    "vstack": "mr.cat(list, dim=0)",
    "bernoulli": "mr.rand_like(p) < p",
    "normal": "mean + std * mr.randn(size)",
    "from_dlpack": "mr.tensor(np.from_dlpack(x))",
    "as_tensor": "mr.tensor",
    "asarray": "mr.tensor",
    "is_tensor": "isinstance(x, mr.Tensor)",
    "numel": "t.numel()",
    "seed": "mr.manual_seed",
    "initial_seed": "mr.manual_seed",
    "get_rng_state": "mr.random.generator().bit_generator.state",
    "set_default_tensor_type": "dtype= where a Tensor is made, or .double() of a module",
    "set_default_dtype": "dtype= where a Tensor is made, or .double() of a module",
    "get_default_dtype": "mr.float32",
    "set_default_device": "mr.use_device(name)",
    "func": "mr.vjp, mr.jvp, mr.jacobian, mr.hessian and mr.vmap",
    "utils": "mr.data for utils.data, mr.checkpoint for utils.checkpoint, mr.nn.utils for clip_grad_norm_",
    "linalg": "mr.norm for linalg.norm; matrices are factored by np.linalg",
    "special": "mr.erf, mr.logsumexp, mr.softmax",
    "backends": "determinism and precision: mr.use_precision",
    "set_num_threads": "the environment variable OMP_NUM_THREADS",
    "FloatTensor": "mr.tensor(data, dtype=mr.float32)",
    "DoubleTensor": "mr.tensor(data, dtype=mr.float64)",
}
"""torch's name -> what to write here."""

ABSENT = {
    "compile": "there is no compiler: the device `native` has kernels in C++",
    "autocast": "dtypes are never changed on their own: module.half(), or dtype= of a layer",
    "amp": "dtypes are never changed on their own: module.half(), or dtype= of a layer",
    "distributed": "mr.parallel trains on several processes",
    "multiprocessing": "mr.parallel trains on several processes",
    "jit": "there is no compiler: run the function as it is",
    "onnx": "there is no exporter; mr.io writes safetensors",
    "fx": "mr.viz.tape_graph shows the tape",
    "sparse": "there are dense Tensors only",
    "bfloat16": "NumPy has no such dtype: use mr.float16 or mr.float32",
    "complex64": "there are no complex Tensors",
    "complex128": "there are no complex Tensors",
    "conv1d": "there are no convolutions",
    "conv2d": "there are no convolutions",
    "Conv1d": "there are no convolutions",
    "Conv2d": "there are no convolutions",
    "BatchNorm1d": "nn.LayerNorm normalizes in recurrent networks",
    "MultiheadAttention": "three nn.Linear and F.scaled_dot_product_attention",
    "LBFGS": "mr.optim.Adam; the quasi-Newton method is not here",
    "ASGD": "mr.optim.SGD, and the mean of the parameters kept by hand",
    "cholesky": "matrices are factored by np.linalg",
    "svd": "matrices are factored by np.linalg",
    "inverse": "matrices are factored by np.linalg",
}
"""torch's name -> why it isn't here."""


def pointer(name: str) -> str:
    """A line for an error message about a name of torch; empty if the table does not have it."""
    if name in HERE:
        return f"\n  torch's {name} is written here: {HERE[name]}"
    return f"\n  torch's {name} is not here: {ABSENT[name]}" if name in ABSENT else ""


def of_method(name: str) -> str:
    """The same about a method of Tensor."""
    if name.endswith("_") and not name.startswith("_"):
        return (
            f"\n  without a method in place, write x.copy_(...) with the value, or x = {name[:-1]}(x) if there is one"
        )
    return pointer(name)
