"""Exporter settings of devices: read from running configurations, audited against a plan, generated from one."""
