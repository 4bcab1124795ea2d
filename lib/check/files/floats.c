/* What is nearest, of two the even one. */
#include "check/files/floats.h"

void
float_format(size_t type, long *digits, long *least, long *most)
{
  *digits = type == FLOAT16 ? 11 : type == BFLOAT16 ? 8 : type == FLOAT ? 24 : 53;
  *least = type == FLOAT16 ? -14 : type == DOUBLE ? -1022 : -126;
  *most = type == FLOAT16 ? 16 : type == DOUBLE ? 1024 : 128;
}

bool
float_nearest(rational *q, size_t type)
{
  INTEGER(rest);
  INTEGER(n);
  long sign = mpq_sgn(q), size = 0, digits, least, most;
  if (sign == 0)
    return true;
  float_format(type, &digits, &least, &most);
  mpq_abs(q, q);
  size = (long)mpz_sizeinbase(mpq_numref(q), 2) - (long)mpz_sizeinbase(mpq_denref(q), 2) - digits;
  for (;; size++) { /* q / 2^size is below 2^(digits + 1); until it is below 2^digits */
    mpz_set(&n, mpq_numref(q));
    mpz_set(&rest, mpq_denref(q));
    mpz_mul_2exp(size < 0 ? &n : &rest, size < 0 ? &n : &rest, (mp_bitcnt_t)(size < 0 ? -size : size));
    mpz_mul_2exp(&rest, &rest, (mp_bitcnt_t)digits);
    if (mpz_cmp(&n, &rest) < 0)
      break;
  }
  mpz_fdiv_q_2exp(&rest, &rest, (mp_bitcnt_t)digits); /* n / rest = q / 2^size, from 2^(digits - 1) on */
  mpz_mul_2exp(&n, &n, 1);
  INTEGER(twice);
  mpz_fdiv_qr(&twice, &n, &n, &rest); /* twice that, and what is left */
  bool half = mpz_odd_p(&twice), more = mpz_sgn(&n) != 0;
  mpz_fdiv_q_2exp(&twice, &twice, 1);
  if (half && (more || mpz_odd_p(&twice)))
    mpz_add_ui(&twice, &twice, 1);
  if ((long)mpz_sizeinbase(&twice, 2) < digits || size < least + 1 - digits
      || size + (long)mpz_sizeinbase(&twice, 2) > most)
    return false;
  mpq_set_z(q, &twice);
  if (size < 0)
    mpq_div_2exp(q, q, (mp_bitcnt_t)-size);
  else
    mpq_mul_2exp(q, q, (mp_bitcnt_t)size);
  if (sign < 0)
    mpq_neg(q, q);
  return true;
}
