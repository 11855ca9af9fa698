"""The model of blame: what streams measure, hypotheses that predict it, and one score for all of them."""
