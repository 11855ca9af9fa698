"""How much more likely an element is under a hypothesis of each size than under none: Student's t with outliers."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from datamodel.reconstructed.streams import Float
from diagnose.options import ModelOptions


def sizes(options: ModelOptions) -> Float:
    """(g,) logarithms of the slowdowns that are tried."""
    return np.log1p(np.geomspace(options.least_size, options.most_size, options.grid))


def gains(value: Float, error: Float, missing: Float | float, misfit_ratio: float, options: ModelOptions) -> Float:
    """(s, g) logarithm of the likelihood ratio of each element for each size; 0 where the element is not known.

    An element shows the hypothesis but for the chance `missing`; one that should shift and does not costs the logarithm
    of that, once, however many iterations show it: who passes a cable does so in all of them.

    Args:
        value: (s,) shifts.
        error: (s,) their standard errors.
        missing: chance, of each or of all, that the element does not show what it passes.
        misfit_ratio: of the size, by which an element's shift may differ from it.
        options: of the model.
    """
    size = sizes(options)
    known = np.isfinite(value) & np.isfinite(error)
    value, error = np.where(known, value, 0.0)[:, None], np.where(known, error, 1.0)[:, None]
    wide = np.sqrt(error**2 + (options.misfit_floor + misfit_ratio * size) ** 2)
    shown = options.temper * (_log_density(value - size, wide, options) - _log_density(value, error, options))
    missing = np.broadcast_to(np.asarray(missing, np.float64), known.shape)[:, None]
    found = np.logaddexp(np.log1p(-missing) + shown, np.log(missing))
    return np.where(known[:, None], found, 0.0)


def _log_density(value: Float, scale: Float, options: ModelOptions) -> Float:
    """Logarithm of the density of Student's t with outliers: what is anything at all is as likely everywhere."""
    n = options.degrees
    at_zero = np.exp(gammaln((n + 1) / 2) - gammaln(n / 2)) / np.sqrt(n * np.pi)
    usual = at_zero / scale * (1 + (value / scale) ** 2 / n) ** (-(n + 1) / 2)
    return np.asarray(np.log((1 - options.outlier_ratio) * usual + options.outlier_ratio / options.outlier_folds))
