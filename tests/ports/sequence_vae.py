"""A variational autoencoder of sequences: GRU encoder, reparametrized code, GRU decoder, annealed KL term."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

noise = np.random.RandomState(4)


class SeqVAE(nn.Module):
    def __init__(self, vocab, emb, hid, latent):
        super().__init__()
        self.embed = nn.Embedding(vocab, emb)
        self.enc = nn.GRU(emb, hid, batch_first=True, bidirectional=True)
        self.mu, self.logvar = nn.Linear(2 * hid, latent), nn.Linear(2 * hid, latent)
        self.latent2hidden = nn.Linear(latent, hid)
        self.dec = nn.GRU(emb, hid, batch_first=True)
        self.out = nn.Linear(hid, vocab)

    def reparameterize(self, mu, logvar):
        if not self.training:
            return mu
        std = torch.exp(0.5 * logvar)
        eps = torch.from_numpy(noise.randn(*std.shape)).to(std.dtype)
        return eps.mul(std).add_(mu)

    def forward(self, x):
        emb = self.embed(x)
        _, h = self.enc(emb)
        h = h.transpose(0, 1).contiguous().view(x.size(0), -1)
        mu, logvar = self.mu(h), self.logvar(h)
        z = self.reparameterize(mu, logvar)
        h0 = torch.tanh(self.latent2hidden(z)).unsqueeze(0)
        shifted = torch.cat([torch.zeros_like(emb[:, :1]), emb[:, :-1]], dim=1)
        out, _ = self.dec(shifted, h0)
        return self.out(out), mu, logvar


def loss_function(logits, x, mu, logvar, beta):
    rec = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), x.reshape(-1), reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return (rec + beta * kld) / x.size(0), kld


def build():
    return SeqVAE(12, 7, 9, 4)


def train(model):
    seqs = np.cumsum(np.random.RandomState(0).randint(1, 3, (15, 8)), axis=1) % 12
    loader = DataLoader(TensorDataset(torch.tensor(seqs)), batch_size=5, drop_last=True, num_workers=0)
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda e: 0.9**e)
    losses = []
    for epoch in range(5):
        model.train()
        train_loss = 0
        for batch_idx, (x,) in enumerate(loader):
            logits, mu, logvar = model(x)
            loss, kld = loss_function(logits, x, mu, logvar, beta=min(1.0, epoch / 3))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            train_loss += loss.item()
            losses += [loss.item(), kld.item()]
        schedule.step()
    model.eval()
    with torch.no_grad():
        logits, mu, logvar = model(x)
        _, pred = logits.max(-1)
        losses.append((pred == x).float().mean().item())
        losses += mu.std(dim=0).tolist()
    return losses
