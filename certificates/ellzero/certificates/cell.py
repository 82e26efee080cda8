"""One threshold on its own: 1 − τ_r = ρ_r(1/2), as exact integers or as a rigorous enclosure.

x and x̄ play the same part in this family, so taking regions from the other end gives
ρ⁻¹(q) = 1 − ρ(1−q), and with it 1 − τ_r = ρ_r(1/2). Gathering from the largest ratio down to the region
s* in which the x-mass passes 1/2 needs only the terms t ≥ s* ≥ 0, all of them positive:

    1 − τ_r = Σ_{t>s*} Q(t) + Q(s*)/P(s*) · (1/2 − Σ_{t>s*} P(t)),    P(t) = P_r(t)/z^r,  Q(t) = P(−t).
"""

from fractions import Fraction

from ellzero.certificates._balls import arb, ball, precision, sign
from ellzero.certificates._inputs import integer
from ellzero.certificates._integers import divexact, mpz
from ellzero.certificates.noise import Noise


def complement(noise: Noise, r: int) -> tuple[int, int]:
    """1 − τ_r as numerator and denominator, exact, not reduced.

    O(r) operations on integers of r·log₂ z bits: 5 µs at r = 8, K = 255.
    """
    if noise.is_flat:
        return 1, 2
    a, m, b, z = noise.weights.descending
    total = mpz(z) ** r
    p, q = mpz(a) ** r, mpz(b) ** r
    p_upper = q_upper = p_sum = q_sum = mpz(0)
    x = r
    while 2 * (p_sum + p) <= total:
        p_sum += p
        q_sum += q
        up, here, steps = r + x + 1, m * x, r - x + 1
        p_upper, p = p, divexact(b * up * p_upper + here * p, a * steps)
        q_upper, q = q, divexact(a * up * q_upper + here * q, b * steps)
        x -= 1
    return 2 * q_sum * p + q * (total - 2 * p_sum), 2 * total * p


def threshold(noise: Noise, r: int) -> Fraction:
    """τ_r = ρ_r⁻¹(1/2) as the exact rational that it is.

    >>> threshold(Noise(1, "4/5"), 4)
    Fraction(3971, 4000)
    """
    numerator, denominator = complement(noise, integer(r, "r", 0))
    return Fraction(int(denominator - numerator), int(denominator))


def complement_ball(noise: Noise, r: int, bits: int) -> arb:
    """A ball that contains 1 − τ_r, at working precision ``bits``.

    Every term is positive, so almost no accuracy is lost. O(r) operations of about 1 µs, whatever the size of z.
    Raises Undecided where the precision cannot tell in which region the x-mass passes 1/2.
    """
    if noise.is_flat:
        return arb(1) / 2
    with precision(bits):
        a, m, b, z = noise.weights.descending
        half, ratio = ball(Fraction(1, 2)), ball(Fraction(b, a))
        p, p_upper = ball(Fraction(a, z)) ** r, arb(0)
        likelihood = ratio**r  # Q(x) / P(x)
        p_sum = q_sum = arb(0)
        x = r
        while sign(half - p_sum - p) > 0:
            p_sum += p
            q_sum += likelihood * p
            p_upper, p = p, (b * (r + x + 1) * p_upper + m * x * p) / (a * (r - x + 1))
            likelihood /= ratio
            x -= 1
        return q_sum + likelihood * (half - p_sum)
