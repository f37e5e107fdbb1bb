"""Predict sine waves with two LSTMCells in float64, and go on with their own predictions."""

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim


class Sequence(nn.Module):
    def __init__(self):
        super(Sequence, self).__init__()
        self.lstm1 = nn.LSTMCell(1, 11)
        self.lstm2 = nn.LSTMCell(11, 11)
        self.linear = nn.Linear(11, 1)

    def forward(self, input, future=0):
        outputs = []
        h_t = torch.zeros(input.size(0), 11, dtype=torch.double)
        c_t = torch.zeros(input.size(0), 11, dtype=torch.double)
        h_t2 = torch.zeros(input.size(0), 11, dtype=torch.double)
        c_t2 = torch.zeros(input.size(0), 11, dtype=torch.double)
        for input_t in input.split(1, dim=1):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        for i in range(future):
            h_t, c_t = self.lstm1(output, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        return torch.cat(outputs, dim=1)


def build():
    return Sequence()


def train(seq):
    seq.double()
    T, L, N = 20, 40, 6
    x = np.empty((N, L), "int64")
    x[:] = np.array(range(L)) + np.random.RandomState(2).randint(-4 * T, 4 * T, N).reshape(N, 1)
    data = np.sin(x / 1.0 / T).astype("float64")
    input, target = torch.from_numpy(data[2:, :-1]), torch.from_numpy(data[2:, 1:])
    test_input, test_target = torch.from_numpy(data[:2, :-1]), torch.from_numpy(data[:2, 1:])
    criterion = nn.MSELoss()
    optimizer = optim.Adagrad(seq.parameters(), lr=0.05)
    losses = []
    for i in range(6):

        def closure():
            optimizer.zero_grad()
            out = seq(input)
            loss = criterion(out, target)
            losses.append(loss.item())
            loss.backward()
            return loss

        optimizer.step(closure)
        with torch.no_grad():
            future = 10
            pred = seq(test_input, future=future)
            loss = criterion(pred[:, :-future], test_target)
            losses.append(loss.item())
            y = pred.detach().numpy()
            assert y.shape == (2, 39 + future)
    return losses
