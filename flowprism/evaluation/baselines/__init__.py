"""Published methods, implemented from their descriptions, to compare with ours on the same cases."""
