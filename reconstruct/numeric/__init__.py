"""Array and statistics kernels."""
