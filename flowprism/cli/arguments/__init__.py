"""Options and their parsing that several commands share."""
