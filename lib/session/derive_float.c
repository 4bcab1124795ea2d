/* The program replayed in floating point, beside the exact answer. */
#include "session/derive.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The shortest digits that read back as x: in float64, or as a float32, which every number of the
 * shorter formats is. */
static void
shortest(char text[40], double x, clarke_ieee format)
{
  bool wide = format == CLARKE_IEEE_F64;

  if (isnan(x)) {
    strcpy(text, "nan");
    return;
  }
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(text, 40, "%.*g", digits, x);
    if (isinf(x) || (wide ? strtod(text, NULL) == x : strtof(text, NULL) == (float)x))
      return;
  }
}

static clarke_status
add_doubles(clarke_vectors *v, const double *x, size_t n, clarke_ieee format, clarke_error *err)
{
  char text[40];

  v->text = calloc(n + 1, sizeof *v->text);
  if (v->text == NULL)
    return clarke_no_memory(err);
  v->known = true;
  v->n = 1;
  v->dim = n;
  for (size_t i = 0; i < n; i++) {
    shortest(text, x[i], format);
    if ((v->text[i] = strdup(text)) == NULL)
      return clarke_no_memory(err);
  }
  return CLARKE_OK;
}

/* Equal as real numbers, entry by entry. */
static clarke_truth
compare(const clarke_rounded *r, const clarke_derivation *d)
{
  clarke_truth answer = CLARKE_YES;
  mpq_t x;

  if (!d->ad_exact || d->execution.open || r->n_gradient != d->dim)
    return CLARKE_UNKNOWN;
  mpq_init(x);
  for (size_t i = 0; i < d->dim && answer == CLARKE_YES; i++) {
    if (!isfinite(r->gradient[i])) {
      answer = CLARKE_NO;
      break;
    }
    mpq_set_d(x, r->gradient[i]);
    answer = mpq_equal(x, d->ad[i].q) ? CLARKE_YES : CLARKE_NO;
  }
  mpq_clear(x);
  return answer;
}

clarke_status
clarke_derive_floats(clarke_derive_text *t, const clarke_derive_session *s,
                     const clarke_derivation *d, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (clarke_ieee f = CLARKE_IEEE_F16; f <= CLARKE_IEEE_F64 && status == CLARKE_OK; f++) {
    clarke_rounded r;

    if (!s->format[f])
      continue;
    clarke_rounded_init(&r);
    status = clarke_rounded_run(&r, &s->program, s->at, f, &s->profile, err);
    if (status == CLARKE_OK)
      status = add_doubles(&t->rounded[f].value, r.value, r.n_values, f, err);
    if (status == CLARKE_OK)
      status = add_doubles(&t->rounded[f].ad, r.gradient, r.n_gradient, f, err);
    t->rounded[f].asked = true;
    t->rounded[f].agrees = compare(&r, d);
    clarke_rounded_clear(&r);
  }
  return status;
}
