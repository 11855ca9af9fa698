"""Recordings of PyTorch's profiler (Kineto, Chrome trace JSON): JSON -> columns -> what a rank did when."""
