"""Actions on captures and flow records in files: analyze, decode, survey, replay."""
