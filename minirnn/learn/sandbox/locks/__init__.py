"""The locks that confine a process, one per module. None of them can be undone.

`limits` bounds its resources, `namespaces` isolates it from other processes and the network, `privileges` drops root's
rights, `landlock` restricts files, `seccomp` restricts system calls (`syscalls` has their numbers), and `hook`
describes in words what Python code tries to do. A platform that lacks one lock uses the others, and
`minirnn.learn.sandbox.protection` reports this.

The modules use relative imports because they run without minirnn in the process of an answer.
"""
