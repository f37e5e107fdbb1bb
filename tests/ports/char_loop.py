"""The training loop of small language models, around a GRU: get_batch, estimate_loss, cosine warm-up, generate."""

import math

import numpy as np
import torch
import torch.nn as nn
from torch.nn import functional as F

batch_size, block_size, max_iters, eval_interval, n_embd = 6, 10, 12, 5, 14
learning_rate, min_lr, warmup_iters, beta1, beta2, weight_decay, grad_clip = 1e-2, 1e-3, 3, 0.9, 0.95, 1e-1, 1.0
device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(1337)

text = "to be or not to be that is the question whether tis nobler in the mind " * 4
chars = sorted(list(set(text)))
vocab_size = len(chars)
stoi = {ch: i for i, ch in enumerate(chars)}
itos = {i: ch for i, ch in enumerate(chars)}
encode = lambda s: [stoi[c] for c in s]
decode = lambda l: "".join([itos[i] for i in l])
data = torch.tensor(encode(text), dtype=torch.long)
n = int(0.9 * len(data))
train_data, val_data = data[:n], data[n:]
starts = np.random.RandomState(0)


def get_batch(split):
    data = train_data if split == "train" else val_data
    ix = torch.from_numpy(starts.randint(len(data) - block_size, size=(batch_size,)))
    x = torch.stack([data[i : i + block_size] for i in ix])
    y = torch.stack([data[i + 1 : i + block_size + 1] for i in ix])
    x, y = x.to(device), y.to(device)
    return x, y


class Block(nn.Module):
    def __init__(self, n_embd):
        super().__init__()
        self.ln1 = nn.LayerNorm(n_embd)
        self.rnn = nn.GRU(n_embd, n_embd, batch_first=True)
        self.ln2 = nn.LayerNorm(n_embd)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 2 * n_embd), nn.SiLU(), nn.Linear(2 * n_embd, n_embd))

    def forward(self, x):
        x = x + self.rnn(self.ln1(x))[0]
        return x + self.mlp(self.ln2(x))


class CharModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, n_embd)
        self.blocks = nn.Sequential(*[Block(n_embd) for _ in range(2)])
        self.ln_f = nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
        self.apply(self._init_weights)

    def _init_weights(self, module):
        if isinstance(module, nn.Linear):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)
            if module.bias is not None:
                torch.nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)

    def forward(self, idx, targets=None):
        B, T = idx.shape
        logits = self.lm_head(self.ln_f(self.blocks(self.wte(idx))))
        if targets is None:
            return logits, None
        B, T, C = logits.shape
        return logits, F.cross_entropy(logits.view(B * T, C), targets.view(B * T), ignore_index=-1)

    @torch.no_grad()
    def generate(self, idx, max_new_tokens, temperature=1.0, top_k=None):
        for _ in range(max_new_tokens):
            idx_cond = idx if idx.size(1) <= block_size else idx[:, -block_size:]
            logits, _ = self(idx_cond)
            logits = logits[:, -1, :] / temperature
            if top_k is not None:
                v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
                logits[logits < v[:, [-1]]] = -float("Inf")
            probs = F.softmax(logits, dim=-1)
            idx_next = torch.multinomial(probs, num_samples=1)
            idx = torch.cat((idx, idx_next), dim=1)
        return idx


@torch.no_grad()
def estimate_loss(model):
    out = {}
    model.eval()
    for split in ["train", "val"]:
        losses = torch.zeros(2)
        for k in range(2):
            X, Y = get_batch(split)
            logits, loss = model(X, Y)
            losses[k] = loss.item()
        out[split] = losses.mean()
    model.train()
    return out


def get_lr(it):
    if it < warmup_iters:
        return learning_rate * (it + 1) / (warmup_iters + 1)
    ratio = (it - warmup_iters) / (max_iters - warmup_iters)
    return min_lr + 0.5 * (1.0 + math.cos(math.pi * ratio)) * (learning_rate - min_lr)


def build():
    return CharModel()


def train(model):
    m = model.to(device)
    param_dict = {pn: p for pn, p in m.named_parameters() if p.requires_grad}
    decay = [p for p in param_dict.values() if p.dim() >= 2]
    nodecay = [p for p in param_dict.values() if p.dim() < 2]
    groups = [{"params": decay, "weight_decay": weight_decay}, {"params": nodecay, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=learning_rate, betas=(beta1, beta2))
    losses = []
    for it in range(max_iters):
        for param_group in optimizer.param_groups:
            param_group["lr"] = get_lr(it)
        if it % eval_interval == 0:
            found = estimate_loss(m)
            losses += [found["train"].item(), float(found["val"])]
        for micro_step in range(2):
            X, Y = get_batch("train")
            logits, loss = m(X, Y)
            loss = loss / 2
            loss.backward()
        torch.nn.utils.clip_grad_norm_(m.parameters(), grad_clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(2 * loss.item())
    context = torch.zeros((1, 1), dtype=torch.long, device=device)
    assert len(decode(m.generate(context, max_new_tokens=14, top_k=5)[0].tolist())) == 15
    return losses
