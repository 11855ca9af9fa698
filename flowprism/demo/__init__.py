"""The bundled capture, and its analysis in one go."""
