"""The process in which an answer runs, with limits and locks, and the pipe between it and the judge.

`parent` starts the process and serves it, `child` is what runs in it, and `child_cuda` runs CUDA kernels there. `locks`
says what an answer may not do, `clock` how long it may take, and `protocol` what goes through the pipe. `given` holds
functions that an answer may call.
"""
