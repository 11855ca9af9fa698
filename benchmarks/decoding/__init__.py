"""How fast bytes become flow records, beside other programs on the same bytes."""
