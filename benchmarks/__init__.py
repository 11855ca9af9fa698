"""Measurements that state records a second and peak memory; `make bench` runs those that can be run."""
