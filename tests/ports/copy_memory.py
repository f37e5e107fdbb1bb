"""The copying task with an orthogonal RNN written as a scan, masks of the loss, and NAdam with a chained schedule."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class OrthoRNN(nn.Module):
    def __init__(self, n_in, n_hid, n_out):
        super().__init__()
        self.emb = nn.Embedding(n_in, n_hid)
        self.rec = nn.Linear(n_hid, n_hid, bias=False)
        nn.init.orthogonal_(self.rec.weight)
        self.bias = nn.Parameter(torch.zeros(n_hid))
        self.out = nn.Linear(n_hid, n_out)
        nn.init.constant_(self.out.bias, 0.0)
        self.h0 = nn.Parameter(torch.zeros(1, n_hid), requires_grad=True)

    def modrelu(self, z):
        return torch.sign(z) * F.relu(torch.abs(z) + self.bias)

    def forward(self, ids):
        h = self.h0.expand(ids.size(1), -1)
        states = []
        for x in self.emb(ids).unbind(0):
            h = self.modrelu(self.rec(h) + x)
            states.append(h)
        return self.out(torch.stack(states, dim=0))


def batch(rng, B=5, K=3, T=6):
    symbols = rng.randint(1, 6, (K, B))
    x = np.zeros((T + 2 * K, B), dtype=np.int64)
    x[:K] = symbols
    x[T + K - 1] = 6
    y = np.zeros_like(x)
    y[-K:] = symbols
    return torch.as_tensor(x), torch.as_tensor(y)


def build():
    return OrthoRNN(7, 15, 6)


def train(net):
    rng = np.random.RandomState(3)
    opt = torch.optim.NAdam(net.parameters(), lr=2e-3)
    warm = torch.optim.lr_scheduler.LinearLR(opt, start_factor=0.1, total_iters=3)
    decay = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.8)
    sched = torch.optim.lr_scheduler.SequentialLR(opt, [warm, decay], milestones=[3])
    results = []
    for i in range(10):
        x, y = batch(rng)
        logits = net(x)
        per_token = F.cross_entropy(logits.permute(1, 2, 0), y.t(), reduction="none")
        weight = torch.where(y.t() > 0, torch.tensor(3.0), torch.tensor(1.0))
        loss = (per_token * weight).sum() / weight.sum()
        opt.zero_grad()
        loss.backward()
        total = 0.0
        for p in filter(lambda p: p.grad is not None, net.parameters()):
            total += p.grad.data.norm(2).item() ** 2
        opt.step()
        sched.step()
        accuracy = logits[-3:].argmax(dim=2).eq(y[-3:]).sum().item() / y[-3:].numel()
        results += [loss.item(), total**0.5, accuracy, opt.param_groups[0]["lr"]]
    return results
