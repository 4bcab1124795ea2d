/* Directions and assignments (decode.h). */
#include "sat/decode.h"

#include <stdlib.h>

static void
literal_value(mpq_t value, int32_t literal, mpq_t *d)
{
  mpq_set(value, d[labs((long)literal) - 1]);
  if (literal < 0)
    mpq_neg(value, value);
}

void
clarke_three_value(mpq_t value, const clarke_three *t, mpq_t *d)
{
  mpq_t largest, literal;

  mpq_inits(largest, literal, NULL);
  for (size_t c = 0; c < t->n_clauses; c++) {
    mpq_set_ui(largest, 0, 1);
    for (size_t i = 0; i < 3; i++) {
      literal_value(literal, t->clause[c][i], d);
      if (mpq_cmp(literal, largest) > 0)
        mpq_set(largest, literal);
    }
    if (c == 0 || mpq_cmp(largest, value) < 0)
      mpq_set(value, largest);
  }
  mpq_clears(largest, literal, NULL);
}

void
clarke_direction_assignment(bool *value, const clarke_three *t, mpq_t *d)
{
  for (size_t v = 0; v < t->n_variables; v++)
    value[v] = mpq_sgn(d[v]) > 0;
}
