"""REINFORCE with a recurrent policy that must repeat a signal after a delay; a baseline with momentum."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

gamma, eps = 0.9, np.finfo(np.float32).eps.item()


class Policy(nn.Module):
    def __init__(self):
        super(Policy, self).__init__()
        self.cell = nn.LSTMCell(3, 10)
        self.action_head = nn.Linear(10, 2)
        self.value_head = nn.Linear(10, 1)
        self.saved_log_probs, self.rewards, self.values, self.entropies = [], [], [], []

    def forward(self, x, state):
        hx, cx = self.cell(x, state)
        return F.softmax(self.action_head(hx), dim=-1), self.value_head(hx), (hx, cx)


def episode(policy, rng):
    signal = rng.randint(2)
    hx, cx = torch.zeros(1, 10), torch.zeros(1, 10)
    for t in range(5):
        obs = np.array([t == 0 and signal == 0, t == 0 and signal == 1, t == 4], dtype=np.float32)
        state = torch.from_numpy(obs).float().unsqueeze(0)
        probs, value, (hx, cx) = policy(state, (hx, cx))
        action = int(rng.rand() > probs[0, 0].item())
        log_probs = probs.log()
        policy.saved_log_probs.append(log_probs.gather(1, torch.tensor([[action]])).squeeze())
        policy.entropies.append(-(probs * log_probs).sum())
        policy.values.append(value.view(()))
        policy.rewards.append(float(action == signal) if t == 4 else 0.0)


def build():
    return Policy()


def train(policy):
    rng = np.random.RandomState(7)
    optimizer = optim.Adam(policy.parameters(), lr=1e-2)
    losses, running_reward = [], 0.5
    for i_episode in range(20):
        episode(policy, rng)
        R, returns = 0, []
        for r in policy.rewards[::-1]:
            R = r + gamma * R
            returns.insert(0, R)
        returns = torch.tensor(returns)
        returns = (returns - returns.mean()) / (returns.std() + eps)
        policy_loss, value_loss = [], []
        for log_prob, value, R in zip(policy.saved_log_probs, policy.values, returns):
            advantage = R - value.item()
            policy_loss.append(-log_prob * advantage)
            value_loss.append(F.smooth_l1_loss(value, R))
        optimizer.zero_grad()
        entropy = torch.stack(policy.entropies).mean()
        loss = torch.stack(policy_loss).sum() + torch.stack(value_loss).sum() - 0.01 * entropy
        loss.backward()
        for param in policy.parameters():
            param.grad.data.clamp_(-1, 1)
        optimizer.step()
        running_reward = 0.05 * sum(policy.rewards) + 0.95 * running_reward
        losses += [loss.item(), running_reward]
        del policy.rewards[:]
        del policy.saved_log_probs[:]
        policy.values.clear()
        policy.entropies.clear()
    return losses
