"""Recordings of PyTorch's profiler: real jobs of four to six ranks on the CPU, with gloo; by `make_recordings`."""
