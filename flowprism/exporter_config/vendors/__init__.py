"""One module for each vendor's configuration language: text to `ExportConfig`, and back."""
