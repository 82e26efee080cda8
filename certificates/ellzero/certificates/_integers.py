"""The one place that chooses the type of large integers: GMP's, through gmpy2."""

from gmpy2 import bincoef, divexact, fma, mpz, xmpz

__all__ = ["bincoef", "divexact", "fma", "mpz", "xmpz"]
