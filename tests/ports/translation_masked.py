"""Seq2seq with packed sources, Luong attention under a mask, random teacher forcing and bucketed batches."""

import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

PAD, SOS, EOS, VOCAB, HID = 0, 1, 2, 11, 8


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, HID)
        self.gru = nn.GRU(HID, HID, 2, dropout=0.0, bidirectional=True)

    def forward(self, input_seq, input_lengths, hidden=None):
        embedded = self.embedding(input_seq)
        packed = nn.utils.rnn.pack_padded_sequence(embedded, input_lengths, enforce_sorted=False)
        outputs, hidden = self.gru(packed, hidden)
        outputs, _ = nn.utils.rnn.pad_packed_sequence(outputs)
        return outputs[:, :, :HID] + outputs[:, :, HID:], hidden


class Attn(nn.Module):
    def __init__(self, method):
        super().__init__()
        if method not in ["dot", "general", "concat"]:
            raise ValueError(method, "is not an appropriate attention method.")
        self.method = method
        self.attn = nn.Linear(HID, HID)

    def forward(self, hidden, encoder_outputs, mask):
        energy = self.attn(encoder_outputs)
        energies = torch.sum(hidden * energy, dim=2).t()
        energies = energies.masked_fill(mask == 0, -1e10)
        return F.softmax(energies, dim=1).unsqueeze(1)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, HID)
        self.gru = nn.GRU(HID, HID, 2)
        self.concat = nn.Linear(HID * 2, HID)
        self.out = nn.Linear(HID, VOCAB)
        self.attn = Attn("general")

    def forward(self, input_step, last_hidden, encoder_outputs, mask):
        embedded = self.embedding(input_step)
        rnn_output, hidden = self.gru(embedded, last_hidden)
        attn_weights = self.attn(rnn_output, encoder_outputs, mask)
        context = attn_weights.bmm(encoder_outputs.transpose(0, 1))
        concat_input = torch.cat((rnn_output.squeeze(0), context.squeeze(1)), 1)
        return F.softmax(self.out(torch.tanh(self.concat(concat_input))), dim=1), hidden


def mask_nll_loss(inp, target, mask):
    n_total = mask.sum()
    cross_entropy = -torch.log(torch.gather(inp, 1, target.view(-1, 1)).squeeze(1))
    loss = cross_entropy.masked_select(mask).mean()
    return loss, n_total.item()


def make_batch(rng, B=4):
    sources = [list(rng.randint(3, VOCAB, rng.randint(2, 6))) + [EOS] for _ in range(B)]
    targets = [s[-2::-1] + [EOS] for s in sources]
    T = max(len(s) for s in sources)
    pad = lambda rows: torch.LongTensor([[int(v) for v in r] + [PAD] * (T - len(r)) for r in rows]).t()
    lengths = torch.tensor([len(s) for s in sources])
    return pad(sources), lengths, pad(targets), pad(targets) != PAD, T


def build():
    return nn.ModuleList([Encoder(), Decoder()])


def train(model):
    encoder, decoder = model
    random.seed(1)
    rng = np.random.RandomState(6)
    optimizers = [torch.optim.Adam(m.parameters(), lr=lr) for m, lr in ((encoder, 0.005), (decoder, 0.02))]
    losses = []
    for it in range(10):
        source, lengths, target, mask, max_target_len = make_batch(rng)
        for o in optimizers:
            o.zero_grad()
        encoder_outputs, encoder_hidden = encoder(source, lengths)
        decoder_input = torch.LongTensor([[SOS for _ in range(4)]])
        decoder_hidden = encoder_hidden[: decoder.gru.num_layers]
        source_mask = (source != PAD).t()
        use_teacher_forcing = True if random.random() < 0.7 else False
        loss, print_losses, n_totals = 0, [], 0
        for t in range(max_target_len):
            out, decoder_hidden = decoder(decoder_input, decoder_hidden, encoder_outputs, source_mask)
            if use_teacher_forcing:
                decoder_input = target[t].view(1, -1)
            else:
                _, topi = out.topk(1)
                decoder_input = torch.LongTensor([[topi[i][0] for i in range(4)]])
            if mask[t].any():
                mask_loss, n_total = mask_nll_loss(out, target[t], mask[t])
                loss += mask_loss
                print_losses.append(mask_loss.item() * n_total)
                n_totals += n_total
        loss.backward()
        _ = nn.utils.clip_grad_norm_(encoder.parameters(), 50.0)
        _ = nn.utils.clip_grad_norm_(decoder.parameters(), 50.0)
        for o in optimizers:
            o.step()
        losses.append(sum(print_losses) / n_totals)
    return losses
