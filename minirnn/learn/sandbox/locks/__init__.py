"""What keeps a process to its own: each lock in a file, and all of them bind for good.

`limits` bounds what it uses, `namespaces` gives it a system in which it is alone, `privileges` takes root's rights,
`landlock` says which files there are, `seccomp` which system calls (`syscalls` has their numbers), and `hook` tells in
words what Python code tries. A platform that lacks one has the others; `minirnn.learn.sandbox.protection` says so.

The modules import one another by relative names: in the process of an answer they run without minirnn.
"""
