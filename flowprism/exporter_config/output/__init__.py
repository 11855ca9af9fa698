"""An audit as text, JSON, SARIF and JUnit XML."""
