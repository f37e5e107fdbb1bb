"""The process in which an answer runs, with limits and locks, and the pipe between it and the judge.

`parent` is the judge's side. It asks a template that has already imported everything (`templates`, `start`, `template`)
for a supervisor, which forks the answer's process (`child`; `child_cuda` for CUDA kernels) and ends all processes that
it leaves behind. `locking` puts on all locks; `locks` says what an answer may not do, `clock` how long it may take, and
`protocol` what goes through the pipe. `tools` runs compilers below locks; `kernel_text` and `symbols` say what a kernel
may hold and call. `given` holds functions that an answer may call. Where nothing can be forked, `unlocked` takes the
place of `parent`, and `unlocked_child` starts the answer. `session` is one process of an answer for both.
`system_locks` tries what a platform has, and `protection` says what it cannot give.
"""

from minirnn.learn.sandbox.system_locks import protection

__all__ = ["protection"]
