"""The currencies of the house: tables with declared columns, and documents that outlive a version."""
