"""Mistakes that people make in backward passes and CUDA kernels, and right answers in many forms."""
