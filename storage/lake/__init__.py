"""The flow lake: Parquet segments, the commits that name them, compaction and retention."""
