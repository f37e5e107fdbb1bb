"""Classify names character by character with a network whose hidden state is an input of two Linears."""

import string

import torch
import torch.nn as nn

all_letters = string.ascii_lowercase + " '"
n_letters, n_hidden = len(all_letters), 24
data = {
    "vowel": ["ada", "eve", "oona", "aia", "ioe"],
    "hard": ["kurt", "brkt", "drk", "grtk", "trk"],
    "mixed": ["maria", "peter", "o'neil", "lisa", "tom"],
}
all_categories = list(data)
n_categories = len(all_categories)
device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")


def line_to_tensor(line):
    tensor = torch.zeros(len(line), 1, n_letters)
    for li, letter in enumerate(line):
        tensor[li][0][all_letters.find(letter)] = 1
    return tensor


class CharRNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.h2o = nn.Linear(hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, input, hidden):
        combined = torch.cat((input, hidden), 1)
        hidden = torch.tanh(self.i2h(combined))
        output = self.h2o(hidden)
        output = self.softmax(output)
        return output, hidden

    def init_hidden(self):
        return torch.zeros(1, self.hidden_size)


def category_from_output(output):
    top_n, top_i = output.topk(1)
    category_i = top_i[0].item()
    return all_categories[category_i], category_i


def build():
    return CharRNN(n_letters, n_hidden, n_categories)


def train(rnn):
    rnn.to(device)
    criterion = nn.NLLLoss()
    learning_rate = 0.05
    losses, correct = [], 0
    confusion = torch.zeros(n_categories, n_categories)
    for it in range(45):
        category = all_categories[it % 3]
        line = data[category][it // 3 % 5]
        category_tensor = torch.tensor([all_categories.index(category)], dtype=torch.long)
        line_tensor = line_to_tensor(line).to(device)
        hidden = rnn.init_hidden()
        rnn.zero_grad()
        for i in range(line_tensor.size()[0]):
            output, hidden = rnn(line_tensor[i], hidden)
        loss = criterion(output, category_tensor)
        loss.backward()
        for p in rnn.parameters():
            p.data.add_(p.grad.data, alpha=-learning_rate)
        losses.append(loss.item())
        guess, guess_i = category_from_output(output)
        confusion[it % 3][guess_i] += 1
        correct += guess == category
    for i in range(n_categories):
        denom = confusion[i].sum()
        if denom > 0:
            confusion[i] = confusion[i] / denom
    assert abs(confusion.sum().item() - 3) < 1e-5
    return losses + [float(correct)] + confusion.view(-1).tolist()
