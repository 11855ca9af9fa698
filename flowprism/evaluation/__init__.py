"""How good reports are: marks against the truth, and the suite of cases that yields the scoreboard."""
