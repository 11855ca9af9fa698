"""Tests of flowprism.service.parts."""
