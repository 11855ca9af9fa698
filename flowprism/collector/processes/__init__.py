"""The processes of a collector: receivers, decoders, sources and the compactor, started by the supervisor."""
