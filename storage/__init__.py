"""The one gate to what is kept: segments of records and the manifest that says which of them count."""
