"""What this machine has: its processor, compilers, GPU and terminal, and what `minirnn doctor` says about them."""
