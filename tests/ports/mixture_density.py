"""Handwriting without hands: an LSTM with a mixture density output on synthetic strokes."""

import math

import numpy as np
import torch
import torch.nn as nn

K = 3


class MDN(nn.Module):
    def __init__(self, hidden=13):
        super().__init__()
        self.lstm = nn.LSTM(3, hidden, 2, batch_first=True)
        self.head = nn.Linear(hidden, 6 * K + 1)

    def forward(self, x, state=None):
        out, state = self.lstm(x, state)
        y = self.head(out)
        e, pi, mu, log_sigma, rho = torch.split(y, [1, K, 2 * K, 2 * K, K], dim=-1)
        return (e, torch.log_softmax(pi, -1), mu, log_sigma.clamp(-4, 4), 0.95 * torch.tanh(rho)), state


def nll(params, target):
    e, log_pi, mu, log_sigma, rho = params
    mu1, mu2 = mu.chunk(2, -1)
    ls1, ls2 = log_sigma.chunk(2, -1)
    x1, x2, pen = target[..., 0:1], target[..., 1:2], target[..., 2:]
    z1 = (x1 - mu1) / ls1.exp()
    z2 = (x2 - mu2) / ls2.exp()
    one_rho2 = 1 - rho**2
    z = z1.square() + z2.square() - 2 * rho * z1 * z2
    log_n = -z / (2 * one_rho2) - math.log(2 * math.pi) - ls1 - ls2 - 0.5 * torch.log(one_rho2)
    stroke = -torch.logsumexp(log_pi + log_n, dim=-1)
    end = nn.functional.binary_cross_entropy_with_logits(e, pen, reduction="none").squeeze(-1)
    return (stroke + end).mean()


def build():
    return MDN()


def train(model):
    rng = np.random.RandomState(0)
    t = np.linspace(0, 6, 25)[None] + rng.rand(8, 1) * 6
    xy = np.stack([np.cos(t), np.sin(2 * t)], -1)
    pen = (np.arange(25)[None, :, None] % 8 == 7).repeat(8, 0)
    strokes = torch.tensor(np.concatenate([np.diff(xy, axis=1), pen[:, 1:]], -1)).float()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2, amsgrad=True)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=10, eta_min=1e-4)
    losses = []
    for step in range(10):
        opt.zero_grad()
        params, _ = model(strokes[:, :-1])
        loss = nll(params, strokes[:, 1:])
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        sched.step()
        losses += [loss.item(), norm.item()]
    x, state = torch.zeros(1, 1, 3), None
    with torch.no_grad():
        for _ in range(5):
            (e, log_pi, mu, ls, rho), state = model(x, state)
            k = log_pi[0, -1].argmax().item()
            x = torch.stack([mu[0, 0, k], mu[0, 0, K + k], (e[0, 0, 0] > 0).float()]).view(1, 1, 3)
            losses += x.flatten().tolist()
    return losses
