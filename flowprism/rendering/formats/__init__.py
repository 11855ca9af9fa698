"""The forms in which reports, scans, surveys and timelines are written."""
