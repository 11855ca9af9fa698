"""Tests of `flowprism.exporter_config`."""
