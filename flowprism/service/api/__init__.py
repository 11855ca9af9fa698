"""The HTTP API: one module a resource, each a thin face of `flowprism.service.queries`."""
