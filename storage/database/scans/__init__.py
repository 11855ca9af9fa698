"""Scans in the results database: each with its jobs, layouts, baselines, patterns and plans, and requests for scans."""
