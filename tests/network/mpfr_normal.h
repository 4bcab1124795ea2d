/* The normal distribution by MPFR, beside which functions by their series are tested. */
#ifndef CLARKE_TESTS_NETWORK_MPFR_NORMAL_H
#define CLARKE_TESTS_NETWORK_MPFR_NORMAL_H

#include <mpfr.h>

/* (1 + erf(x / sqrt(2))) / 2 as erfc(-x / sqrt(2)) / 2, to the digits that y has. */
static inline void
mpfr_normal(mpfr_t y, mpfr_srcptr x)
{
  mpfr_t root;

  mpfr_init2(root, mpfr_get_prec(y));
  mpfr_sqrt_ui(root, 2, MPFR_RNDN);
  mpfr_div(y, x, root, MPFR_RNDN);
  mpfr_neg(y, y, MPFR_RNDN);
  mpfr_erfc(y, y, MPFR_RNDN);
  mpfr_div_2ui(y, y, 1, MPFR_RNDN);
  mpfr_clear(root);
}

#endif
