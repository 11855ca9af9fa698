"""Figures of the page, as SVG without styles or scripts: colours and type come from the page's style sheet."""
