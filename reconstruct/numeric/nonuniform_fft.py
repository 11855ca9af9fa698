"""The power of evenly spaced values at any frequencies: the fast transform, with what lies between its steps.

A harmonic of a rhythm lies at a few hundred cycles a window at most, of values that resolve ten thousand. So the values
are thinned out first, and then transformed once for all frequencies. Both steps rest on the Kaiser-Bessel window: a
wave is to rounding error a sum of a few windows on a grid twice as fine as the wave needs (Dutt and Rokhlin, 1993;
Beatty, Nishimura and Pauly, 2005).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Float, Int

# A window is so many steps of its grid wide; with its shape it errs by 1e-12 of the largest power on a grid twice as
# fine as it needs.
TAPS = 14
SHAPE = 2.3 * TAPS
# The thinned grid has so many points a cycle at least.
FINE = 4
_Complex = np.typing.NDArray[np.complex128]


@dataclass(frozen=True, slots=True)
class Transform:
    """The way from so many evenly spaced values to their power at chosen frequencies.

    Attributes:
        thinned: values that become one point of the coarse grid.
        taps: (thinned, TAPS) what each of these gives to the points around.
        even: (points,) what undoes the second window in time.
        places: (frequencies, TAPS) steps of the transform around each frequency.
        weights: (frequencies, TAPS) what each frequency takes of them.
    """

    thinned: int
    taps: Float
    even: Float
    places: Int
    weights: _Complex

    def power(self, values: Float) -> Float:
        """(frequencies,) squared amplitudes of the waves in the values."""
        points = _thinned(values, self.taps) if self.thinned > 1 else values
        found = np.fft.fft(points * self.even, FINE * (len(values) // self.thinned))
        amplitude = np.einsum("fk,fk->f", found[self.places], self.weights)
        return np.asarray(amplitude.real**2 + amplitude.imag**2, np.float64)


def transform(count: int, cycles: Float) -> Transform:
    """The transform of so many values, a power of two, to numbers of cycles that lie below half of that."""
    thinned = 1
    while 2 * thinned * FINE * float(cycles.max()) <= count and 2 * TAPS * thinned < count:
        thinned *= 2
    coarse = count // thinned
    points = coarse + (TAPS - 1 if thinned > 1 else 0)
    grid, middle = FINE * coarse, points // 2
    at = cycles * FINE
    places = np.floor(at).astype(np.int64)[:, None] + np.arange(1 - TAPS // 2, TAPS // 2 + 1)
    weights = _window(at[:, None] - places) * np.exp(2j * np.pi * places * (middle / grid))
    if thinned > 1:
        weights /= _seen_through(cycles * thinned / count)[:, None]
    offsets = np.arange(1 - TAPS // 2, TAPS // 2 + 1)
    taps = _window(offsets[None, :] - np.arange(thinned)[:, None] / thinned)
    even = 1 / _seen_through((np.arange(points) - middle) / grid)
    return Transform(thinned, taps, even, places % grid, weights)


def _thinned(values: Float, taps: Float) -> Float:
    """(points,) the values seen through a window about each point of the coarse grid."""
    each = values.reshape(-1, len(taps)) @ taps
    found = np.zeros(len(each) + TAPS - 1)
    for k in range(TAPS):
        found[k : k + len(each)] += each[:, k]
    return found


def _window(steps: Float) -> Float:
    """The window so many steps from its middle, 1 there."""
    inside = np.maximum(1 - (2 * steps / TAPS) ** 2, 0.0)
    return np.asarray(np.where(np.abs(steps) <= TAPS / 2, np.i0(SHAPE * np.sqrt(inside)), 0.0) / np.i0(SHAPE))


def _seen_through(cycles: Float) -> Float:
    """The window's own transform, at cycles a step."""
    root = np.sqrt(SHAPE**2 - (np.pi * TAPS * cycles) ** 2)
    return np.asarray(TAPS * np.sinh(root) / root / np.i0(SHAPE), np.float64)
