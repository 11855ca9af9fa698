"""What traffic is for: training, weights of reinforcement learning, serving, storage, management."""
