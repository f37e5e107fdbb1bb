"""First lessons of autograd: leaves and plain loops, gradients by hand and by torch, parameters updated in place."""

import math

import numpy as np
import torch

dtype = torch.float
device = torch.device("cpu")


class LinearRegression(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(n, 1))
        self.b = torch.nn.Parameter(torch.zeros(1))

    def forward(self, X):
        return torch.matmul(X, self.w) + self.b


def sgd(params, lr, batch_size):
    with torch.no_grad():
        for param in params:
            param -= lr * param.grad / batch_size
            param.grad.zero_()


def squared_loss(y_hat, y):
    return (y_hat - y.reshape(y_hat.shape)) ** 2 / 2


def data_iter(batch_size, features, labels):
    num_examples = len(features)
    indices = list(range(num_examples))
    np.random.RandomState(0).shuffle(indices)
    for i in range(0, num_examples, batch_size):
        batch_indices = torch.tensor(indices[i : min(i + batch_size, num_examples)])
        yield features[batch_indices], labels[batch_indices]


def build():
    return LinearRegression(2)


def train(net):
    losses = []
    x = torch.linspace(-math.pi, math.pi, 50, device=device, dtype=dtype)
    y = torch.sin(x)
    a, b, c = (torch.full((), v, device=device, dtype=dtype, requires_grad=True) for v in (0.1, -0.2, 0.3))
    for t in range(8):
        y_pred = a + b * x + c * x**2
        loss = (y_pred - y).pow(2).sum()
        loss.backward()
        with torch.no_grad():
            a -= 1e-4 * a.grad
            b -= 1e-4 * b.grad
            c -= 1e-4 * c.grad
            a.grad = None
            b.grad = None
            c.grad = None
        losses.append(loss.item())
    X = torch.from_numpy(np.random.RandomState(1).randn(24, 2).astype(np.float32))
    true_w = torch.tensor([2, -3.4])
    labels = torch.mv(X, true_w) + 4.2
    for epoch in range(3):
        for bx, by in data_iter(6, X, labels):
            l = squared_loss(net(bx), by)
            l.sum().backward()
            sgd([net.w, net.b], 0.3, 6)
        with torch.no_grad():
            train_l = squared_loss(net(X), labels)
            losses.append(float(train_l.mean()))
    losses += (true_w - net.w.reshape(true_w.shape)).tolist()
    x = torch.arange(4.0, requires_grad=True)
    y = 2 * torch.dot(x, x)
    y.backward()
    assert (x.grad == 4 * x).all()
    x.grad.zero_()
    u = (x * x).detach()
    (u * x).sum().backward()
    losses += x.grad.tolist()
    d = torch.tensor(0.3, requires_grad=True)
    e = d * 2
    while e.norm() < 100:
        e = e * 2
    (e if e.sum() > 0 else 100 * e).backward()
    losses.append(d.grad.item())
    v = torch.tensor([1.0, 2.0], requires_grad=True)
    (g,) = torch.autograd.grad((v**3).sum(), v, create_graph=True)
    g.sum().backward()
    return losses + v.grad.tolist()
