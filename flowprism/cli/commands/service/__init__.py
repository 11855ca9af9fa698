"""The service, what it stores, and who may use it."""
