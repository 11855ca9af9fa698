"""Flow-record files: CSV, JSON, Parquet and Arrow, read and written."""
