"""Connections and the routes open to them -> the placement whose slowest cables are done first."""
