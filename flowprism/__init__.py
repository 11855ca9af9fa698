"""The shell: wires the rooms into one analysis and shows it to people. Everything here may import every other room."""

__version__ = "0.1.0"
