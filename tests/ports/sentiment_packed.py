"""Sentiment of reviews of different lengths: packed sequences in a bidirectional LSTM, with a collate function."""

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
np.random.seed(0)
torch.backends.cudnn.deterministic = True
PAD = 0


class Reviews(Dataset):
    def __init__(self, n):
        rng = np.random.RandomState(1)
        self.items = []
        for i in range(n):
            words = rng.randint(1, 30, size=rng.randint(3, 10))
            self.items.append((words, int((words > 15).sum() * 2 > len(words))))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, idx):
        words, label = self.items[idx]
        return torch.tensor(words), label


def collate_batch(batch):
    batch.sort(key=lambda x: len(x[0]), reverse=True)
    texts = [x[0] for x in batch]
    lengths = torch.tensor([len(t) for t in texts])
    labels = torch.tensor([x[1] for x in batch], dtype=torch.float)
    return pad_sequence(texts, batch_first=True, padding_value=PAD), lengths, labels


class Sentiment(nn.Module):
    def __init__(self, vocab_size, embed_dim, hidden_dim):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim, padding_idx=PAD)
        self.lstm = nn.LSTM(embed_dim, hidden_dim, num_layers=2, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(4 * hidden_dim, 1)

    def forward(self, text, lengths):
        embedded = self.embedding(text)
        packed = pack_padded_sequence(embedded, lengths.cpu(), batch_first=True)
        packed_output, (hidden, cell) = self.lstm(packed)
        output, output_lengths = pad_packed_sequence(packed_output, batch_first=True)
        assert output_lengths.tolist() == lengths.tolist()
        mask = (torch.arange(output.size(1))[None, :] < lengths[:, None]).unsqueeze(-1)
        pooled = output.masked_fill(~mask, -1e9).max(dim=1)[0]
        last = torch.cat((hidden[-2, :, :], hidden[-1, :, :]), dim=1)
        return self.fc(torch.cat([last, pooled], dim=1)).squeeze(1)


def binary_accuracy(preds, y):
    rounded_preds = torch.round(torch.sigmoid(preds))
    correct = (rounded_preds == y).float()
    return correct.sum() / len(correct)


def build():
    return Sentiment(30, 9, 8)


def train(model):
    loader = DataLoader(Reviews(24), batch_size=8, shuffle=False, collate_fn=collate_batch)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, betas=(0.9, 0.99))
    criterion = nn.BCEWithLogitsLoss()
    losses = []
    for epoch in range(4):
        model.train()
        for text, lengths, labels in loader:
            optimizer.zero_grad(set_to_none=True)
            predictions = model(text, lengths)
            loss = criterion(predictions, labels)
            acc = binary_accuracy(predictions.detach(), labels)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
            optimizer.step()
            losses += [loss.item(), acc.item()]
    return losses
