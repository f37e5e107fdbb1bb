"""Toy speech: frames of tones to letters, CTC with a bidirectional GRU, and a greedy decoder."""

from itertools import groupby

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

BLANK, N_CLASSES, N_MEL = 0, 6, 8


class SpeechModel(nn.Module):
    def __init__(self, n_feats, hidden, n_class):
        super().__init__()
        self.layer_norm = nn.LayerNorm(n_feats)
        self.proj = nn.Sequential(nn.Linear(n_feats, hidden), nn.GELU(), nn.Dropout(p=0.0))
        self.rnns = nn.ModuleList(
            [nn.GRU(hidden if i == 0 else 2 * hidden, hidden, batch_first=True, bidirectional=True) for i in range(2)]
        )
        self.classifier = nn.Linear(2 * hidden, n_class)
        self.register_buffer("mean", torch.zeros(n_feats))
        self.register_buffer("std", torch.ones(n_feats))

    def forward(self, x):
        x = (x - self.mean) / self.std
        x = self.proj(self.layer_norm(x))
        for i, rnn in enumerate(self.rnns):
            x, _ = rnn(x)
        return self.classifier(x)


def utterance(rng):
    label = rng.randint(1, N_CLASSES, size=rng.randint(2, 5))
    frames = np.concatenate([np.eye(N_MEL)[np.repeat(c, rng.randint(2, 4))] for c in label])
    return torch.tensor(frames + 0.1 * rng.randn(*frames.shape), dtype=torch.float32), torch.tensor(label)


def collate(batch):
    spectrograms = nn.utils.rnn.pad_sequence([x for x, _ in batch], batch_first=True)
    labels = torch.cat([y for _, y in batch])
    return spectrograms, labels, [len(x) for x, _ in batch], [len(y) for _, y in batch]


def greedy_decode(log_probs, lengths):
    best = log_probs.argmax(dim=2).transpose(0, 1)
    return [[k for k, _ in groupby(row[:n].tolist()) if k != BLANK] for row, n in zip(best, lengths)]


def build():
    return SpeechModel(N_MEL, 10, N_CLASSES)


def train(model):
    rng = np.random.RandomState(2)
    data = [utterance(rng) for _ in range(12)]
    everything = torch.cat([x for x, _ in data])
    model.mean.copy_(everything.mean(dim=0))
    model.std.copy_(everything.std(dim=0, unbiased=False))
    optimizer = torch.optim.AdamW(
        [
            {"params": [p for n, p in model.named_parameters() if "bias" not in n]},
            {"params": [p for n, p in model.named_parameters() if "bias" in n], "weight_decay": 0.0},
        ],
        lr=5e-3,
        weight_decay=0.05,
    )
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.02, total_steps=12)
    ctc_loss = nn.CTCLoss(blank=BLANK, zero_infinity=True)
    losses = []
    for epoch in range(3):
        for k in range(0, 12, 3):
            spectrograms, labels, input_lengths, target_lengths = collate(data[k : k + 3])
            optimizer.zero_grad()
            output = model(spectrograms)
            log_probs = F.log_softmax(output, dim=2).transpose(0, 1)
            loss = ctc_loss(log_probs, labels, torch.tensor(input_lengths), torch.tensor(target_lengths))
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
    assert len(greedy_decode(log_probs.detach(), input_lengths)) == 3
    return losses
