"""The page of exporters and components."""
