"""Published methods, written anew from their descriptions, to run beside ours on the same cases."""
