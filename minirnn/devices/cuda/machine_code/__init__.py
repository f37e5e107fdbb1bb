"""What NVIDIA's compiler makes of a kernel file, without a GPU: registers, spills, instructions by loop."""
