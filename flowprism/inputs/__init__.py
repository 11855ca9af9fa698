"""What commands take in: files of feeds and the window of them, inventories, and documents that flowprism wrote."""
