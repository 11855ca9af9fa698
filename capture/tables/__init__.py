"""Arrays that kernels fill: addresses, keys, blocks of rows, buffers for reading."""
