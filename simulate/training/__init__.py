"""One training job: model, layout, schedule of its passes, collectives and the iteration they make."""
