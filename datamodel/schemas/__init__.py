"""JSON Schemas of the published documents. `python -m datamodel.schemas DIR` writes them."""
