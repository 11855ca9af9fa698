"""Tests of flowprism.service.scanning."""
