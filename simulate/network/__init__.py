"""The fabric and what shares it: links, paths, background traffic, and the engine that runs transfers over them."""
