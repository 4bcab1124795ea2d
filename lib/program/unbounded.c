#include "program/unbounded.h"
#include "base/stop.h"

#include <stdlib.h>
#include <string.h>

const char *
clarke_magnitude_name(clarke_magnitude m)
{
  static const char *const name[] = {"finite", "inf", "-inf", "nan"};

  return name[m];
}

bool
clarke_is_unbounded(const clarke_execution *e, size_t at, const clarke_profile *profile)
{
  const clarke_instruction *i = &e->p->instruction[at];

  if (i->kind == CLARKE_DO_NORM)
    return profile != NULL && profile->norm_nan && clarke_touched_find(e, at) != NULL;
  return i->kind == CLARKE_DO_ANALYTIC && i->function == CLARKE_FN_SQRT && clarke_number_sign(&e->value[i->in[0]]) == 0;
}

typedef struct {
  clarke_magnitude *of; /* by instruction */
  clarke_number *number;
  clarke_number *d;     /* partial derivatives of the one at hand */
} adjoints;

static clarke_magnitude
turned(clarke_magnitude m, int sign)
{
  if (m == CLARKE_NAN || sign == 0 || sign == 2)
    return CLARKE_NAN;
  return sign > 0 ? m : m == CLARKE_INFINITY ? CLARKE_MINUS_INFINITY : CLARKE_INFINITY;
}

/* The magnitude of a sum one of whose terms is not finite. */
static clarke_magnitude
sum_of(clarke_magnitude a, clarke_magnitude b)
{
  return a == CLARKE_FINITE ? b : b == CLARKE_FINITE || a == b ? a : CLARKE_NAN;
}

/* Does AD mask what it gives nothing, rather than multiply by 0: flat pieces of activations, entries of a sort, arms? Where a piece
 * is bent, as HardSwish's is, its slope is computed. */
static bool
masks(const clarke_execution *e, size_t at)
{
  static const char *const multiply[] = {"Abs", "LeakyRelu", "Elu", "Max", "Min"};
  const clarke_instruction *i = &e->p->instruction[at];
  bool bent = i->kind == CLARKE_DO_PIECEWISE && clarke_touched_find(e, at) == NULL
              && mpq_sgn(i->pieces->coef[e->piece[at]][2]) != 0;
  bool found = bent || (i->kind != CLARKE_DO_BRANCH && i->op == NULL);

  for (size_t k = 0; k < 5 && i->op != NULL; k++)
    found = found || strcmp(i->op->name, multiply[k]) == 0;
  return !found;
}

/* The adjoint of the instruction at hand goes on to its arguments; own: the magnitude of its own derivatives. */
static void
go_on(adjoints *a, const clarke_execution *e, size_t at, clarke_magnitude own)
{
  const clarke_instruction *i = &e->p->instruction[at];

  for (size_t k = 0; k < i->n_in; k++) {
    size_t to = i->in[k];
    int sign = own == CLARKE_FINITE ? clarke_number_sign(&a->d[k]) : clarke_number_sign(&a->number[at]);

    if (own == CLARKE_FINITE && a->of[at] == CLARKE_FINITE)
      clarke_number_addmul(&a->number[to], &a->number[at], &a->d[k], e->precision);
    else if (own != CLARKE_FINITE && a->of[at] != CLARKE_FINITE)
      a->of[to] = sum_of(a->of[to], own == CLARKE_NAN ? own : a->of[at]);
    else if (own != CLARKE_FINITE)
      a->of[to] = sum_of(a->of[to], turned(own, sign));
    else if (sign != 0 || !masks(e, at))
      a->of[to] = sum_of(a->of[to], turned(a->of[at], sign));
  }
}

static clarke_status
reverse(clarke_magnitude *row_of, clarke_number *row, size_t *first, adjoints *a, const clarke_execution *e,
        size_t output, const clarke_profile *profile, clarke_error *err)
{
  const clarke_code *p = e->p;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < p->n; i++) {
    clarke_number_set_si(&a->number[i], i == output);
    a->of[i] = CLARKE_FINITE;
  }
  for (size_t n = e->n_order; n-- > 0 && status == CLARKE_OK;) {
    size_t at = e->order[n], entry;
    const clarke_instruction *i = &p->instruction[at];
    bool unbounded = clarke_is_unbounded(e, at, profile);

    if (a->of[at] == CLARKE_FINITE && clarke_number_sign(&a->number[at]) == 0)
      continue;
    if (i->kind == CLARKE_DO_INPUT) {
      entry = clarke_code_wrt_entry(p, at);
      if (entry != CLARKE_NONE) {
        clarke_number_set(&row[entry], &a->number[at]);
        row_of[entry] = a->of[at];
      }
      continue;
    }
    status = clarke_work_check(err);
    if (status == CLARKE_OK && !unbounded)
      status = clarke_partials(a->d, e, at, profile, err);
    if (unbounded && *first == CLARKE_NONE)
      *first = at;
    if (status == CLARKE_OK)
      go_on(a, e, at, !unbounded ? CLARKE_FINITE : i->kind == CLARKE_DO_NORM ? CLARKE_NAN : CLARKE_INFINITY);
  }
  return status;
}

clarke_status
clarke_execution_unbounded(clarke_magnitude *magnitude, clarke_number *gradient, size_t *at,
                           const clarke_execution *e, const clarke_profile *profile, clarke_error *err)
{
  const clarke_code *p = e->p;
  size_t n = clarke_code_wrt_count(p), wide = 1;
  adjoints a = {.of = calloc(p->n + 1, sizeof *a.of), .number = clarke_numbers(p->n)};
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < p->n; i++)
    wide = p->instruction[i].n_in > wide ? p->instruction[i].n_in : wide;
  a.d = clarke_numbers(wide);
  *at = CLARKE_NONE;
  if (a.of == NULL || a.number == NULL || a.d == NULL)
    status = clarke_no_memory(err);
  for (size_t k = 0; k < p->n_outputs * n && status == CLARKE_OK; k++) {
    clarke_number_set_si(&gradient[k], 0);
    magnitude[k] = CLARKE_FINITE;
  }
  for (size_t o = 0; o < p->n_outputs && status == CLARKE_OK; o++)
    status = reverse(magnitude + o * n, gradient + o * n, at, &a, e, p->output[o], profile, err);
  free(a.of);
  clarke_numbers_free(a.number, p->n);
  clarke_numbers_free(a.d, wide);
  return status;
}
