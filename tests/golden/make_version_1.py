"""Make the files of version_1 with minirnn 1.0.0, in an environment that has it: ``python make_version_1.py``."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

import minirnn as mr

HERE = Path(__file__).resolve().parent / "version_1"
TEXT = "".join(f"line {k} says {k * k}.\n" for k in range(60))


class Net(mr.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = mr.nn.LSTM(3, 4, num_layers=2, bidirectional=True)
        self.gru = mr.nn.GRU(8, 2)
        self.output = mr.nn.Linear(2, 1)

    def forward(self, x):
        return self.output(self.gru(self.lstm(x)[0])[0])


def minirnn(command):
    subprocess.run([sys.executable, "-m", "minirnn", *command.split()], check=True, cwd=HERE)


def keep_first_exercise(course):
    toml = course / "course.toml"
    toml.write_text("[[exercise]]".join(toml.read_text().split("[[exercise]]")[:2]))
    shutil.rmtree(course / "solutions")
    for chapter in sorted((course / "exercises").iterdir())[1:]:
        shutil.rmtree(chapter)
    for exercise in sorted((course / "exercises" / "01_tape").iterdir())[1:]:
        exercise.unlink()


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    assert mr.__version__ == "1.0.0"
    mr.manual_seed(0)
    net, x = Net(), np.random.default_rng(0).normal(size=(5, 2, 3)).astype("float32")
    optimizer = mr.optim.Adam(net.parameters(), lr=0.1)
    schedule = mr.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=10)
    losses = []
    for step in range(6):
        if step == 3:
            state = mr.nn.LSTM(3, 4)(x)[1]
            everything = dict(model=net.state_dict(), optimizer=optimizer.state_dict(), schedule=schedule.state_dict())
            mr.save(everything | dict(state=state, step=3, x=x), HERE / "training.safetensors")
        loss = (net(x) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    np.savetxt(HERE / "losses.txt", losses)
    (HERE / "text.txt").write_text(TEXT)
    options = "--text text.txt --hidden 6 --layers 2 --zoneout 0.1 --dropout 0.2 --batch 2 --length 8 --schedule cosine"
    minirnn(f"train --quiet {options} --steps 10 --out whole")
    minirnn(f"train --quiet {options} --steps 5 --schedule-steps 10 --out run")
    for picture in [*HERE.glob("*/*.png"), *HERE.glob("*/*.html"), *HERE.glob("*/*.txt")]:
        picture.unlink()
    minirnn("convert whole/checkpoint.safetensors --to cudnn.params params.safetensors")
    minirnn("course init course")
    keep_first_exercise(HERE / "course")
