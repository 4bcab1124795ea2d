/* Rationals as short decimals that are never above them. */
#ifndef CLARKE_EXACT_DECIMAL_H
#define CLARKE_EXACT_DECIMAL_H

#include <gmp.h>
#include <stdbool.h>

/* Room for the text, its end included. */
#define CLARKE_DECIMAL_ROOM 48

/* q >= 0 rounded down to six significant digits, as %g writes them: 0.015625, 1.03125e-07. true: nothing was lost. */
bool clarke_decimal_down(char *text, const mpq_t q);

#endif
