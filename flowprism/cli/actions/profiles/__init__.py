"""Actions on profiles of ranks: plan their recording, compare them."""
