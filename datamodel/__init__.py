"""The currencies of the house: every table's columns with dtype, unit and meaning, and the documents that outlive a version."""
