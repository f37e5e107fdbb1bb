"""Store the results of torch.nn's modules, torch.nn.init and torch.nn.utils, in float64.

Needs torch (CPU is enough); `files.py` says how it is run. The files are described in modules/README.md. The programs
that both libraries run are tests/nn/twin_programs.py.
"""

import sys
import warnings

import numpy as np
import torch

from tests.golden.files import write_or_check
from tests.nn.twin_programs import Library, hooks, names, rough, wave

TORCH = Library(
    torch.nn,
    lambda a, requires_grad=False: torch.tensor(a, requires_grad=requires_grad),
    lambda t: t.detach().numpy().copy(),
)
SHAPES = ((3, 5), (4, 6, 2), (7, 2, 3, 2))
GAINS = (
    *(("linear", None), ("conv2d", None), ("sigmoid", None), ("tanh", None), ("relu", None), ("selu", None)),
    *(("leaky_relu", None), ("leaky_relu", 0.2), ("leaky_relu", 2)),
)


class Probe(torch.Tensor):
    """Records the arguments of calls that fill it."""

    def uniform_(self, a, b, generator=None):
        Probe.found = (a, b)
        return self

    def normal_(self, mean, std, generator=None):
        Probe.found = (mean, std)
        return self


def drawn(function, shape, **kwargs):
    function(torch.empty(*shape, dtype=torch.float64).as_subclass(Probe), **kwargs)
    return Probe.found


class Given(torch.Tensor):
    """Is filled with known numbers instead of random ones."""

    def new_empty(self, size):
        return torch.empty(size, dtype=torch.float64).as_subclass(Given)

    def normal_(self, mean, std, generator=None):
        return self.copy_(torch.tensor(rough(*self.shape)) * std + mean)


def initial_values():
    init = torch.nn.init
    found = {"gains": np.array([init.calculate_gain(name, param) for name, param in GAINS])}
    for k, shape in enumerate(SHAPES):
        found[f"fans_{k}"] = np.array(init._calculate_fan_in_and_fan_out(torch.empty(shape)))
        found[f"xavier_uniform_{k}"] = np.array(drawn(init.xavier_uniform_, shape, gain=1.5))
        found[f"xavier_normal_{k}"] = np.array(drawn(init.xavier_normal_, shape, gain=1.5))
        for mode in ("fan_in", "fan_out"):
            more = dict(a=0.3, mode=mode)
            found[f"kaiming_uniform_{mode}_{k}"] = np.array(drawn(init.kaiming_uniform_, shape, **more))
            found[f"kaiming_normal_{mode}_{k}"] = np.array(
                drawn(init.kaiming_normal_, shape, mode=mode, nonlinearity="relu")
            )
    found["linear"] = np.array(drawn(init.kaiming_uniform_, (4, 7), a=5**0.5))
    for rows, columns in ((5, 3), (3, 5), (4, 4)):
        matrix = torch.empty(rows, columns, dtype=torch.float64).as_subclass(Given)
        found[f"orthogonal_{rows}_{columns}"] = init.orthogonal_(matrix, gain=1.5).numpy().copy()
    found["eye"] = init.eye_(torch.empty(3, 5, dtype=torch.float64)).numpy()
    return found


def clipped():
    found = {}
    for norm_type in (2.0, 1.0, 3.0, float("inf"), 0.5):
        for max_norm in (0.7, 1000.0):
            ps = [torch.zeros(3, 2, requires_grad=True, dtype=torch.float64), torch.zeros(4, requires_grad=True)]
            for p in ps:
                p.grad = torch.tensor(wave(*p.shape)).to(p.dtype) * 3
            norm = torch.nn.utils.clip_grad_norm_(ps, max_norm, norm_type)
            found[f"norm_{norm_type}_{max_norm}"] = norm.numpy()
            found[f"gradient_{norm_type}_{max_norm}"] = ps[0].grad.numpy()
    p = torch.zeros(3, 2, requires_grad=True, dtype=torch.float64)
    p.grad = torch.tensor(wave(3, 2))
    torch.nn.utils.clip_grad_value_(p, 0.4)
    found["value"] = p.grad.numpy()
    found["vector"] = torch.nn.utils.parameters_to_vector([torch.tensor(wave(2, 3)), torch.tensor(wave(4))]).numpy()
    return found


def files():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns where no input of a module requires gradients
        lines, arrays = hooks(TORCH)
    return {
        "names": {key: np.array(value) for key, value in names(TORCH).items()},
        "hooks": {"lines": np.array(lines), **arrays},
        "init": initial_values(),
        "clip": clipped(),
    }


if __name__ == "__main__":
    sys.exit(write_or_check("modules", files(), rtol=1e-6, atol=1e-12))
