"""A forecast that is interrupted: a checkpoint in an open file, best weights, a slow copy, masks of integers."""

import io
import math

import numpy as np
import torch
import torch.backends.cudnn as cudnn
from torch import nn, optim
from torch.optim.lr_scheduler import _LRScheduler
from torch.utils.data import DataLoader, Dataset

cudnn.benchmark = False


class Waves(Dataset):
    def __init__(self, n, window):
        self.series = torch.from_numpy(np.sin(0.4 * np.arange(n)) + 0.2 * np.cos(1.3 * np.arange(n))).float()
        self.window = window

    def __len__(self):
        return len(self.series) - self.window

    def __getitem__(self, k):
        length = 3 + k % (self.window - 2)
        part = self.series[k : k + self.window].clone()
        part[length:] = 0
        return part.unsqueeze(-1), torch.tensor(length), self.series[k + self.window]


class Forecast(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.rnn = nn.LSTM(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden + 1, 1)

    def forward(self, x, lengths):
        states, _ = self.rnn(x)
        mask = (torch.arange(x.size(1)) < lengths.unsqueeze(1)).long().unsqueeze_(-1)
        mean = (states * mask).sum(1) / lengths.unsqueeze(-1)
        return self.out(torch.cat([mean, torch.log(lengths / x.size(1)).unsqueeze(1)], 1)).squeeze(1)


class Halving(_LRScheduler):
    def get_lr(self):
        return [lr / 2 ** (self.last_epoch // 2) for lr in self.base_lrs]


def build():
    return Forecast(6)


def forget_gates_open(model):
    for names in model.rnn._all_weights:
        for name in filter(lambda n: "bias" in n, names):
            bias = getattr(model.rnn, name)
            n = bias.size(0)
            bias.data[n // 4 : n // 2].fill_(0.5)


def epoch(model, slow, optimizer, loader):
    losses = []
    for x, lengths, y in loader:
        loss = nn.functional.mse_loss(model(x, lengths), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        new, old = model.state_dict(), slow.state_dict()
        slow.load_state_dict({k: 0.8 * old[k] + 0.2 * new[k].detach() for k in new})
    return float(np.sqrt(np.mean(losses)))


def train(model):
    forget_gates_open(model)
    slow = Forecast(6)
    slow.load_state_dict(model.state_dict())
    loader = DataLoader(Waves(40, 8), batch_size=8)
    optimizer = optim.Adam(model.parameters(), lr=0.02)
    schedule = Halving(optimizer)
    best, found, file = math.inf, [], io.BytesIO()
    for k in range(4):
        found.append(epoch(model, slow, optimizer, loader))
        schedule.step()
        if found[-1] < best:
            best = found[-1]
            weights = {name: w.cpu().clone() for name, w in model.state_dict().items()}
        if k == 1:
            state = {"epoch": k, "model": model.state_dict(), "optimizer": optimizer.state_dict(), "best": best}
            torch.save({**state, "schedule": schedule.state_dict(), "sizes": (6, [8, 40])}, file)
    file.seek(0)
    state = torch.load(file, map_location="cpu")
    other = Forecast(6)
    other.load_state_dict(state["model"])
    optimizer = optim.Adam(other.parameters(), lr=1.0)
    optimizer.load_state_dict(state["optimizer"])
    schedule = Halving(optimizer)
    schedule.load_state_dict(state["schedule"])
    for _ in range(state["epoch"] + 1, 4):
        found.append(epoch(other, slow, optimizer, loader))
        schedule.step()
    other.load_state_dict(weights)
    for name, module in other._modules.items():
        found += [sum(p.norm().item() for p in module._parameters.values()), float(len(name))]
    x, lengths, _ = next(iter(loader))
    with torch.no_grad():
        found += [other(x, lengths).sum().item(), math.exp(-slow(x, lengths).mean()), state["sizes"][1][1]]
    return found
