"""Inventories from what a site has already: NetBox, Slurm and Kubernetes listings, merged with what is known."""
