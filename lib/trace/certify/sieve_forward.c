/* Recorded outputs, in doubles (sieve.h). */
#include "trace/certify/sieve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As rounding_forward.c has it. */
#define SPARE 2

static const clarke_sieved *
known(clarke_sieve *s, size_t value)
{
  const clarke_sieved *v = &s->value[value];

  s->open = s->open || v->exact == NULL;
  return v;
}

/* --- sums --- */

/* The one operand that is no constant, when the sum is of it and a constant; else NULL. */
static const clarke_operand *
shifted(const clarke_sieve *s, const clarke_step *step, const clarke_operand **constant)
{
  for (size_t k = 0; k < 2 && step->n_in == 2; k++)
    if (!s->g->values[step->in[k].value].constant && s->g->values[step->in[1 - k].value].constant && step->in[k].map == NULL
        && step->in[k].coef == 1) {
      *constant = &step->in[1 - k];
      return &step->in[k];
    }
  return NULL;
}

/* A product's numbers become the sum's: nothing else reads them, for they have no name. */
static bool
take(clarke_sieve *s, clarke_sieved *y, clarke_sieved *x, size_t rows, size_t cols)
{
  if (x->near != NULL) {
    *y = *x;
    memset(x, 0, sizeof *x);
  } else {
    y->exact = x->exact;
    y->parts = 1;
    y->terms = 1;
  }
  y->shift = calloc(rows + 1, sizeof *y->shift);
  return y->shift != NULL && clarke_sieved_begin(s, y, rows, cols, true);
}

static clarke_status
shift(clarke_sieve *s, const clarke_step *step, const clarke_operand *x, const clarke_operand *c, clarke_error *err)
{
  const size_t rows = s->g->values[step->out].count;
  clarke_sieved *y = &s->value[step->out];

  s->open = s->open || (s->value[x->value].near == NULL && s->value[x->value].exact == NULL) || s->value[x->value].shift != NULL
            || (s->value[x->value].near != NULL && s->g->values[x->value].name != NULL);
  if (s->open)
    return CLARKE_OK;
  if (!take(s, y, &s->value[x->value], rows, s->n))
    return clarke_no_memory(err);
  for (size_t f = 0; f < rows; f++) {
    const size_t from = clarke_operand_entry(c, f);

    y->shift[f] = from != CLARKE_NONE ? c->coef * s->g->values[c->value].real[from] : 0;
    y->top[f] = clarke_sieve_up(y->top[f] + fabs(y->shift[f]));
    y->slack[f] += clarke_sieve_slack(1, y->top[f]);
  }
  s->open = s->open || fabs(c->coef) != 1;
  y->terms += 1;
  return CLARKE_OK;
}

/* Has each entry of the sum an entry of the constant? Else some are only moved. */
static bool
constant_is_whole(const clarke_operand *c, size_t rows)
{
  bool whole = true;

  for (size_t f = 0; f < rows; f++)
    whole = whole && clarke_operand_entry(c, f) != CLARKE_NONE;
  return whole;
}

/* A product and a constant are a row's sums; all others are added up entry by entry. */
static clarke_status
sum(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  const clarke_operand *constant, *x = shifted(s, step, &constant);
  const bool product = x != NULL && s->value[x->value].dense != NULL;

  if (product && constant_is_whole(constant, s->g->values[step->out].count))
    return shift(s, step, x, constant, err);
  return clarke_sieve_add_entries(s, step, err);
}

/* --- what is exact --- */

static bool
is_double(mpq_srcptr q)
{
  mpq_t back;
  bool is;

  mpq_init(back);
  mpq_set_d(back, mpq_get_d(q));
  is = mpq_equal(back, q) != 0;
  mpq_clear(back);
  return is;
}

bool
clarke_sieve_selects(double *kink, double *number, bool *itself, const clarke_pieces *p)
{
  bool selects = p->slope == CLARKE_NONE;

  for (size_t i = 0; i < p->n_kinks; i++) {
    kink[i] = mpq_get_d(p->kink[i]);
    selects = selects && is_double(p->kink[i]);
  }
  for (size_t i = 0; i <= p->n_kinks; i++) {
    itself[i] = mpq_cmp_si(p->coef[i][1], 1, 1) == 0 && mpq_sgn(p->coef[i][0]) == 0;
    number[i] = mpq_get_d(p->coef[i][0]);
    selects = selects && mpq_sgn(p->coef[i][2]) == 0 && (itself[i] || (mpq_sgn(p->coef[i][1]) == 0 && is_double(p->coef[i][0])));
  }
  return selects;
}

CLARKE_WIDE static void
find_winners(float *restrict top, uint32_t *restrict winner, const clarke_step *step, const float *restrict x, size_t n, size_t f)
{
  const size_t *map = step->in[0].map;

  for (size_t j = 0; j < n; j++) {
    top[j] = -INFINITY;
    winner[j] = CLARKE_NO_WINNER;
  }
  for (size_t i = 0; i < step->width; i++) {
    const size_t from = map != NULL ? map[f * step->width + i] : f * step->width + i;

    if (from == CLARKE_NONE)
      continue;
    for (size_t j = 0; j < n; j++) {
      const float next = x[from * n + j];
      const bool wins = next > top[j];

      top[j] = wins ? next : top[j];
      winner[j] = wins ? (uint32_t)from : winner[j];
    }
  }
}

void
clarke_sieve_winners(float *top, uint32_t *winner, const clarke_step *step, const float *x, size_t n, size_t f)
{
  find_winners(top, winner, step, x, n, f);
}

/* A step that copies or compares. Its pieces, where it has any; room for a row; winners, of MAX. */
typedef struct {
  const clarke_step *step;
  const float *x;
  size_t n;
  double kink[CLARKE_MAX_KINKS], number[CLARKE_MAX_KINKS + 1];
  bool itself[CLARKE_MAX_KINKS + 1];
  float *row;
  uint32_t *winner;
} exact_step;

CLARKE_WIDE static void
select_row(float *restrict y, const exact_step *e, const float *restrict x)
{
  const size_t kinks = e->step->pieces.n_kinks, n = e->n;

  for (size_t j = 0; j < n; j++)
    y[j] = e->itself[0] ? x[j] : (float)e->number[0];
  for (size_t k = 0; k < kinks; k++) {
    const double kink = e->kink[k];
    const float number = (float)e->number[k + 1];
    const bool itself = e->itself[k + 1];

    for (size_t j = 0; j < n; j++) {
      const float next = itself ? x[j] : number;

      y[j] = (double)x[j] > kink ? next : y[j];
    }
  }
}

/* Are the numbers of the pieces float32s? Else a record is none of them. */
static bool
are_floats(const exact_step *e)
{
  bool all = true;

  for (size_t k = 0; e->step->kind == CLARKE_PIECEWISE && k <= e->step->pieces.n_kinks; k++)
    all = all && (e->itself[k] || (double)(float)e->number[k] == e->number[k]);
  return all;
}

/* Row f of the output. */
static void
make_row(float *y, const exact_step *e, size_t f)
{
  const size_t from = e->step->kind == CLARKE_GATHER ? clarke_operand_entry(&e->step->in[0], f) : f;

  if (e->step->kind == CLARKE_MAX)
    clarke_sieve_winners(y, e->winner + f * e->n, e->step, e->x, e->n, f);
  else if (e->step->kind == CLARKE_PIECEWISE)
    select_row(y, e, e->x + f * e->n);
  else if (from != CLARKE_NONE)
    memcpy(y, e->x + from * e->n, e->n * sizeof *y);
  else
    memset(y, 0, e->n * sizeof *y);
}

/* Does the step take all over as it lies? */
static bool
renames(const exact_step *e)
{
  return e->step->kind == CLARKE_GATHER && e->step->in[0].map == NULL;
}

/* The record of the step's output, which must be what the step makes: it is turned, unless its operand's is the same. */
static clarke_status
compare_exact(clarke_sieve *s, clarke_sieved *y, const exact_step *e, clarke_tensor *t, clarke_error *err)
{
  const size_t count = s->g->values[e->step->out].count;

  if (renames(e) && clarke_sieve_is_same(s->value[e->step->in[0].value].record, t)) {
    *y = (clarke_sieved){.exact = e->x, .record = t, .parts = 1}; /* which its owner keeps: the step reads it */
    return CLARKE_OK;
  }
  y->exact = clarke_sieve_turned(s, t, count, s->n, err);
  y->record = t;
  if (y->exact == NULL)
    return s->open ? CLARKE_OK : CLARKE_ENOMEM;
  if (renames(e))
    s->open = !clarke_sieve_is_equal(e->x, y->exact, count * s->n);
  else
    for (size_t f = 0; f < count && !s->open; f++) {
      make_row(e->row, e, f);
      s->open = !clarke_sieve_is_equal(e->row, y->exact + f * s->n, s->n);
    }
  return CLARKE_OK;
}

/* The step's output: where it has a name, the record of it; else numbers of its own. */
static clarke_status
make_exact(clarke_sieve *s, const exact_step *e, clarke_error *err)
{
  const clarke_value *v = &s->g->values[e->step->out];
  clarke_sieved *y = &s->value[e->step->out];
  clarke_certificate *made;
  clarke_status status;

  *y = (clarke_sieved){.owned = true, .parts = 1};
  if (v->name == NULL || !clarke_certify_has(s->c, "output", v->name)) {
    float *own = clarke_sieve_take_floats(s, v->count * s->n);

    for (size_t f = 0; own != NULL && f < v->count; f++)
      make_row(own + f * s->n, e, f);
    y->exact = own;
    return own != NULL ? CLARKE_OK : clarke_no_memory(err);
  }
  status = compare_exact(s, y, e, clarke_certify_find(s->c, "output", v->name), err);
  if (status != CLARKE_OK || y->exact == NULL)
    return status;
  made = clarke_certify_add(s->c, CLARKE_OUTPUT, v->name, e->step->op->name, err);
  if (made == NULL)
    return CLARKE_ENOMEM;
  made->entries = made->exact = v->count * s->n;
  made->at_most = true;
  return CLARKE_OK;
}

/* Do entries of some window tie, among which AD divides? Here it goes to the first. */
static bool
divides(const clarke_sieve *s, const exact_step *e)
{
  const bool shares = clarke_profile_shares(s->c->profile, e->step->op);
  const size_t *map = e->step->in[0].map, width = e->step->width, windows = s->g->values[e->step->out].count;
  bool any = false;

  for (size_t k = 0; k < windows * width && shares && !any; k++) {
    const size_t from = map != NULL ? map[k] : k;
    const uint32_t *winner = e->winner + k / width * e->n;

    for (size_t j = 0; j < e->n && from != CLARKE_NONE; j++)
      any |= winner[j] != from && winner[j] != CLARKE_NO_WINNER && e->x[from * e->n + j] == e->x[winner[j] * e->n + j];
  }
  return any;
}

static clarke_status
copy_or_compare(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  const clarke_operand *o = &step->in[0];
  exact_step e = {.step = step, .x = known(s, o->value)->exact, .n = s->n};
  const bool chooses = step->kind == CLARKE_MAX;
  clarke_status status;

  s->open = s->open || o->coef != 1 || (chooses && s->g->values[o->value].count >= CLARKE_NO_WINNER)
            || (step->kind == CLARKE_PIECEWISE && !clarke_sieve_selects(e.kink, e.number, e.itself, &step->pieces))
            || !are_floats(&e);
  if (s->open || (step->kind == CLARKE_GATHER && s->g->values[step->out].name == NULL && o->map != NULL))
    return CLARKE_OK; /* a product lays it out itself */
  if (chooses)
    e.winner = s->winner[step - s->g->steps] = clarke_sieve_take(s, s->g->values[step->out].count * s->n * sizeof *e.winner);
  e.row = malloc(s->n * sizeof *e.row);
  status = e.row != NULL && (e.winner != NULL || !chooses) ? make_exact(s, &e, err) : clarke_no_memory(err);
  s->open = s->open || (status == CLARKE_OK && chooses && divides(s, &e));
  free(e.row);
  return status == CLARKE_OK && !s->open ? clarke_sieve_place(s, step, e.x, err) : status;
}

static clarke_status
run_step(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  switch (step->kind) {
  case CLARKE_GATHER:
  case CLARKE_PIECEWISE:
  case CLARKE_MAX:
    return copy_or_compare(s, step, err);
  case CLARKE_SUM:
    return sum(s, step, err);
  case CLARKE_DENSE:
    return clarke_sieve_dense(s, step, err);
  case CLARKE_SCALE:
    return clarke_sieve_scale(s, step, err);
  case CLARKE_ANALYTIC:
    return clarke_sieve_analytic(s, step, err);
  case CLARKE_SOFTMAX:
    return clarke_sieve_softmax(s, step, err);
  case CLARKE_NORMALIZE:
    return clarke_sieve_normalize(s, step, err);
  case CLARKE_PRODUCT:
    return clarke_sieve_contract(s, step, err);
  }
  return CLARKE_OK;
}

/* Nothing was recorded of a named output: it goes on to records behind it, unless entries are only moved (certify_forward.c). */
static clarke_status
follow(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  const clarke_value *v = &s->g->values[step->out];
  clarke_certificate *made;
  bool meets = false;

  if (clarke_certify_is_passed_on(s->c, step->out) || clarke_certify_is_loss(s->c, (size_t)(step - s->g->steps)))
    return CLARKE_OK;
  made = clarke_certify_add(s->c, CLARKE_OUTPUT, v->name, step->op->name, err);
  if (made == NULL || (s->value[step->out].enclosed && clarke_certify_meets_place(&meets, s->c, step->out, true, err) != CLARKE_OK))
    return CLARKE_ENOMEM;
  s->open = s->open || meets;
  return clarke_certify_follow(s->c, made, step->out, NULL, v->count * s->n, err);
}

/* A named output is judged, and the record takes its place; so it is already where it was made exactly. */
static clarke_status
judge(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  const clarke_value *v = &s->g->values[step->out];
  clarke_sieved *y = &s->value[step->out];
  clarke_tensor *t;
  const float *recorded;
  clarke_certificate *made;
  clarke_status status;

  if (v->name != NULL && !clarke_certify_has(s->c, "output", v->name))
    return follow(s, step, err);
  if (v->name == NULL || y->near == NULL)
    return CLARKE_OK;
  t = clarke_certify_find(s->c, "output", v->name);
  recorded = clarke_sieve_turned(s, t, v->count, s->n, err);
  if (recorded == NULL)
    return s->open ? CLARKE_OK : CLARKE_ENOMEM;
  made = clarke_certify_add(s->c, CLARKE_OUTPUT, v->name, step->op->name, err);
  if (made == NULL)
    return CLARKE_ENOMEM;
  status = clarke_sieve_judge(s, made, y, v->count, s->n, recorded, y->terms + SPARE, CLARKE_TERMS_OF_OUTPUT, err);
  clarke_sieved_clear(s, y);
  *y = (clarke_sieved){.exact = recorded, .record = t, .owned = true, .parts = 1};
  return status;
}

/* What the step alone read, and was recorded, is turned again when it is asked for (clarke_sieve_known): of a kink that is on its way
 * back, of a window never. A page that is touched for the first time costs more than that. */
static void
drop_operand(clarke_sieve *s, const clarke_step *step)
{
  const size_t x = step->in[0].value;
  clarke_sieved *v = &s->value[x];

  if ((step->kind != CLARKE_PIECEWISE && step->kind != CLARKE_MAX) || s->reads[x] != 1 || x == s->g->output
      || s->g->values[x].name == NULL || v->exact == NULL)
    return;
  clarke_sieved_clear(s, v);
}

const float *
clarke_sieve_known(clarke_sieve *s, size_t value, clarke_error *err)
{
  const clarke_value *v = &s->g->values[value];
  clarke_sieved *x = &s->value[value];

  if (x->exact == NULL && v->name != NULL)
    *x = (clarke_sieved){.exact = clarke_sieve_turned(s, clarke_certify_find(s->c, "output", v->name), v->count, s->n, err),
                         .owned = true, .parts = 1};
  return x->exact;
}

/* A matrix as float32s; numbers that are none, integers perhaps, leave all open. */
static float *
numbers_of(clarke_sieve *s, const clarke_matrix *m)
{
  float *number = clarke_sieve_take_floats(s, m->rows * m->cols);

  for (size_t e = 0; number != NULL && e < m->rows * m->cols; e++) {
    const double is = clarke_matrix_get_double(m, e / m->cols, e % m->cols);

    number[e] = (float)is;
    s->open = s->open || (double)number[e] != is;
  }
  return number;
}

clarke_status
clarke_sieve_forward(clarke_sieve *s, clarke_error *err)
{
  clarke_sieved *x = &s->value[s->g->input];
  clarke_status status = CLARKE_OK;

  x->exact = numbers_of(s, &s->c->pass.value[s->g->input]);
  x->owned = true;
  x->parts = 1;
  if (x->exact == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < s->g->n_steps && status == CLARKE_OK && !s->open; i++) {
    if (clarke_sieve_is_affine(s, i)) {
      status = clarke_sieve_affine(s, i, err);
      i += 2;
      continue;
    }
    status = run_step(s, &s->g->steps[i], err);
    if (status == CLARKE_OK && !s->open)
      status = judge(s, &s->g->steps[i], err);
    if (status == CLARKE_OK && !s->open)
      drop_operand(s, &s->g->steps[i]);
  }
  return status == CLARKE_OK ? clarke_sieve_loss(s, err) : status;
}
