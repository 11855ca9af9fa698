"""Commands that read captures and files of flow records."""
