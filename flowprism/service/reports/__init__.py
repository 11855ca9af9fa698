"""Reports that are sent by themselves, about no incident."""
