"""Write golden data for layers, activations and losses, computed by PyTorch in float64.

Needs torch (CPU is enough); `files.py` says how it is run. One file for each function of torch.nn.functional;
losses/README.md describes the keys.
"""

import json
import sys
import warnings

import numpy as np
import torch
import torch.nn.functional as F

from tests.golden.files import write_or_check

torch.set_num_threads(1)
warnings.simplefilter("ignore")  # torch warns of reduction="mean" of kl_div
RNG = np.random.default_rng(20)
CONSTANT = {"weight", "pos_weight"}  # of losses: torch has no gradients into these


def normal(*shape):
    return RNG.standard_normal(shape)


def uniform(*shape):
    return RNG.uniform(0.05, 0.95, shape)


def distribution(*shape, axis=1):
    p = RNG.uniform(0.1, 1, shape)
    return p / p.sum(axis=axis, keepdims=True)


def log_softmax(x):
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


REDUCTIONS = ("mean", "sum", "none")


def classification():
    """cross_entropy and nll_loss: shapes, weights, ignored targets, smoothing, probabilities."""
    weight = uniform(5) + 0.5
    ids, ids1, ids2 = RNG.integers(0, 5, 7), RNG.integers(0, 5, (3, 4)), RNG.integers(0, 5, (3, 2, 4))
    for name in ("cross_entropy", "nll_loss"):
        x, x1, x2 = (normal(*s) for s in ((7, 5), (3, 5, 4), (3, 5, 2, 4)))
        for reduction in REDUCTIONS:
            said = dict(reduction=reduction)
            yield name, f"plain_{reduction}", dict(input=x, target=ids), said
            yield name, f"weight_{reduction}", dict(input=x, target=ids, weight=weight), said
            ignored = said | dict(ignore_index=int(ids[0]))
            yield name, f"ignore_{reduction}", dict(input=x, target=ids), ignored
            yield name, f"weight_ignore_{reduction}", dict(input=x, target=ids, weight=weight), ignored
            yield name, f"steps_{reduction}", dict(input=x1, target=ids1, weight=weight), said
            yield name, f"picture_{reduction}", dict(input=x2, target=ids2), said
        minus = np.where(np.arange(7) % 3 == 0, -100, ids)
        yield name, "default_ignore_index", dict(input=x, target=minus), {}
        yield name, "all_ignored", dict(input=x, target=np.full(7, -100)), {}
        yield name, "all_ignored_sum", dict(input=x, target=np.full(7, -100)), dict(reduction="sum")
        yield name, "one_row", dict(input=normal(5), target=np.int64(3), weight=weight), {}
        yield name, "no_rows", dict(input=normal(0, 5), target=np.zeros(0, np.int64)), {}
    for reduction in REDUCTIONS:
        said = dict(reduction=reduction, label_smoothing=0.15)
        yield "cross_entropy", f"smooth_{reduction}", dict(input=x, target=ids), said
        both = dict(input=x, target=ids, weight=weight)
        yield "cross_entropy", f"smooth_weight_{reduction}", both, said
        yield "cross_entropy", f"smooth_weight_ignore_{reduction}", both, said | dict(ignore_index=int(ids[0]))
        yield "cross_entropy", f"smooth_ignore_{reduction}", both, said | dict(ignore_index=int(ids[1]))
        for shape in ((7, 5), (3, 5, 4)):
            p = dict(input=normal(*shape), target=distribution(*shape))
            kind = f"probabilities{len(shape)}"
            yield "cross_entropy", f"{kind}_{reduction}", p, dict(reduction=reduction)
            yield "cross_entropy", f"{kind}_smooth_weight_{reduction}", p | dict(weight=weight), said
    yield "cross_entropy", "probabilities1", dict(input=normal(5), target=distribution(5, axis=0)), {}


def binary():
    for name in ("binary_cross_entropy", "binary_cross_entropy_with_logits"):
        logits = name.endswith("logits")
        x = normal(3, 4) * 3 if logits else uniform(3, 4)
        y, weight, pos_weight = uniform(3, 4), uniform(3, 4), uniform(4) * 3
        for reduction in REDUCTIONS:
            said = dict(reduction=reduction)
            yield name, f"plain_{reduction}", dict(input=x, target=y), said
            yield name, f"weight_{reduction}", dict(input=x, target=y, weight=weight), said
            yield name, f"weight_of_columns_{reduction}", dict(input=x, target=y, weight=weight[0]), said
            if logits:
                yield name, f"pos_weight_{reduction}", dict(input=x, target=y, pos_weight=pos_weight), said
                both = dict(input=x, target=y, weight=weight[:, :1], pos_weight=pos_weight)
                yield name, f"both_weights_{reduction}", both, said
    sure = np.array([0.0, 1.0, 0.0, 1.0, 1e-30, 0.3])
    answers = dict(input=sure, target=np.array([0.0, 1.0, 1.0, 0.0, 1.0, 0.4]))
    yield "binary_cross_entropy", "sure", answers, dict(reduction="none", constant=["target"])
    scores = dict(input=np.array([-800.0, -40.0, 0.0, 40.0, 800.0]), target=np.array([1.0, 0.0, 0.5, 0.0, 1.0]))
    yield "binary_cross_entropy_with_logits", "extreme", scores, dict(reduction="none")


def regression():
    x, y = normal(3, 4), normal(3, 4)
    weight = uniform(3, 4)
    for reduction in REDUCTIONS:
        said = dict(reduction=reduction)
        both, weighted = dict(input=x, target=y), dict(input=x, target=y, weight=weight)
        for name in ("mse_loss", "l1_loss", "huber_loss"):
            yield name, f"plain_{reduction}", both, said
            yield name, f"weight_{reduction}", weighted, said
        yield "huber_loss", f"delta_{reduction}", both, said | dict(delta=0.6)
        yield "smooth_l1_loss", f"plain_{reduction}", both, said
        yield "smooth_l1_loss", f"beta_{reduction}", both, said | dict(beta=0.6)
        yield "smooth_l1_loss", f"beta_0_{reduction}", both, said | dict(beta=0.0)
    edge = dict(input=np.array([-0.5, -0.0, 0.5, 0.75]), target=np.zeros(4))
    yield "smooth_l1_loss", "edge", edge, dict(beta=0.5, reduction="none")
    yield "huber_loss", "edge", edge, dict(delta=0.5, reduction="none")
    yield "l1_loss", "edge", edge, dict(reduction="none")
    yield "mse_loss", "nothing", dict(input=normal(0, 3), target=normal(0, 3)), {}
    x, p = np.log(distribution(3, 4)), distribution(3, 4)
    for reduction in (*REDUCTIONS, "batchmean"):
        yield "kl_div", f"plain_{reduction}", dict(input=x, target=p), dict(reduction=reduction)
        logs = dict(input=x, target=np.log(p))
        yield "kl_div", f"log_target_{reduction}", logs, dict(reduction=reduction, log_target=True)
    zero = dict(input=x, target=np.where(p > 0.25, p, 0.0))
    yield "kl_div", "zeros", zero, dict(reduction="sum", constant=["target"])


def ctc():
    T, B, C = 9, 4, 5
    x = log_softmax(normal(T, B, C))
    targets = np.array([[1, 1, 2, 4], [3, 2, 3, 0], [2, 2, 2, 2], [4, 0, 0, 0]])
    lengths = dict(input_lengths=np.array([9, 7, 8, 5]), target_lengths=np.array([4, 3, 4, 1]))
    for reduction in REDUCTIONS:
        padded = dict(log_probs=x, targets=targets, **lengths)
        yield "ctc_loss", f"padded_{reduction}", padded, dict(reduction=reduction)
    joined = np.concatenate([row[:n] for row, n in zip(targets, lengths["target_lengths"], strict=True)])
    yield "ctc_loss", "one_after_the_other", dict(log_probs=x, targets=joined, **lengths), {}
    last = np.array([[1, 0, 2, 2], [3, 2, 3, 4], [0, 1, 0, 1], [2, 4, 4, 4]])
    moved = dict(log_probs=x, targets=last, **lengths)
    yield "ctc_loss", "blank_4", moved, dict(blank=4, reduction="none")
    some = dict(input_lengths=np.array([9, 3, 2, 0]), target_lengths=np.array([0, 3, 4, 0]))
    yield "ctc_loss", "empty_targets_and_impossible", dict(log_probs=x, targets=targets, **some), dict(reduction="none")
    for reduction in REDUCTIONS:
        said = dict(reduction=reduction, zero_infinity=True)
        yield "ctc_loss", f"zero_infinity_{reduction}", dict(log_probs=x, targets=targets, **some), said
    one = dict(log_probs=x[:, 0], targets=targets[0], input_lengths=np.int64(8), target_lengths=np.int64(4))
    yield "ctc_loss", "one_sequence", one, dict(reduction="none")
    yield "ctc_loss", "one_sequence_mean", one, {}


def activations():
    x = np.concatenate([normal(12) * 2, [0.0, -30.0, 30.0, -1.0, 1.0, 6.0, 2.0, 0.5, 1e-9, -1e-9]])
    for name in ("relu", "relu6", "leaky_relu", "elu", "silu", "gelu", "softplus", "logsigmoid", "sigmoid", "tanh"):
        yield name, "default", dict(input=x), {}
    yield "hardtanh", "default", dict(input=x), {}
    yield "hardtanh", "bounds", dict(input=x), dict(min_val=-0.5, max_val=2.0)
    yield "leaky_relu", "slope", dict(input=x), dict(negative_slope=0.3)
    yield "elu", "alpha", dict(input=x), dict(alpha=1.7)
    yield "gelu", "tanh", dict(input=x), dict(approximate="tanh")
    yield "softplus", "beta", dict(input=x), dict(beta=2.5)
    yield "softplus", "threshold", dict(input=x), dict(beta=1.5, threshold=1.0)
    x = normal(2, 3, 4)
    for dim in (0, 1, -1):
        for name in ("softmax", "log_softmax", "softmin", "normalize"):
            yield name, f"dim{dim}", dict(input=x), dict(dim=dim)
    yield "normalize", "default", dict(input=x), {}
    for p in (1.0, 3.0, float("inf")):
        yield "normalize", f"p{p}", dict(input=x), dict(p=p, dim=2)
    yield "normalize", "eps", dict(input=x * [[1e-3], [1], [1]]), dict(dim=2, eps=0.1)
    yield "normalize", "zeros", dict(input=x * [[0], [1], [1]]), dict(dim=2)
    yield "glu", "default", dict(input=x), {}
    yield "glu", "first", dict(input=x), dict(dim=0)
    y = normal(2, 3, 4)
    yield "cosine_similarity", "default", dict(x1=x, x2=y), {}
    yield "cosine_similarity", "last", dict(x1=x, x2=y[:, :1]), dict(dim=-1)
    yield "cosine_similarity", "eps", dict(x1=x * 1e-2, x2=y), dict(dim=2, eps=0.5, constant=["x1", "x2"])


def layers():
    x, weight, bias = normal(2, 3, 4), normal(5, 4), normal(5)
    yield "linear", "bias", dict(input=x, weight=weight, bias=bias), dict(constant=[])
    yield "linear", "no_bias", dict(input=x, weight=weight), dict(constant=[])
    yield "linear", "vector", dict(input=x, weight=weight[0]), dict(constant=[])
    x = normal(2, 3, 4) + 5
    for shape in ((4,), (3, 4)):
        scale, shift, said = normal(*shape), normal(*shape), dict(normalized_shape=list(shape))
        end = f"{len(shape)}"
        yield "layer_norm", f"affine{end}", dict(input=x, weight=scale, bias=shift), said | dict(constant=[])
        yield "layer_norm", f"weight{end}", dict(input=x, weight=scale), said | dict(eps=0.3, constant=[])
        yield "layer_norm", f"plain{end}", dict(input=x), said
        yield "rms_norm", f"weight{end}", dict(input=x, weight=scale), said | dict(eps=0.3, constant=[])
        yield "rms_norm", f"plain{end}", dict(input=x * 1e-8), said
    ids = np.array([[1, 5, 1, 0], [6, 1, 2, 5]])
    table = normal(7, 3)
    yield "embedding", "plain", dict(input=ids, weight=table), dict(constant=[])
    yield "embedding", "padding", dict(input=ids, weight=table), dict(constant=[], padding_idx=1)
    yield "embedding", "padding_from_the_end", dict(input=ids, weight=table), dict(constant=[], padding_idx=-2)
    yield "one_hot", "counted", dict(input=ids), {}
    yield "one_hot", "more", dict(input=ids[0]), dict(num_classes=8)
    x = normal(2, 3, 4)
    for mode in ("constant", "reflect", "replicate", "circular"):
        yield "pad", mode, dict(input=x), dict(pad=[2, 1], mode=mode)
        yield "pad", f"{mode}_less", dict(input=x), dict(pad=[-1, 2], mode=mode)
        yield "pad", f"{mode}_two_axes", dict(input=normal(2, 2, 3, 4)), dict(pad=[1, 2, 0, 2], mode=mode)
    yield "pad", "value", dict(input=x), dict(pad=[0, 1, 2, 0, 1, 1], value=2.5)
    yield "pad", "integers", dict(input=ids), dict(pad=[1, 0, -1, 1], value=9)


def attention():
    name = "scaled_dot_product_attention"
    q, k, v = normal(2, 3, 4, 5), normal(2, 3, 6, 5), normal(2, 3, 6, 7)
    inputs = dict(query=q, key=k, value=v)
    yield name, "plain", inputs, {}
    yield name, "scale", inputs, dict(scale=0.3)
    yield name, "causal", inputs, dict(is_causal=True)
    yield name, "causal_more_queries", dict(query=k, key=q, value=v[:, :, :4]), dict(is_causal=True)
    yield name, "float_mask", inputs | dict(attn_mask=normal(4, 6)), {}
    allowed = RNG.random((2, 1, 4, 6)) > 0.4
    allowed[..., 1, :] = False
    yield name, "bool_mask_with_a_query_that_sees_nothing", inputs | dict(attn_mask=allowed), {}
    yield name, "matrices", dict(query=q[0, 0], key=k[0, 0], value=v[0, 0]), {}


def compute(name, inputs, said):
    constant = set(said.get("constant", CONSTANT))
    said = {key: value for key, value in said.items() if key != "constant"}
    tensors = {key: torch.tensor(value) for key, value in inputs.items()}
    grads = [key for key, t in tensors.items() if t.is_floating_point() and key not in constant]
    for key in grads:
        tensors[key].requires_grad_()
    y = getattr(F, name)(**tensors, **said)
    stored = {f"in|{key}": value for key, value in inputs.items()} | {"out": y.detach().numpy()}
    if grads:
        stored["cotangent"] = dy = RNG.standard_normal(tuple(y.shape))
        found = torch.autograd.grad(y, [tensors[key] for key in grads], torch.tensor(dy))
        stored |= {f"grad|{key}": g.numpy() for key, g in zip(grads, found, strict=True)}
    return stored | {"said": np.array(json.dumps(said))}


def files():
    found = {}
    for part in (classification, binary, regression, ctc, activations, layers, attention):
        for name, case, inputs, said in part():
            arrays = found.setdefault(name, {})
            assert f"{case}|out" not in arrays, f"{name}: two cases {case}"
            arrays |= {f"{case}|{key}": value for key, value in compute(name, inputs, said).items()}
    return found


if __name__ == "__main__":
    sys.exit(write_or_check("losses", files(), rtol=1e-10, atol=1e-12))
