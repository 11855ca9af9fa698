"""Actions on a running installation: its settings, accounts, inventory, lakes, scans and alerts."""
