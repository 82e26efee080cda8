"""One threshold on its own: 1 − τ_r = ρ_r(1/2), as exact integers or as a rigorous enclosure.

x and x̄ are symmetric in this family, so taking regions from the other end gives ρ⁻¹(q) = 1 − ρ(1−q),
and hence 1 − τ_r = ρ_r(1/2). Summing from the largest ratio down to the region s* in which the x-mass
passes 1/2 needs only the terms t ≥ s* ≥ 0, all of them positive:

    1 − τ_r = Σ_{t>s*} Q(t) + Q(s*)/P(s*) · (1/2 − Σ_{t>s*} P(t)),    P(t) = P_r(t)/z^r,  Q(t) = P(−t).
"""

from fractions import Fraction

from ellzero.certificates._balls import Undecided, arb, ball, precision, sign
from ellzero.certificates._integers import mpz
from ellzero.certificates.families.discrete import Discrete, Weights
from ellzero.core.cancellation import BALL_STEPS, EXACT_STEPS, check_cancelled
from ellzero.core.numbers import read_integer

# Up to this size Python's own integers are faster than calls to GMP.
_PYTHON_BITS = 512


def complement(noise: Discrete, r: int) -> tuple[int, int]:
    """1 − τ_r as numerator and denominator, exact, not reduced.

    P_r(t) = a^t·g(t) and P_r(−t) = b^t·g(t) share g, which obeys (r−x+1)·g(x−1) = ab·(r+x+1)·g(x+1) + m·x·g(x); the
    powers come in by Horner's rule. O(r) operations on integers of r·log₂ z bits: 3 µs at r = 8, K = 255.
    """
    if noise.is_flat:
        return 1, 2
    weights = noise.weights.descending
    # Searching for s* multiplies large numbers, so it starts near the mean of t: s*, the median, is hardly ever above.
    start = min(r, r * (weights.a - weights.b) // weights.z + 2)
    while (fraction := _sum_from(weights, r, start)) is None:
        start = r
    return fraction


def _sum_from(weights: Weights, r: int, start: int) -> tuple[int, int] | None:
    """`complement`, with the search for s* starting at x = start and going down; None if s* lies above."""
    a, m, b, z = weights
    one = 1 if r * z.bit_length() < _PYTHON_BITS else mpz(1)
    ab, total = a * b, (one * z) ** r
    g_upper, g = 0 * one, one
    p_sum = q_sum = 0 * one  # Σ_{t>x} a^(t−x−1)·g(t), and the same with b
    for x in range(r, start, -1):
        if x % EXACT_STEPS == 0:
            check_cancelled()
        p_sum, q_sum = a * p_sum + g, b * q_sum + g
        g_upper, g = g, (ab * (r + x + 1) * g_upper + m * x * g) // (r - x + 1)
    x, power = start, 2 * (one * a) ** start  # 2·a^x
    if power * a * p_sum > total:
        return None
    while power * (p_with_x := a * p_sum + g) <= total:
        p_sum, q_sum = p_with_x, b * q_sum + g
        g_upper, g = g, (ab * (r + x + 1) * g_upper + m * x * g) // (r - x + 1)
        power //= a
        x -= 1
    # Σ_{t>x} Q(t) = b^(x+1)·q_sum, Σ_{t>x} P(t) = a^(x+1)·p_sum, Q(x)/P(x) = (b/a)^x.
    return (one * b) ** x * (power * (b * q_sum - a * p_sum) + total), power * total


def threshold(noise: Discrete, r: int) -> Fraction:
    """τ_r = ρ_r⁻¹(1/2) as the exact rational that it is.

    >>> threshold(Discrete(1, "4/5"), 4)
    Fraction(3971, 4000)
    """
    numerator, denominator = complement(noise, read_integer(r, "r", 0))
    return Fraction(int(denominator - numerator), int(denominator))


def complement_ball(noise: Discrete, r: int, bits: int) -> arb:
    """A ball that contains 1 − τ_r: `rho_ball` at p = 1/2."""
    return rho_ball(noise, r, Fraction(1, 2), bits)


def rho_ball(noise: Discrete, r: int, p: Fraction, bits: int) -> arb:
    """A ball that contains ρ_r(p), 0 < p < 1, at working precision ``bits``.

    Down to x = 0 every term is positive, so almost no accuracy is lost; below that some is, where masses are small.
    O(r) operations of about 1 µs, whatever the size of z.
    Raises Undecided if the precision cannot tell in which region the x-mass passes p.
    """
    with precision(bits):
        if noise.is_flat:
            return ball(p)
        a, m, b, z = noise.weights.descending
        ratio = ball(Fraction(b, a))
        mass, upper = ball(Fraction(a, z)) ** r, arb(0)  # P(x), P(x+1)
        likelihood = ratio**r  # Q(x) / P(x)
        missing, xbar_mass = ball(p), arb(0)
        for x in range(r, -r - 1, -1):
            if x % BALL_STEPS == 0:
                check_cancelled()
            if sign(missing - mass) < 0:
                return xbar_mass + likelihood * missing
            missing -= mass
            xbar_mass += likelihood * mass
            likelihood /= ratio
            upper, mass = mass, (b * (r + x + 1) * upper + m * x * mass) / (a * (r - x + 1))
        raise Undecided
