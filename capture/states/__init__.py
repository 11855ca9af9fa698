"""What decoders remember, divided among several decoders or joined."""
