"""Real exporters and collectors against ours: nothing here is played by our own code but the traffic."""
