"""How long plans and audits take, and how well plans predict."""
