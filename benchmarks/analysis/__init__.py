"""How long an analysis and each of its stages take, and how that grows with the cluster."""
