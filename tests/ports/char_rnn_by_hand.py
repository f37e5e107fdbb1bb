"""A vanilla RNN over characters: weights are plain Tensors, the loop and the steps of Adagrad are written out."""

import numpy as np
import torch

text = "the quick brown fox jumps over the lazy dog. a lazy fox is no fox at all. "
chars = sorted(set(text))
vocab_size, hidden_size, seq_length, learning_rate = len(chars), 20, 12, 1e-1
stoi = {ch: i for i, ch in enumerate(chars)}
itos = {i: ch for ch, i in stoi.items()}
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
rng = np.random.RandomState(0)

Wxh = torch.tensor(rng.randn(hidden_size, vocab_size) * 0.01, dtype=torch.float64, requires_grad=True)
Whh = torch.tensor(rng.randn(hidden_size, hidden_size) * 0.01, dtype=torch.float64, requires_grad=True)
Why = torch.tensor(rng.randn(vocab_size, hidden_size) * 0.01, dtype=torch.float64, requires_grad=True)
bh = torch.zeros(hidden_size, 1, dtype=torch.float64, requires_grad=True)
by = torch.zeros((vocab_size, 1), dtype=torch.float64, requires_grad=True)
params = [Wxh, Whh, Why, bh, by]


def loss_fun(inputs, targets, h):
    loss = 0
    for i, t in zip(inputs, targets):
        x = torch.zeros(vocab_size, 1, dtype=torch.float64)
        x[i] = 1
        h = torch.tanh(torch.mm(Wxh, x) + torch.mm(Whh, h) + bh)
        y = Why @ h + by
        p = torch.exp(y) / torch.sum(torch.exp(y))
        loss += -torch.log(p[t, 0])
    return loss, h


@torch.no_grad()
def sample(h, seed_ix, n):
    x = torch.zeros(vocab_size, 1, dtype=torch.double)
    x[seed_ix] = 1
    ixes = []
    for _ in range(n):
        h = torch.tanh(Wxh @ x + Whh @ h + bh)
        p = torch.softmax(torch.matmul(Why, h) + by, dim=0)
        ix = torch.multinomial(p.view(-1), 1).item()
        x.zero_()
        x[ix] = 1
        ixes.append(ix)
    return "".join(itos[ix] for ix in ixes)


def train(_):
    mem = [torch.zeros_like(p) for p in params]
    losses = []
    p, hprev = 0, torch.zeros(hidden_size, 1, dtype=torch.float64)
    for n in range(25):
        if p + seq_length + 1 >= len(text):
            hprev = torch.zeros(hidden_size, 1, dtype=torch.float64)
            p = 0
        inputs = [stoi[ch] for ch in text[p : p + seq_length]]
        targets = [stoi[ch] for ch in text[p + 1 : p + seq_length + 1]]
        if n % 10 == 0:
            assert len(sample(hprev, inputs[0], 30)) == 30
        loss, hprev = loss_fun(inputs, targets, hprev.detach())
        loss.backward()
        for param in params:
            param.grad.data.clamp_(-5, 5)
        with torch.no_grad():
            for param, m in zip(params, mem):
                m += param.grad * param.grad
                param += -learning_rate * param.grad / torch.sqrt(m + 1e-8)
                param.grad.zero_()
        losses.append(loss.item())
        p += seq_length
    return losses
