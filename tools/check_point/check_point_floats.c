#include "check_point_floats.h"

#include "program/rounded.h"
#include "session/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const names[] = {[CLARKE_IEEE_F32] = "float32", [CLARKE_IEEE_F64] = "float64"};

void
clarke_float_margins_init(clarke_float_margins of[CLARKE_FORMATS])
{
  for (size_t f = 0; f < CLARKE_FORMATS; f++) {
    of[f].holds = of[f].fails = of[f].nan = 0;
    mpq_inits(of[f].least, of[f].most, NULL);
  }
}

void
clarke_float_margins_clear(clarke_float_margins of[CLARKE_FORMATS])
{
  for (size_t f = 0; f < CLARKE_FORMATS; f++)
    mpq_clears(of[f].least, of[f].most, NULL);
}

/* --- orders ---------------------------------------------------------------------------------------- */

/* A generator of numbers (Knuth's MMIX), the same each time. */
static size_t
draw(uint64_t *state, size_t below)
{
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (size_t)((*state >> 33) % below);
}

static void
exchange(clarke_instruction *i, size_t a, size_t b)
{
  const size_t in = i->in[a];

  i->in[a] = i->in[b];
  i->in[b] = in;
  mpq_swap(i->coef[a], i->coef[b]);
}

/* The terms of each sum in another order: number 1 is the first turned round, others are drawn. */
static void
reorder(clarke_code *p, size_t order, uint64_t *state)
{
  for (size_t k = 0; k < p->n; k++) {
    clarke_instruction *i = &p->instruction[k];

    if (i->kind != CLARKE_DO_LINEAR)
      continue;
    for (size_t a = 0; order == 1 && a < i->n_in / 2; a++)
      exchange(i, a, i->n_in - 1 - a);
    for (size_t a = i->n_in; order > 1 && a > 1; a--)
      exchange(i, a - 1, draw(state, a));
  }
}

/* --- margins --------------------------------------------------------------------------------------- */

/* value: the point's entries, and room for the outputs'. */
static void
count(clarke_float_margins *f, clarke_number *value, const clarke_query *q, const clarke_rounded *r)
{
  clarke_number margin;
  mpq_t output;

  for (size_t k = 0; k < r->n_values; k++)
    if (!isfinite(r->value[k])) {
      f->nan++;
      return;
    }
  clarke_number_init(&margin);
  mpq_init(output);
  for (size_t k = 0; k < r->n_values; k++) {
    mpq_set_d(output, r->value[k]);
    clarke_number_set_q(&value[q->n_inputs + k], output);
  }
  clarke_property_margin(&margin, &q->asserted, value, CLARKE_PRECISION_FIRST); /* exactly: all are rational */
  if (f->holds + f->fails == 0 || mpq_cmp(margin.q, f->least) < 0)
    mpq_set(f->least, margin.q);
  if (f->holds + f->fails == 0 || mpq_cmp(margin.q, f->most) > 0)
    mpq_set(f->most, margin.q);
  f->holds += mpq_sgn(margin.q) >= 0;
  f->fails += mpq_sgn(margin.q) < 0;
  mpq_clear(output);
  clarke_number_clear(&margin);
}

static clarke_status
try_order(clarke_float_margins *f, clarke_ieee format, const clarke_code *p, mpq_t *at, const clarke_query *q, clarke_number *value, clarke_error *err)
{
  clarke_rounded r;
  clarke_status status;

  clarke_rounded_init(&r);
  status = clarke_rounded_values(&r, p, at, format, err);
  if (status == CLARKE_OK)
    count(f, value, q, &r);
  clarke_rounded_clear(&r);
  return status;
}

clarke_status
clarke_float_margins_find(clarke_float_margins of[CLARKE_FORMATS], clarke_code *p, mpq_t *at, const clarke_query *q, size_t orders,
                          clarke_error *err)
{
  const size_t n = q->n_inputs + q->n_outputs;
  clarke_number *value = clarke_numbers(n);
  clarke_status status = value != NULL ? CLARKE_OK : clarke_no_memory(err);
  uint64_t state = 1;

  for (size_t i = 0; status == CLARKE_OK && i < q->n_inputs; i++)
    clarke_number_set_q(&value[i], at[i]);
  for (size_t order = 0; status == CLARKE_OK && order < orders; order++) {
    if (order > 0)
      reorder(p, order, &state);
    for (clarke_ieee f = CLARKE_IEEE_F32; status == CLARKE_OK && f <= CLARKE_IEEE_F64; f++)
      status = try_order(&of[f], f, p, at, q, value, err);
  }
  clarke_numbers_free(value, value != NULL ? n : 0);
  return status;
}

/* --- what is told ---------------------------------------------------------------------------------- */

void
clarke_float_margins_print(const clarke_float_margins of[CLARKE_FORMATS])
{
  for (clarke_ieee f = CLARKE_IEEE_F32; f <= CLARKE_IEEE_F64; f++) {
    const clarke_float_margins *one = &of[f];

    printf("%s: holds in %zu of %zu orders of summation", names[f], one->holds, one->holds + one->fails + one->nan);
    if (one->nan > 0)
      printf(", in %zu an output is no number", one->nan);
    if (one->holds + one->fails > 0)
      printf("; margins from %.6g to %.6g", mpq_get_d(one->least), mpq_get_d(one->most));
    putchar('\n');
  }
}

static json_t *
rational_json(const mpq_t q)
{
  char *text = mpq_get_str(NULL, 10, q);
  json_t *j = text != NULL ? json_string(text) : NULL;

  free(text);
  return j;
}

json_t *
clarke_float_margins_json(const clarke_float_margins of[CLARKE_FORMATS])
{
  json_t *list = json_array();

  for (clarke_ieee f = CLARKE_IEEE_F32; f <= CLARKE_IEEE_F64; f++) {
    const clarke_float_margins *one = &of[f];
    json_t *j = json_pack("{s:s, s:I, s:I, s:I}", "format", names[f], "holds", (json_int_t)one->holds, "fails", (json_int_t)one->fails, "no_number",
                          (json_int_t)one->nan);

    if (one->holds + one->fails > 0) {
      clarke_json_set(&j, "least", rational_json(one->least));
      clarke_json_set(&j, "most", rational_json(one->most));
    }
    clarke_json_append(&list, j);
  }
  return list;
}
