#include "suite_posed.h"

#include "program/prog.h"
#include "exact/number.h"
#include "session/segment.h"

#include <string.h>

void
clarke_posed_init(clarke_posed *q)
{
  memset(q, 0, sizeof *q);
  clarke_code_init(&q->p);
  clarke_profile_init(&q->profile);
  clarke_derivation_init(&q->d);
}

void
clarke_posed_clear(clarke_posed *q)
{
  clarke_derivation_clear(&q->d);
  clarke_profile_clear(&q->profile);
  clarke_code_clear(&q->p);
  clarke_rationals_free(q->at, q->n);
  clarke_posed_init(q);
}

clarke_status
clarke_posed_take(clarke_posed *q, const char *profile, clarke_error *err)
{
  clarke_profile_clear(&q->profile);
  clarke_profile_init(&q->profile);
  return clarke_profile_parse(&q->profile, profile, strlen(profile), "suite", err);
}

clarke_status
clarke_posed_read(clarke_posed *q, clarke_text *text, const long *at, size_t n, clarke_error *err)
{
  clarke_status status = clarke_text_close(text, CLARKE_OK, err);

  if (status == CLARKE_OK)
    status = clarke_prog_parse(&q->p, text->text, text->size, "suite", err);
  clarke_text_clear(text);
  if (status == CLARKE_OK)
    status = clarke_code_wrt(&q->p, NULL, 0, err);
  if (status == CLARKE_OK)
    status = clarke_posed_take(q, "like pytorch-2.13\n", err);
  q->at = status == CLARKE_OK ? clarke_rationals(n) : NULL;
  if (q->at == NULL)
    return status == CLARKE_OK ? clarke_no_memory(err) : status;
  q->n = n;
  for (size_t i = 0; at != NULL && i < n; i++)
    mpq_set_si(q->at[i], at[i], 1);
  return CLARKE_OK;
}

static void
forget(clarke_posed *q)
{
  clarke_derivation_clear(&q->d);
  clarke_derivation_init(&q->d);
}

clarke_status
clarke_posed_run(clarke_posed *q, mpq_t *g, clarke_error *err)
{
  const size_t n = q->p.n_outputs * q->n;
  clarke_number *x = NULL;
  clarke_status status;

  forget(q);
  status = clarke_execute(&q->d.execution, &q->p, q->at, err);
  if (status != CLARKE_OK || g == NULL)
    return status;
  x = clarke_numbers(n);
  if (x == NULL)
    return clarke_no_memory(err);
  status = clarke_execution_ad(x, &q->d.execution, &q->profile, err);
  for (size_t i = 0; i < n && status == CLARKE_OK; i++)
    mpq_set(g[i], x[i].q);
  clarke_numbers_free(x, n);
  return status;
}

clarke_status
clarke_posed_derive(clarke_posed *q, clarke_error *err)
{
  forget(q);
  return clarke_derive(&q->d, &q->p, q->at, &q->profile, err);
}

void
clarke_draw_point(long *at, clarke_draws *d, size_t n)
{
  for (size_t i = 0; i < n; i++)
    at[i] = clarke_draw_between(d, -2, 2);
}

void
clarke_posed_leave_kinks(clarke_posed *q, clarke_draws *d)
{
  mpq_t x;

  mpq_init(x);
  for (size_t i = 0; i < q->n; i++) {
    mpq_set_si(x, clarke_draw_between(d, 1, 1000002), 1000003);
    mpq_add(q->at[i], q->at[i], x);
  }
  mpq_clear(x);
}

clarke_status
clarke_posed_difference(bool *equal, clarke_posed *q, size_t i, const mpq_t g, clarke_error *err)
{
  mpq_t step, before;
  clarke_status status = clarke_posed_run(q, NULL, err);

  mpq_init(step);
  mpq_init(before);
  mpq_set_ui(step, 1, 1);
  mpq_div_2exp(step, step, 60);
  if (status == CLARKE_OK)
    mpq_set(before, q->d.execution.value[q->p.output[0]].q);
  mpq_add(q->at[i], q->at[i], step);
  if (status == CLARKE_OK)
    status = clarke_posed_run(q, NULL, err);
  mpq_sub(q->at[i], q->at[i], step);
  if (status == CLARKE_OK) {
    mpq_mul(step, step, g);
    mpq_add(before, before, step);
    *equal = *equal && mpq_equal(before, q->d.execution.value[q->p.output[0]].q);
  }
  mpq_clear(step);
  mpq_clear(before);
  return status;
}

clarke_status
clarke_posed_follow(clarke_suite_counts *t, clarke_posed *q, mpq_t *to, clarke_error *err)
{
  clarke_region_function f;
  clarke_segment s = {0};
  clarke_status status;

  clarke_region_function_init(&f);
  clarke_code_clear(&f.program);
  f.program = q->p;
  f.n = f.n_given = q->n;
  status = clarke_segment_find(&s, &f, q->at, to, &q->profile, NULL, err);
  if (status == CLARKE_OK) {
    t->of[CLARKE_COUNT_DIFFER] += s.n > 1;
    clarke_suite_add(t, s.integral == NULL ? CLARKE_UNKNOWN : s.agree && mpq_equal(s.integral[0], s.difference[0]) ? CLARKE_YES : CLARKE_NO);
  }
  clarke_segment_clear(&s);
  q->p = f.program;
  clarke_code_init(&f.program);
  clarke_region_function_clear(&f);
  return status;
}
