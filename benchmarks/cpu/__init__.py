"""What docs/performance.md says about the devices in host memory: `measure` writes it, `libraries` has the layers."""
