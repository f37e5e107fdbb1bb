"""The values that the playground shows, computed by minirnn's own cells and tape."""

from typing import Any

import numpy as np

import minirnn as mr

GATES = {"rnn": 1, "gru": 3, "lstm": 4}


def numbers(settings: dict[str, Any], draw: dict[str, Any], offsets: list[float]) -> dict[str, Any]:
    """Loss, the norms of the gradients of h and c at each step, the selected weight, its gradient, its landscape."""
    gates, k = GATES[settings["cell"]], settings["weight"]
    R, W, x, y = (np.array(draw[name]) for name in "RWxy")
    R, W, x = settings["radius"] * R[:gates], W[:gates], x[: settings["T"]]
    H = len(y)
    row, column = min(gates - 1, 2) * H + k, (k + 1) % H
    R = R.reshape(-1, H)
    bias = np.zeros((gates, H))
    if gates > 1:
        bias[1] = settings["forget"]

    def states(matrix: mr.Tensor) -> tuple[list[mr.Tensor], list[mr.Tensor]]:
        inputs = mr.tensor(x @ W.reshape(-1, x.shape[1]).T + bias.ravel())
        h, c = mr.tensor(np.zeros((1, H))), mr.tensor(np.zeros((1, H)))
        hs, cs = [], []
        for t in range(settings["T"]):
            h, c = step(settings, inputs[t : t + 1], h, c, matrix)
            hs.append(h)
            cs.append(c)
        return hs, cs

    def loss_of(h: mr.Tensor) -> mr.Tensor:
        return 0.5 * ((h - y) ** 2).sum()

    matrix = mr.tensor(R, requires_grad=True)
    hs, cs = states(matrix)
    loss = loss_of(hs[-1])
    lstm = settings["cell"] == "lstm"
    dR, *found = mr.grad(loss, [matrix, *hs, *(cs if lstm else [])])
    norms = [float(np.linalg.norm(g.numpy())) for g in found]
    losses = []
    for offset in offsets:
        changed = R.copy()
        changed[row, column] += offset
        losses.append(float(loss_of(states(mr.tensor(changed))[0][-1]).numpy()))
    return {
        "loss": float(loss.numpy()),
        "dh": norms[: len(hs)],
        "dc": norms[len(hs) :],
        "w": float(R[row, column]),
        "dw": float(dR.numpy()[row, column]),
        "losses": losses,
    }


def step(
    settings: dict[str, Any], a: mr.Tensor, h: mr.Tensor, c: mr.Tensor, R: mr.Tensor
) -> tuple[mr.Tensor, mr.Tensor]:
    """h and c after one step, from the input part of the pre-activations."""
    a2, H = h @ R.T, h.shape[1]
    if settings["cell"] == "rnn":
        functions = {"tanh": mr.ops.tanh, "relu": mr.ops.relu, "identity": lambda z: z}
        return functions[settings["nonlinearity"]](a + a2), c
    if settings["cell"] == "lstm":
        i, f, n, o = ((a + a2)[:, k * H : (k + 1) * H] for k in range(4))
        c = mr.ops.sigmoid(f) * c + mr.ops.sigmoid(i) * mr.ops.tanh(n)
        return mr.ops.sigmoid(o) * mr.ops.tanh(c), c
    r, z = (mr.ops.sigmoid((a + a2)[:, k * H : (k + 1) * H]) for k in range(2))
    n = mr.ops.tanh(a[:, 2 * H :] + r * a2[:, 2 * H :])
    return (1 - z) * n + z * h, c
