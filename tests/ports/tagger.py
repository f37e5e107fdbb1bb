"""An LSTM that tags words of sentences, then one that also reads their characters; batches with a padding index."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.nn.utils.rnn import pad_sequence

training_data = [
    ("the dog ate the apple".split(), ["DET", "NN", "V", "DET", "NN"]),
    ("everybody read that book".split(), ["NN", "V", "DET", "NN"]),
    ("a cat saw".split(), ["DET", "NN", "V"]),
]
word_to_ix, char_to_ix, tag_to_ix = {"<pad>": 0}, {}, {"DET": 0, "NN": 1, "V": 2}
for sent, _tags in training_data:
    for word in sent:
        word_to_ix.setdefault(word, len(word_to_ix))
        for c in word:
            char_to_ix.setdefault(c, len(char_to_ix))


def prepare_sequence(seq, to_ix):
    return torch.tensor([to_ix[w] for w in seq], dtype=torch.long)


class LSTMTagger(nn.Module):
    def __init__(self, embedding_dim, char_dim, hidden_dim, vocab_size, tagset_size):
        super().__init__()
        self.hidden_dim = hidden_dim
        self.word_embeddings = nn.Embedding(vocab_size, embedding_dim, padding_idx=0)
        self.char_embeddings = nn.Embedding(len(char_to_ix), char_dim)
        self.char_lstm = nn.LSTM(char_dim, char_dim)
        self.lstm = nn.LSTM(embedding_dim + char_dim, hidden_dim, bidirectional=True)
        self.hidden2tag = nn.Linear(2 * hidden_dim, tagset_size)

    def forward(self, sentence):
        chars = []
        for word in sentence:
            embeds = self.char_embeddings(prepare_sequence(word, char_to_ix))
            _, (h, _) = self.char_lstm(embeds.view(len(word), 1, -1))
            chars.append(h[-1, 0])
        embeds = self.word_embeddings(prepare_sequence(sentence, word_to_ix))
        embeds = torch.cat([embeds, torch.stack(chars)], dim=-1)
        lstm_out, _ = self.lstm(embeds.view(len(sentence), 1, -1))
        return self.hidden2tag(lstm_out.view(len(sentence), -1))


def build():
    return LSTMTagger(7, 5, 6, len(word_to_ix), len(tag_to_ix))


def train(model):
    loss_function = nn.CrossEntropyLoss(ignore_index=-100, label_smoothing=0.1)
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4, nesterov=True)
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=4, gamma=0.5)
    losses = []
    for epoch in range(10):
        total_loss = 0
        tag_scores, gold = [], []
        for sentence, tags in training_data:
            tag_scores.append(model(sentence))
            gold.append(prepare_sequence(tags, tag_to_ix))
        scores = pad_sequence(tag_scores, batch_first=True)
        targets = pad_sequence(gold, batch_first=True, padding_value=-100)
        model.zero_grad()
        loss = loss_function(scores.transpose(1, 2), targets)
        total_loss += loss.item()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(total_loss)
        mask = targets != -100
        acc = (scores.argmax(-1)[mask] == targets[mask]).float().mean()
        losses.append(acc.item())
    losses.append(scheduler.get_last_lr()[0])
    with torch.no_grad():
        p = F.softmax(model(training_data[0][0]), dim=1)
        values, indices = torch.max(p, 1)
        losses.extend(values.tolist())
    return losses
