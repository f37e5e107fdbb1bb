"""One training run in numbers: against the same training in torch."""

import numpy as np
import pytest

from minirnn import data
from minirnn.train import training as train_run
from minirnn.train.options import Options
from minirnn.train.training import Training

TEXT = "".join(f"{k} times {k} is {k * k}, " for k in range(60))


def test_training_equals_torch_over_more_than_one_pass_with_clipping(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    T, B, H, clip = 25, 3, 6, 0.3
    monkeypatch.setattr(train_run, "CLIP", clip)
    training = Training(Options(cell="rnn", hidden=H, batch=B, length=T, lr=0.01, seed=3), TEXT)
    passes = len(training.batches)
    assert 1 < passes < 20

    state = {name: torch.from_numpy(value) for name, value in training.model.state_dict().items()}
    V, I = state["embedding.weight"].shape
    embedding, rnn, output = torch.nn.Embedding(V, I), torch.nn.RNN(I, H), torch.nn.Linear(H, V)
    with torch.no_grad():
        embedding.weight.copy_(state["embedding.weight"])
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(rnn, f"{name}_l0").copy_(state[f"recurrent.{name}_l0"])
        output.weight.copy_(state["output.weight"])
        output.bias.copy_(state["output.bias"])
    parameters = [*embedding.parameters(), *rnn.parameters(), *output.parameters()]
    adam = torch.optim.Adam(parameters, lr=0.01)

    vocabulary = data.CharVocabulary.from_text(TEXT)
    ids = vocabulary.encode(TEXT)
    ids = torch.from_numpy(ids[: len(ids) - round(len(ids) / 10)])
    stream = (len(ids) - 1) // B
    losses, norms, h = [], [], torch.zeros(1, B, H)
    for step in range(30):
        k = step % passes
        if k == 0:
            h = torch.zeros(1, B, H)
        x = torch.stack([ids[b * stream + k * T :][:T] for b in range(B)], 1)
        y = torch.stack([ids[b * stream + k * T + 1 :][:T] for b in range(B)], 1)
        hs, h = rnn(embedding(x), h.detach())
        loss = torch.nn.functional.cross_entropy(output(hs).reshape(-1, V), y.reshape(-1))
        adam.zero_grad()
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(parameters, clip).item())
        adam.step()
        losses.append(loss.item())
        training.advance()
    assert sum(norm > clip for norm in norms) > 5

    assert [line["step"] for line in training.lines] == [10, 20, 30]
    for line, k in zip(training.lines, (0, 10, 20), strict=True):
        # float32: rounding errors of 1e-7 a step, which Adam may enlarge where gradients are small.
        assert line["loss"] == pytest.approx(np.mean(losses[k : k + 10]), abs=1e-4)
        assert line["gradient_norm"] == pytest.approx(norms[k + 9], rel=1e-3)


def test_the_validation_loss_is_the_mean_over_the_validation_text_read_in_one_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    training = Training(Options(cell="gru", hidden=5, batch=2, length=7), TEXT)
    ids, (T, B) = training.validation_ids, (7, 2)
    stream = (len(ids) - 1) // B
    steps = stream // T * T
    x = np.stack([ids[b * stream :][:steps] for b in range(B)], 1)
    y = np.stack([ids[b * stream + 1 :][:steps] for b in range(B)], 1)
    scores, _ = training.model(x, training.model.zero_state(B))
    logp = scores.log_softmax().numpy()
    expected = -np.take_along_axis(logp, y[:, :, None], 2)
    assert training.validation_loss() == pytest.approx(expected.mean(), abs=1e-5)
    monkeypatch.setattr(train_run, "VALIDATION_BATCHES", 2)
    assert training.validation_loss() == pytest.approx(expected[: 2 * T].mean(), abs=1e-5)
