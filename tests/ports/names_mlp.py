"""Make more names: bigrams by counting, an MLP over three characters, then a stepwise RNN, with raw Tensors."""

import numpy as np
import torch
import torch.nn.functional as F

words = ["emma", "olivia", "ava", "isabella", "sophia", "mia", "noah", "liam", "anna", "otto", "ida", "bela"]
chars = sorted(set("".join(words)))
stoi = {s: i + 1 for i, s in enumerate(chars)}
stoi["."] = 0
itos = {i: s for s, i in stoi.items()}
V = len(stoi)
g = torch.Generator().manual_seed(2147483647)
rng = np.random.RandomState(42)


def build_dataset(words, block_size=3):
    X, Y = [], []
    for w in words:
        context = [0] * block_size
        for ch in w + ".":
            ix = stoi[ch]
            X.append(context)
            Y.append(ix)
            context = context[1:] + [ix]
    return torch.tensor(X), torch.tensor(Y)


def counts():
    N = torch.zeros((V, V), dtype=torch.int32)
    for w in words:
        chs = ["."] + list(w) + ["."]
        for ch1, ch2 in zip(chs, chs[1:]):
            N[stoi[ch1], stoi[ch2]] += 1
    P = (N + 1).float()
    P /= P.sum(1, keepdim=True)
    log_likelihood, n = 0.0, 0
    for w in words:
        chs = ["."] + list(w) + ["."]
        for ch1, ch2 in zip(chs, chs[1:]):
            log_likelihood += torch.log(P[stoi[ch1], stoi[ch2]])
            n += 1
    ix = 0
    while True:
        ix = torch.multinomial(P[ix], num_samples=1, replacement=True, generator=g).item()
        if ix == 0:
            break
    return (-log_likelihood / n).item()


def one_hot_bigrams():
    xs = [stoi[a] for w in words for a in "." + w]
    ys = [stoi[b] for w in words for b in w + "."]
    xs, ys = torch.tensor(xs), torch.tensor(ys)
    W = torch.tensor(rng.randn(V, V), dtype=torch.float32, requires_grad=True)
    losses = []
    for k in range(4):
        xenc = F.one_hot(xs, num_classes=V).float()
        logits = xenc @ W
        count = logits.exp()
        probs = count / count.sum(1, keepdims=True)
        loss = -probs[torch.arange(xs.nelement()), ys].log().mean() + 0.01 * (W**2).mean()
        W.grad = None
        loss.backward()
        W.data += -20 * W.grad
        losses.append(loss.item())
    return losses


def mlp():
    X, Y = build_dataset(words)
    C = torch.from_numpy(rng.randn(V, 4)).float()
    W1 = torch.from_numpy(rng.randn(12, 20)).float() * (5 / 3) / 12**0.5
    W2 = torch.from_numpy(rng.randn(20, V)).float() * 0.01
    b2 = torch.zeros(V)
    bngain, bnbias = torch.ones((1, 20)), torch.zeros((1, 20))
    bnmean_running, bnstd_running = torch.zeros((1, 20)), torch.ones((1, 20))
    parameters = [C, W1, W2, b2, bngain, bnbias]
    for p in parameters:
        p.requires_grad = True
    losses = []
    for i in range(8):
        ix = torch.from_numpy(rng.randint(0, X.shape[0], (16,)))
        emb = C[X[ix]]
        hpreact = emb.view(emb.shape[0], -1) @ W1
        bnmeani = hpreact.mean(0, keepdim=True)
        bnstdi = hpreact.std(0, keepdim=True)
        hpreact = bngain * (hpreact - bnmeani) / bnstdi + bnbias
        with torch.no_grad():
            bnmean_running = 0.9 * bnmean_running + 0.1 * bnmeani
            bnstd_running = 0.9 * bnstd_running + 0.1 * bnstdi
        h = torch.tanh(hpreact)
        logits = h @ W2 + b2
        loss = F.cross_entropy(logits, Y[ix])
        for p in parameters:
            p.grad = None
        h.retain_grad()
        loss.backward()
        lr = 0.1 if i < 6 else 0.01
        for p in parameters:
            p.data += -lr * p.grad
        losses += [loss.item(), h.grad.abs().max().item(), (h.abs() > 0.99).float().mean().item()]
    return losses + bnmean_running.view(-1).tolist() + bnstd_running[0, :3].tolist()


def train(_):
    return [counts()] + one_hot_bigrams() + mlp()
