"""An encoder-decoder with attention learns to reverse strings: a masked loss, teacher forcing, torch's names."""

import minirnn as mr
from minirnn import nn

PAD, START, LETTERS, T, H = 0, 1, 10, 8, 48  # the letters are 2 .. 9; H units


class Seq2Seq(nn.Module):
    def __init__(self):
        self.embedding, self.output = nn.Embedding(LETTERS, 16, padding_idx=PAD), nn.Linear(3 * H, LETTERS)
        self.encoder, self.decoder = nn.GRU(16, H, batch_first=True, bidirectional=True), nn.GRUCell(16 + 2 * H, H)
        self.query, self.key, self.score = nn.Linear(H, H), nn.Linear(2 * H, H), nn.Linear(H, 1)

    def forward(self, source, lengths, target=None):
        memory, (h, _) = self.encoder(self.embedding(source), lengths=lengths)  # (B, T, 2H), (2, B, H)
        keys, token, logits = self.key(memory), mr.full((len(source),), START), []
        for t in range(T):
            energy = self.score((keys + self.query(h).unsqueeze(1)).tanh()).squeeze(2)  # additive attention, (B, T)
            attention = energy.masked_fill(source == PAD, -1e9).softmax(dim=1)
            context = (attention.unsqueeze(1) @ memory).squeeze(1)  # (B, 2H)
            h = self.decoder(mr.cat([self.embedding(token), context], dim=1), h)
            logits.append(self.output(mr.cat([h, context], dim=1)))
            token = logits[-1].argmax(dim=1) if target is None else target[:, t]  # teacher forcing while training
        return mr.stack(logits, dim=2)  # (B, LETTERS, T)


def strings(B):  # strings of 3 to 8 letters, their lengths, and the strings reversed
    lengths, t = mr.randint(3, T + 1, (B,)), mr.arange(T)
    back = lengths.unsqueeze(1) - 1 - t  # where a letter goes; below 0 behind the end of the string
    source = mr.where(back >= 0, mr.randint(2, LETTERS, (B, T)), PAD)
    return source, lengths, mr.where(back >= 0, source.gather(1, back.clamp(min=0)), PAD)


mr.manual_seed(0)
model, loss = Seq2Seq(), nn.CrossEntropyLoss(ignore_index=PAD)
optimizer = mr.optim.Adam(model.parameters(), lr=5e-3)
for source, lengths, target in map(strings, [64] * 350):
    optimizer.zero_grad()
    loss(model(source, lengths, target), target).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
source, lengths, target = strings(1000)
right = ((model(source, lengths).argmax(dim=1) == target) | (target == PAD)).all(dim=1)
print(f"reversed without a mistake: {right.float().mean():.3f}")
