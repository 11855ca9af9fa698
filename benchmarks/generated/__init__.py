"""Files of the project that are made by measurement: a table of inference, and a figure of the documentation."""
