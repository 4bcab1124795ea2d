#include "step/lbfgs.h"

#include "base/stop.h"
#include "step/piece.h"
#include "step/wolfe.h"

#include <stdlib.h>
#include <string.h>

#define BITS CLARKE_STEP_PRECISION

const char *
clarke_lbfgs_end_says(clarke_lbfgs_end end)
{
  static const char *const says[] = {"at rest", "slope", "max-iter", "max-eval", "tolerance-grad", "tolerance-change, of the move", "tolerance-change, of the loss"};

  return says[end];
}

/* --- the state -------------------------------------------------------------------------------------------------- */

clarke_status
clarke_lbfgs_init(clarke_lbfgs *l, size_t n, clarke_error *err)
{
  *l = (clarke_lbfgs){.n = n, .theta = clarke_numbers(n), .d = clarke_numbers(n), .previous = clarke_numbers(n)};
  clarke_number_init(&l->t);
  clarke_number_init(&l->scale);
  clarke_number_set_si(&l->scale, 1);
  return l->theta != NULL && l->d != NULL && l->previous != NULL ? CLARKE_OK : clarke_no_memory(err);
}

static void
pair_clear(clarke_lbfgs_pair *p, size_t n)
{
  if (p->y != NULL)
    clarke_numbers_free(p->y, n);
  if (p->s != NULL)
    clarke_numbers_free(p->s, n);
  clarke_number_clear(&p->ro);
}

void
clarke_lbfgs_clear(clarke_lbfgs *l)
{
  clarke_number *const all[] = {l->theta, l->d, l->previous};

  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i] != NULL)
      clarke_numbers_free(all[i], l->n);
  for (size_t i = 0; i < l->n_pairs; i++)
    pair_clear(&l->pair[i], l->n);
  free(l->pair);
  clarke_number_clear(&l->t);
  clarke_number_clear(&l->scale);
  memset(l, 0, sizeof *l);
}

clarke_lbfgs_pair *
clarke_lbfgs_append(clarke_lbfgs *l)
{
  clarke_lbfgs_pair *grown = realloc(l->pair, (l->n_pairs + 1) * sizeof *grown), *one;

  if (grown == NULL)
    return NULL;
  l->pair = grown;
  one = &grown[l->n_pairs];
  *one = (clarke_lbfgs_pair){.y = clarke_numbers(l->n), .s = clarke_numbers(l->n)};
  clarke_number_init(&one->ro);
  if (one->y == NULL || one->s == NULL) {
    pair_clear(one, l->n);
    return NULL;
  }
  l->n_pairs++;
  return one;
}

void
clarke_lbfgs_drop(clarke_lbfgs *l)
{
  pair_clear(&l->pair[0], l->n);
  l->n_pairs--;
  memmove(&l->pair[0], &l->pair[1], l->n_pairs * sizeof *l->pair);
}

/* --- numbers ------------------------------------------------------------------------------------------------------ */

void
clarke_lbfgs_dot(clarke_number *sum, const clarke_number *x, const clarke_number *y, size_t n, const clarke_hypers *h)
{
  clarke_number product, size;
  mpq_t q;

  mpq_init(q);
  clarke_number_init(&product);
  clarke_number_init(&size);
  clarke_number_set_si(sum, 0);
  for (size_t i = 0; i < n; i++) {
    clarke_number_mul(&product, &x[i], &y[i], BITS);
    clarke_number_add(sum, sum, &product, BITS);
    if (h->rounding.unit == 0)
      continue;
    clarke_number_largest(&product, &product, BITS);
    clarke_number_add(&size, &size, &product, BITS);
  }
  if (h->rounding.unit != 0) { /* n units of the sum of sizes, whatever the order (Jeannerod and Rump, 2013) */
    clarke_piece_parts(q, n + CLARKE_ROUNDINGS, h->rounding.unit);
    clarke_piece_widen(sum, q, &size);
    clarke_piece_off(sum, 0, 0, 2 * n, h->rounding.tiny);
  }
  clarke_piece_shorten(sum);
  clarke_number_clear(&product);
  clarke_number_clear(&size);
  mpq_clear(q);
}

/* y += a x, each entry in floats one product and one sum */
static void
add_multiple(clarke_number *y, const clarke_number *a, const clarke_number *x, size_t n, const clarke_hypers *h)
{
  clarke_number move, before;

  clarke_number_init(&move);
  clarke_number_init(&before);
  for (size_t i = 0; i < n; i++) {
    clarke_number_mul(&move, a, &x[i], BITS);
    clarke_number_set(&before, &y[i]);
    clarke_number_add(&y[i], &y[i], &move, BITS);
    clarke_piece_round(&y[i], h, NULL, &before, NULL, &move);
    clarke_piece_shorten(&y[i]);
  }
  clarke_number_clear(&move);
  clarke_number_clear(&before);
}

/* y = a x */
static void
multiply(clarke_number *y, const clarke_number *a, const clarke_number *x, size_t n, const clarke_hypers *h)
{
  for (size_t i = 0; i < n; i++) {
    clarke_number_mul(&y[i], a, &x[i], BITS);
    clarke_piece_round(&y[i], h, NULL, &y[i], NULL, NULL);
    clarke_piece_shorten(&y[i]);
  }
}

static void
set_all(clarke_number *y, const clarke_number *x, size_t n)
{
  for (size_t i = 0; i < n; i++)
    clarke_number_set(&y[i], &x[i]);
}

/* y = a - b */
static void
subtract(clarke_number *y, const clarke_number *a, const clarke_number *b, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    clarke_number_sub(&y[i], a != NULL ? &a[i] : &y[i], &b[i], BITS);
    clarke_piece_shorten(&y[i]);
  }
}

int
clarke_lbfgs_is_small(const clarke_number *x, size_t n, const mpq_t bound)
{
  clarke_number limit, minus;
  int is = 1;

  clarke_number_init(&limit);
  clarke_number_init(&minus);
  clarke_number_set_q(&limit, bound);
  clarke_number_sub(&minus, &minus, &limit, BITS);
  for (size_t i = 0; i < n && is != 0; i++) {
    const int above = clarke_number_compare(&x[i], &limit, BITS), below = clarke_number_compare(&minus, &x[i], BITS);

    if (above == 1 || below == 1)
      is = 0;
    else if (above == 2 || below == 2)
      is = 2;
  }
  clarke_number_clear(&limit);
  clarke_number_clear(&minus);
  return is;
}

void
clarke_lbfgs_least(mpq_t q)
{
  mpq_set_ui(q, 1, 10000000000UL);
}

/* --- the direction ------------------------------------------------------------------------------------------------- */

/* y = ro (a b) */
static void
weigh(clarke_number *y, const clarke_number *ro, const clarke_number *a, const clarke_number *b, size_t n, const clarke_hypers *h)
{
  clarke_lbfgs_dot(y, a, b, n, h);
  multiply(y, ro, y, 1, h);
}

static const clarke_lbfgs_pair *
pair_of(void *of, size_t i)
{
  return &((clarke_lbfgs *)of)->pair[i];
}

clarke_lbfgs_pairs
clarke_lbfgs_pairs_of(clarke_lbfgs *l)
{
  return (clarke_lbfgs_pairs){.n = l->n, .n_pairs = l->n_pairs, .scale = &l->scale, .pair = pair_of, .of = l};
}

/* The second loop: d += (al - ro (y d)) s for each pair */
static clarke_status
direct_back(clarke_number *d, const clarke_number *al, const clarke_lbfgs_pairs *p, const clarke_hypers *h, clarke_error *err)
{
  clarke_number by, share;
  clarke_status status = CLARKE_OK;

  clarke_number_init(&by);
  clarke_number_init(&share);
  for (size_t i = 0; i < p->n_pairs && status == CLARKE_OK; i++) {
    const clarke_lbfgs_pair *one = p->pair(p->of, i);

    weigh(&share, &one->ro, one->y, d, p->n, h);
    clarke_number_sub(&by, &al[i], &share, BITS);
    clarke_piece_round(&by, h, NULL, &al[i], NULL, &share);
    add_multiple(d, &by, one->s, p->n, h);
    status = clarke_work_check(err);
  }
  clarke_number_clear(&by);
  clarke_number_clear(&share);
  return status;
}

clarke_status
clarke_lbfgs_direct(clarke_number *d, const clarke_lbfgs_pairs *p, const clarke_number *g, const clarke_hypers *h, clarke_error *err)
{
  clarke_number *al = clarke_numbers(p->n_pairs + 1), by, zero;
  clarke_status status = al != NULL ? CLARKE_OK : clarke_no_memory(err);

  if (status != CLARKE_OK)
    return status;
  clarke_number_init(&by);
  clarke_number_init(&zero);
  for (size_t j = 0; j < p->n; j++)
    clarke_number_sub(&d[j], &zero, &g[j], BITS);
  for (size_t i = p->n_pairs; i-- > 0 && status == CLARKE_OK;) {
    const clarke_lbfgs_pair *one = p->pair(p->of, i);

    weigh(&al[i], &one->ro, one->s, d, p->n, h);
    clarke_number_sub(&by, &zero, &al[i], BITS);
    add_multiple(d, &by, one->y, p->n, h);
    status = clarke_work_check(err);
  }
  multiply(d, p->scale, d, p->n, h);
  if (status == CLARKE_OK)
    status = direct_back(d, al, p, h, err);
  clarke_number_clear(&by);
  clarke_number_clear(&zero);
  clarke_numbers_free(al, p->n_pairs + 1);
  return status;
}

/* --- a step ---------------------------------------------------------------------------------------------------------- */

typedef struct {
  clarke_lbfgs *l;
  const clarke_hypers *h;
  clarke_lbfgs_evaluate evaluate;
  void *of;
  size_t evaluations, iterations; /* of this step */
  const clarke_number *g, *loss;
  clarke_number before; /* the loss of the iteration before; */
  bool known;           /* if it is */
  clarke_number *begin; /* where a line search begins */
  clarke_wolfe_point found; /* and what it ends at; g and loss are then its */
} lbfgs_step;

static clarke_status
ask(lbfgs_step *s, clarke_error *err)
{
  s->evaluations++;
  return s->evaluate(s->of, &s->g, &s->loss, err);
}

static clarke_status
vague(const char *what, clarke_error *err)
{
  return clarke_fail(err, CLARKE_EVAGUE, "%s: numbers of more bits than the limit are enclosed, and that does not tell (--limit bits=N)", what);
}

/* The pair of the iteration before, if y s is large enough. */
static clarke_status
take_pair(lbfgs_step *s, clarke_error *err)
{
  clarke_lbfgs *l = s->l;
  clarke_lbfgs_pair *p = clarke_lbfgs_append(l);
  clarke_number ys, least, one;
  mpq_t q;
  int sign;

  if (p == NULL)
    return clarke_no_memory(err);
  mpq_init(q);
  clarke_number_init(&ys);
  clarke_number_init(&least);
  clarke_number_init(&one);
  clarke_number_set_si(&one, 1);
  subtract(p->y, s->g, l->previous, l->n);
  multiply(p->s, &l->t, l->d, l->n, s->h);
  clarke_lbfgs_dot(&ys, p->y, p->s, l->n, s->h);
  clarke_lbfgs_least(q);
  clarke_number_set_q(&least, q);
  sign = clarke_number_compare(&ys, &least, BITS);
  if (sign == 1) {
    clarke_number_div(&p->ro, &one, &ys, BITS);
    clarke_lbfgs_dot(&least, p->y, p->y, l->n, s->h);
    clarke_number_div(&l->scale, &ys, &least, BITS);
    if (mpq_cmp_ui(s->h->of[CLARKE_HYPER_HISTORY_SIZE], l->n_pairs, 1) < 0)
      clarke_lbfgs_drop(l);
  } else { /* it is none */
    l->n_pairs--;
    pair_clear(&l->pair[l->n_pairs], l->n);
  }
  clarke_number_clear(&ys);
  clarke_number_clear(&least);
  clarke_number_clear(&one);
  mpq_clear(q);
  return sign == 2 ? vague("is y s above 1e-10", err) : CLARKE_OK;
}

/* t = eta, in the very first iteration min(1, 1 / |g|_1) eta; g is not 0 there */
static void
set_length(lbfgs_step *s)
{
  clarke_number sum, one;

  clarke_number_set_q(&s->l->t, s->h->of[CLARKE_HYPER_STEP]);
  if (s->l->iterations > 1)
    return;
  clarke_number_init(&sum);
  clarke_number_init(&one);
  clarke_number_set_si(&one, 1);
  for (size_t i = 0; i < s->l->n; i++) {
    if (clarke_number_sign(&s->g[i]) < 0)
      clarke_number_sub(&sum, &sum, &s->g[i], BITS);
    else
      clarke_number_add(&sum, &sum, &s->g[i], BITS);
  }
  if (clarke_number_compare(&sum, &one, BITS) == 1)
    clarke_number_div(&s->l->t, &s->l->t, &sum, BITS);
  clarke_number_clear(&sum);
  clarke_number_clear(&one);
}

/* Does theta stay, for the slope is above minus the tolerance? 2: that is not told. */
static int
is_flat(const lbfgs_step *s)
{
  clarke_number slope, limit;
  int sign;

  clarke_number_init(&slope);
  clarke_number_init(&limit);
  clarke_lbfgs_dot(&slope, s->g, s->l->d, s->l->n, s->h);
  clarke_number_set_q(&limit, s->h->of[CLARKE_HYPER_TOLERANCE_CHANGE]);
  clarke_number_add(&slope, &slope, &limit, BITS);
  sign = clarke_number_sign(&slope);
  clarke_number_clear(&slope);
  clarke_number_clear(&limit);
  return sign == 2 ? 2 : sign > 0;
}

static clarke_status
evaluate_at(void *of, const clarke_number *t, const clarke_number **g, const clarke_number **loss, clarke_error *err)
{
  lbfgs_step *s = of;
  clarke_status status;

  set_all(s->l->theta, s->begin, s->l->n);
  add_multiple(s->l->theta, t, s->l->d, s->l->n, s->h);
  status = ask(s, err);
  if (status == CLARKE_OK && s->loss == NULL)
    status = clarke_fail(err, CLARKE_EINPUT, "evaluation %zu has no 'loss', by which a line search goes", s->evaluations);
  *g = s->g;
  *loss = s->loss;
  return status;
}

static void
slope_of(void *of, clarke_number *slope, const clarke_number *g)
{
  const lbfgs_step *s = of;

  clarke_lbfgs_dot(slope, g, s->l->d, s->l->n, s->h);
}

/* How many evaluations may follow a search's first one. */
static size_t
left_of(const lbfgs_step *s)
{
  const size_t most = mpz_get_ui(mpq_numref(s->h->of[CLARKE_HYPER_MAX_EVAL])); /* a million at most */

  return most > s->evaluations ? most - s->evaluations : 0;
}

/* Theta moves to where the strong Wolfe conditions are met, or as close as the search comes. */
static clarke_status
search_line(lbfgs_step *s, clarke_error *err)
{
  clarke_lbfgs *l = s->l;
  const clarke_wolfe_search of = {.n = l->n, .most = left_of(s), .d = l->d, .evaluate = evaluate_at, .slope = slope_of, .of = s};
  clarke_status status;

  if (s->loss == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "evaluation %zu has no 'loss', by which a line search goes", s->evaluations);
  set_all(s->begin, l->theta, l->n);
  clarke_number_set_si(&s->found.t, 0);
  clarke_number_set(&s->found.loss, &s->before);
  set_all(s->found.g, l->previous, l->n);
  slope_of(s, &s->found.slope, l->previous);
  status = clarke_wolfe_find(&s->found, &l->t, &of, err);
  if (status != CLARKE_OK)
    return status;
  clarke_number_set(&l->t, &s->found.t);
  set_all(l->theta, s->begin, l->n);
  add_multiple(l->theta, &l->t, l->d, l->n, s->h);
  s->g = s->found.g;
  s->loss = &s->found.loss;
  return CLARKE_OK;
}

/* One iteration, up to theta's move; *flat: it does not move. */
static clarke_status
iterate(lbfgs_step *s, bool *flat, clarke_error *err)
{
  clarke_lbfgs *l = s->l;
  clarke_lbfgs_pairs pairs;
  clarke_status status = CLARKE_OK;
  int is;

  s->iterations++;
  l->iterations++;
  if (l->iterations > 1)
    status = take_pair(s, err);
  pairs = clarke_lbfgs_pairs_of(l);
  if (status == CLARKE_OK)
    status = clarke_lbfgs_direct(l->d, &pairs, s->g, s->h, err);
  if (status != CLARKE_OK)
    return status;
  set_all(l->previous, s->g, l->n);
  s->known = s->loss != NULL;
  if (s->known)
    clarke_number_set(&s->before, s->loss);
  set_length(s);
  is = is_flat(s);
  if (is == 2)
    return vague("is the slope above minus --tolerance-change", err);
  *flat = is != 0;
  if (!*flat && s->h->searches)
    return search_line(s, err);
  if (!*flat)
    add_multiple(l->theta, &l->t, l->d, l->n, s->h);
  return CLARKE_OK;
}

/* Has theta moved by no more than the tolerance? */
static int
is_near(const lbfgs_step *s)
{
  const clarke_lbfgs *l = s->l;
  clarke_number *move = clarke_numbers(l->n);
  int is = 2;

  if (move == NULL)
    return 2;
  multiply(move, &l->t, l->d, l->n, s->h);
  is = clarke_lbfgs_is_small(move, l->n, s->h->of[CLARKE_HYPER_TOLERANCE_CHANGE]);
  clarke_numbers_free(move, l->n);
  return is;
}

/* Has the loss changed by less than the tolerance? */
static clarke_status
is_level(const lbfgs_step *s, bool *is, clarke_error *err)
{
  mpq_srcptr tolerance = s->h->of[CLARKE_HYPER_TOLERANCE_CHANGE];
  mpq_t q;

  *is = false;
  if (mpq_sgn(tolerance) <= 0)
    return CLARKE_OK;
  if (s->loss == NULL || !s->known)
    return clarke_fail(err, CLARKE_EINPUT, "evaluation %zu decides by its 'loss' whether the step ends there (--tolerance-change), and it, or that before, has none",
                       s->evaluations);
  mpq_init(q);
  mpq_sub(q, s->loss->q, s->before.q);
  mpq_abs(q, q);
  *is = mpq_cmp(q, tolerance) < 0;
  mpq_clear(q);
  return CLARKE_OK;
}

/* Does the step end behind an evaluation? */
static clarke_status
find_end(const lbfgs_step *s, bool *ends, clarke_lbfgs_end *end, clarke_error *err)
{
  const int small = clarke_lbfgs_is_small(s->g, s->l->n, s->h->of[CLARKE_HYPER_TOLERANCE_GRAD]);
  clarke_status status;
  int near;

  *ends = true;
  *end = mpq_cmp_ui(s->h->of[CLARKE_HYPER_MAX_EVAL], s->evaluations, 1) <= 0 ? CLARKE_LBFGS_EVALUATIONS : CLARKE_LBFGS_GRADIENT;
  if (*end == CLARKE_LBFGS_EVALUATIONS || small == 1)
    return CLARKE_OK;
  near = is_near(s);
  *end = CLARKE_LBFGS_MOVE;
  if (near == 2)
    return vague("is the move above --tolerance-change", err);
  if (near == 1)
    return CLARKE_OK;
  status = is_level(s, ends, err);
  *end = CLARKE_LBFGS_LOSS;
  return status;
}

static clarke_status
make_step(lbfgs_step *s, clarke_lbfgs_end *end, clarke_error *err)
{
  bool ends = false;
  clarke_status status = ask(s, err);

  *end = CLARKE_LBFGS_REST;
  if (status != CLARKE_OK || clarke_lbfgs_is_small(s->g, s->l->n, s->h->of[CLARKE_HYPER_TOLERANCE_GRAD]) == 1)
    return status;
  while (!ends && status == CLARKE_OK) {
    *end = CLARKE_LBFGS_SLOPE;
    status = iterate(s, &ends, err);
    if (status != CLARKE_OK || ends)
      return status;
    *end = CLARKE_LBFGS_ITERATIONS;
    if (mpq_cmp_ui(s->h->of[CLARKE_HYPER_MAX_ITER], s->iterations, 1) <= 0)
      return status;
    status = s->h->searches ? CLARKE_OK : ask(s, err);
    if (status == CLARKE_OK)
      status = find_end(s, &ends, end, err);
  }
  return status;
}

clarke_status
clarke_lbfgs_step(clarke_lbfgs *l, clarke_lbfgs_end *end, size_t *n, clarke_lbfgs_evaluate evaluate, void *of, const clarke_hypers *h, clarke_error *err)
{
  lbfgs_step s = {.l = l, .h = h, .evaluate = evaluate, .of = of};
  clarke_status status;

  clarke_number_init(&s.before);
  s.begin = clarke_numbers(l->n);
  status = clarke_wolfe_point_init(&s.found, l->n, err);
  if (s.begin == NULL)
    status = clarke_no_memory(err);
  if (status == CLARKE_OK)
    status = make_step(&s, end, err);
  clarke_number_clear(&s.before);
  clarke_wolfe_point_clear(&s.found, l->n);
  if (s.begin != NULL)
    clarke_numbers_free(s.begin, l->n);
  *n = s.evaluations;
  return status;
}

const clarke_rule clarke_lbfgs_rule = {
  .name = "torch-lbfgs", .where = "torch.optim.LBFGS",
  .says = "y = g - the g before, s = t d, kept where y s > 1e-10; d = -H g of the last history-size pairs; theta + t d, t = eta, at first min(1, 1 / |g|_1) eta",
  .needs = {[CLARKE_HYPER_STEP] = true}, .coupled = true, .evaluates = true,
  .others = {[CLARKE_HYPER_MAX_ITER] = "20", [CLARKE_HYPER_MAX_EVAL] = "25", [CLARKE_HYPER_TOLERANCE_GRAD] = "1e-7",
             [CLARKE_HYPER_TOLERANCE_CHANGE] = "1e-9", [CLARKE_HYPER_HISTORY_SIZE] = "100"},
};
