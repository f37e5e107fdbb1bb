"""The adding problem with a GRU cell written by hand, RMSprop and a plateau schedule; a checkpoint in between."""

import os
import tempfile

import numpy as np
import torch
import torch.nn as nn


class MyGRUCell(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.W = nn.Parameter(torch.empty(3 * hidden_size, input_size))
        self.U = nn.Parameter(torch.empty(3 * hidden_size, hidden_size))
        self.b = nn.Parameter(torch.zeros(3 * hidden_size))
        self.reset_parameters()

    def reset_parameters(self):
        for p in self.parameters():
            if p.data.ndimension() >= 2:
                nn.init.xavier_uniform_(p.data)
            else:
                nn.init.zeros_(p.data)

    def forward(self, x, h):
        gi = x.mm(self.W.t()) + self.b
        gh = h.mm(self.U.t())
        i_r, i_z, i_n = gi.chunk(3, 1)
        h_r, h_z, h_n = gh.chunk(3, dim=1)
        r = (i_r + h_r).sigmoid()
        z = torch.sigmoid(i_z + h_z)
        n = torch.tanh(i_n + r * h_n)
        return (1 - z) * n + z * h


class Adder(nn.Module):
    def __init__(self, hidden=12):
        super().__init__()
        self.cell = MyGRUCell(2, hidden)
        self.head = nn.Sequential(nn.Linear(hidden, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, x):
        h = torch.zeros(x.size(0), self.cell.hidden_size, device=x.device, dtype=x.dtype)
        for t in range(x.size(1)):
            h = self.cell(x[:, t, :], h)
        return self.head(h)


def make_batch(rng, batch, length):
    numbers = rng.uniform(size=(batch, length)).astype(np.float32)
    markers = np.zeros((batch, length), dtype=np.float32)
    for row in markers:
        row[rng.choice(length, 2, replace=False)] = 1.0
    x = np.stack([numbers, markers], axis=-1)
    return torch.from_numpy(x), torch.from_numpy((numbers * markers).sum(1, keepdims=True))


def build():
    return Adder()


def train(model):
    rng = np.random.RandomState(5)
    device = next(model.parameters()).device
    optimizer = torch.optim.RMSprop(model.parameters(), lr=3e-3, alpha=0.9)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="min", factor=0.5, patience=2)
    criterion = nn.MSELoss(reduction="mean")
    losses, n_params = [], sum(p.numel() for p in model.parameters() if p.requires_grad)
    path = os.path.join(tempfile.mkdtemp(), "model.pt")
    for step in range(20):
        x, y = make_batch(rng, 10, 9)
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_value_(model.parameters(), 0.5)
        optimizer.step()
        scheduler.step(loss.item())
        losses.append(loss.item())
        if step == 10:
            torch.save(model.state_dict(), path)
    losses.append(optimizer.param_groups[0]["lr"])
    model.load_state_dict(torch.load(path))
    model.eval()
    with torch.no_grad():
        losses.append(float(criterion(model(x), y)))
    return losses + [n_params]
