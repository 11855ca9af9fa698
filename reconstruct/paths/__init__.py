"""Which cables connections take, and the hash by which switches choose them."""
