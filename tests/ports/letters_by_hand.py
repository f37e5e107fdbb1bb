"""Words from a category, letter by letter: one-hot Tensors that are written into, and steps without an optimizer."""

import torch
from torch import nn

LETTERS = "abcdefgh"
END = len(LETTERS)
WORDS = [(0, "abba"), (1, "gaff"), (2, "head"), (0, "bad"), (1, "fed"), (2, "dach")]


class Speller(nn.Module):
    def __init__(self, categories, hidden):
        super().__init__()
        self.hidden = hidden
        inputs = categories + END + hidden
        self.to_hidden = nn.Linear(inputs, hidden)
        self.to_output = nn.Linear(inputs, END + 1)
        self.mixed = nn.Linear(hidden + END + 1, END + 1)

    def forward(self, category, letter, state):
        joined = torch.cat((category, letter, state), 1)
        state = self.to_hidden(joined).tanh_()
        output = self.mixed(torch.cat((state, self.to_output(joined)), 1))
        return output.log_softmax(dim=1), state


def build():
    return Speller(3, 7)


def one_hot(index, n):
    vector = torch.zeros(1, n)
    vector[0][index] = 1
    return vector


def letters(word):
    tensor = torch.zeros(len(word), 1, END)
    for k, letter in enumerate(word):
        tensor[k][0][LETTERS.index(letter)] = 1
    return tensor


def step(model, category, word, rate):
    inputs = letters(word)
    target = torch.LongTensor([LETTERS.index(c) for c in word[1:]] + [END])
    target.unsqueeze_(-1)
    model.zero_grad()
    state = torch.zeros(1, model.hidden)
    loss = torch.Tensor([0])
    for k in range(inputs.size(0)):
        output, state = model(one_hot(category, 3), inputs[k], state)
        loss += nn.functional.nll_loss(output, target[k])
    loss.backward()
    for p in model.parameters():
        p.data.add_(p.grad.data, alpha=-rate)
    return loss.item() / inputs.size(0)


def spelled(model, category, first):
    word, letter, state = first, letters(first)[0], torch.zeros(1, model.hidden)
    with torch.no_grad():
        for _ in range(5):
            output, state = model(one_hot(category, 3), letter, state)
            best = output.topk(1)[1][0][0]
            if best == END:
                break
            word += LETTERS[best]
            letter = letters(word[-1])[0]
    return word


def train(model):
    losses = [step(model, category, word, 0.1) for _ in range(4) for category, word in WORDS]
    words = [spelled(model, category, first) for category, first in ((0, "a"), (1, "g"), (2, "h"))]
    return losses + [float(LETTERS.index(c)) for word in words for c in word]
