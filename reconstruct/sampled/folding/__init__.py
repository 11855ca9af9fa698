"""Samples of many iterations, folded onto one."""
