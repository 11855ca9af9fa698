"""What people see of an analysis: text, a page, a Perfetto trace, a table of spans. Nothing is concluded here."""
