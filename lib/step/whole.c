#include "step/whole.h"

#include "step/muon.h"
#include "step/piece.h"

#include <string.h>

#define BITS CLARKE_STEP_PRECISION
#define SUM_BITS 24 /* sums of numbers of fewer bits are made in float32 */

/* --- shapes ----------------------------------------------------------------------------------------------------- */

clarke_step_shape
clarke_step_shape_of(const size_t *dims, size_t rank)
{
  clarke_step_shape s = {.n = 1, .rank = rank, .batches = 1};

  for (size_t i = 0; i < rank; i++)
    s.n *= dims[i];
  if (rank < 2)
    return s;
  s.rows = dims[rank - 2];
  s.cols = dims[rank - 1];
  for (size_t i = 0; i + 2 < rank; i++)
    s.batches *= dims[i];
  return s;
}

bool
clarke_shape_has(const clarke_step_shape *s, const clarke_rule *r, int slot)
{
  if (slot < 0 || r->whole == NULL || !r->slot[CLARKE_SLOT_ROW])
    return slot < 0 || r->slot[slot];
  return r->slot[slot] && (slot == CLARKE_SLOT_V) == (s->rank < 2);
}

size_t
clarke_shape_count(const clarke_step_shape *s, int slot)
{
  return slot == CLARKE_SLOT_ROW ? s->batches * s->rows : slot == CLARKE_SLOT_COL ? s->batches * s->cols : s->n;
}

clarke_status
clarke_shape_check(const clarke_step_shape *s, const clarke_rule *r, clarke_error *err)
{
  if (r->whole != NULL && s->n == 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s: theta has no entries", r->name);
  if (r->whole == NULL || r->slot[CLARKE_SLOT_ROW] || s->rank == 2)
    return CLARKE_OK;
  return clarke_fail(err, CLARKE_EINPUT, "%s steps matrices; theta has %zu axes. In JSON a matrix is a list of its rows", r->name, s->rank);
}

clarke_status
clarke_whole_init(clarke_step_whole *w, const clarke_step_shape *s, const clarke_rule *r, clarke_error *err)
{
  bool are;

  *w = (clarke_step_whole){.shape = *s, .theta = clarke_numbers(s->n)};
  are = w->theta != NULL;
  for (int slot = 0; slot < CLARKE_N_SLOTS && are; slot++)
    if (clarke_shape_has(s, r, slot)) {
      w->slot[slot] = clarke_numbers(clarke_shape_count(s, slot));
      are = w->slot[slot] != NULL;
    }
  return are ? CLARKE_OK : clarke_no_memory(err);
}

void
clarke_whole_clear(clarke_step_whole *w)
{
  if (w->theta != NULL)
    clarke_numbers_free(w->theta, w->shape.n);
  for (int slot = 0; slot < CLARKE_N_SLOTS; slot++)
    if (w->slot[slot] != NULL)
      clarke_numbers_free(w->slot[slot], clarke_shape_count(&w->shape, slot));
  memset(w, 0, sizeof *w);
}

/* --- sums ------------------------------------------------------------------------------------------------------- */

/* A sum of n numbers that are not below 0, in whatever order: n units of it (Jeannerod and Rump, 2013), where it is coarse of any direction. Squares,
 * and with them the sum, may vanish. */
static void
round_sum(clarke_number *sum, size_t n, const clarke_hypers *h)
{
  const long unit = h->rounding.unit < SUM_BITS && !h->rounding.coarse ? SUM_BITS : h->rounding.unit;
  if (h->rounding.unit != 0)
    clarke_piece_off(sum, (n + CLARKE_ROUNDINGS) * (h->rounding.coarse ? 2 : 1), unit, n, h->rounding.tiny);
}

/* The sum of the squares of n numbers, each `stride` behind the one before. */
static void
sum_squares(clarke_number *sum, const clarke_number *x, size_t n, size_t stride, const clarke_hypers *h)
{
  clarke_number square;

  clarke_number_init(&square);
  clarke_number_set_si(sum, 0);
  for (size_t i = 0; i < n; i++) {
    clarke_number_mul(&square, &x[i * stride], &x[i * stride], BITS);
    clarke_number_add(sum, sum, &square, BITS);
  }
  round_sum(sum, n, h);
  clarke_number_clear(&square);
}

static void
round_itself(clarke_number *x, const clarke_hypers *h)
{
  clarke_piece_round(x, h, NULL, x, NULL, NULL);
}

/* y = x / n */
static void
share_of(clarke_number *y, const clarke_number *x, size_t n)
{
  clarke_number by;

  clarke_number_init(&by);
  clarke_number_set_si(&by, (long)n);
  clarke_number_div(y, x, &by, BITS);
  clarke_number_clear(&by);
}

/* The mean of squares; in floats the square of a norm, divided: three roundings. */
static void
mean_square(clarke_number *mean, const clarke_number *x, size_t n, size_t stride, const clarke_hypers *h)
{
  sum_squares(mean, x, n, stride, h);
  share_of(mean, mean, n);
  for (int i = 0; i < 3; i++)
    round_itself(mean, h);
}

/* The root of the mean of squares, which all entries share. */
static void
root_mean_square(clarke_number *y, const clarke_number *x, size_t n, const clarke_hypers *h)
{
  sum_squares(y, x, n, 1, h);
  share_of(y, y, n);
  clarke_number_root(y, y, BITS);
  round_itself(y, h);
  clarke_piece_share(y, h, NULL, NULL, y);
}

/* --- Adafactor ---------------------------------------------------------------------------------------------------- */

/* What all entries share in a step: the weight w of what is new in an average; alpha, the step's size; the numbers below which none is divided by. */
typedef struct {
  clarke_number w, alpha, eps, square;
} shared_numbers;

/* y = t^q */
static void
power_of_count(clarke_number *y, size_t t, const mpq_t q)
{
  clarke_number x;

  clarke_number_init(&x);
  clarke_number_set_si(&x, (long)t);
  clarke_number_analytic(&x, NULL, CLARKE_FN_LOG, &x, BITS);
  clarke_number_set_si(y, 0);
  clarke_number_addmul_q(y, q, &x, BITS);
  clarke_number_analytic(y, NULL, CLARKE_FN_EXP, y, BITS);
  clarke_number_clear(&x);
}

/* y = the smaller one */
static void
smaller(clarke_number *y, const clarke_number *x)
{
  const int sign = clarke_number_compare(y, x, BITS);

  if (sign == 2)
    clarke_number_join(y, y, x, BITS);
  else if (sign > 0)
    clarke_number_set(y, x);
}

/* alpha = max(eps2, root of the mean of theta^2) min(eta, 1 / root of t) */
static void
find_alpha(clarke_number *alpha, const clarke_step_whole *w, const clarke_hypers *h, size_t t)
{
  clarke_number x, size;
  mpq_t q;

  clarke_number_init(&x);
  clarke_number_init(&size);
  mpq_init(q);
  mpq_set_ui(q, 1, (unsigned long)t);
  clarke_number_set_q(&x, q);
  clarke_number_root(&x, &x, BITS);
  clarke_piece_share(&x, h, NULL, NULL, &x);
  clarke_number_set_q(alpha, h->of[CLARKE_HYPER_STEP]);
  smaller(alpha, &x);
  root_mean_square(&size, w->theta, w->shape.n, h);
  clarke_number_set_q(&x, h->of[CLARKE_HYPER_EPS2]);
  clarke_piece_larger(&size, &size, &x);
  clarke_number_mul(alpha, alpha, &size, BITS);
  clarke_piece_share(alpha, h, NULL, NULL, alpha);
  mpq_clear(q);
  clarke_number_clear(&x);
  clarke_number_clear(&size);
}

static void
share_begin(shared_numbers *s, const clarke_step_whole *w, const clarke_hypers *h, size_t t)
{
  clarke_number_init(&s->w);
  clarke_number_init(&s->alpha);
  clarke_number_init(&s->eps);
  clarke_number_init(&s->square);
  power_of_count(&s->w, t, h->of[CLARKE_HYPER_BETA2_DECAY]);
  find_alpha(&s->alpha, w, h, t);
  clarke_number_set_q(&s->eps, h->of[CLARKE_HYPER_EPS]);
  clarke_number_mul(&s->square, &s->eps, &s->eps, BITS);
  round_itself(&s->eps, h);
  round_itself(&s->square, h);
}

static void
share_end(shared_numbers *s)
{
  clarke_number_clear(&s->w);
  clarke_number_clear(&s->alpha);
  clarke_number_clear(&s->eps);
  clarke_number_clear(&s->square);
}

/* y + w (x - y); the first time w is 1 */
static void
average(clarke_number *y, const clarke_number *w, const clarke_number *x, const clarke_hypers *h)
{
  clarke_number before;
  mpq_t q, rest;

  mpq_inits(q, rest, NULL);
  clarke_number_init(&before);
  clarke_number_set(&before, y);
  clarke_number_middle(q, w);
  clarke_piece_rest(rest, q);
  if (h->rounding.unit == 0) {
    clarke_number_sub(&before, x, y, BITS);
    clarke_number_addmul(y, w, &before, BITS);
  } else {
    clarke_piece_mix(y, rest, q, x, h);
    clarke_piece_share(y, h, q, NULL, &before);
    clarke_piece_share(y, h, q, NULL, x);
  }
  clarke_number_clear(&before);
  mpq_clears(q, rest, NULL);
}

/* The average of g^2, of a vector: it is what has the root. */
static void
average_vector(clarke_number *estimate, clarke_step_whole *w, const clarke_number *g, const shared_numbers *s, const clarke_hypers *h)
{
  clarke_number square;

  clarke_number_init(&square);
  for (size_t i = 0; i < w->shape.n; i++) {
    clarke_number_mul(&square, &g[i], &g[i], BITS);
    round_itself(&square, h);
    average(&w->slot[CLARKE_SLOT_V][i], &s->w, &square, h);
    clarke_number_set(&estimate[i], &w->slot[CLARKE_SLOT_V][i]);
  }
  clarke_number_clear(&square);
}

/* A product of two matrices' entries, whose factors a library may round to bfloat16. */
static void
round_factors(clarke_number *y, const clarke_hypers *h)
{
  clarke_number x;
  mpq_t q;

  if (!h->rounding.short_factors || h->rounding.unit > SUM_BITS)
    return;
  mpq_init(q);
  clarke_number_init(&x);
  clarke_number_set(&x, y);
  clarke_piece_parts(q, 4, 8);
  clarke_piece_widen(y, q, &x);
  clarke_number_clear(&x);
  mpq_clear(q);
}

/* Each row col / max(the mean of all row, eps). False: that is not known to be above 0. */
static bool
estimate_matrix(clarke_number *estimate, const clarke_number *row, const clarke_number *col, const clarke_step_shape *s, const clarke_number *eps,
                const clarke_hypers *h)
{
  clarke_number mean;
  bool is;

  clarke_number_init(&mean);
  for (size_t i = 0; i < s->rows; i++)
    clarke_number_add(&mean, &mean, &row[i], BITS);
  round_sum(&mean, s->rows, h);
  share_of(&mean, &mean, s->rows);
  round_itself(&mean, h);
  clarke_piece_larger(&mean, &mean, eps);
  is = clarke_number_sign(&mean) == 1;
  for (size_t i = 0; i < s->rows && is; i++)
    for (size_t j = 0; j < s->cols; j++) {
      clarke_number *const y = &estimate[i * s->cols + j];

      clarke_number_mul(y, &row[i], &col[j], BITS);
      round_factors(y, h);
      round_itself(y, h);
      clarke_number_div(y, y, &mean, BITS);
      round_itself(y, h);
    }
  clarke_number_clear(&mean);
  return is;
}

static bool
average_matrices(clarke_number *estimate, clarke_step_whole *w, const clarke_number *g, const shared_numbers *s, const clarke_hypers *h)
{
  const clarke_step_shape *of = &w->shape;
  const size_t area = of->rows * of->cols;
  clarke_number mean;
  bool is = true;

  clarke_number_init(&mean);
  for (size_t b = 0; b < of->batches && is; b++) {
    clarke_number *const row = &w->slot[CLARKE_SLOT_ROW][b * of->rows], *const col = &w->slot[CLARKE_SLOT_COL][b * of->cols];

    for (size_t i = 0; i < of->rows; i++) {
      mean_square(&mean, &g[b * area + i * of->cols], of->cols, 1, h);
      average(&row[i], &s->w, &mean, h);
    }
    for (size_t j = 0; j < of->cols; j++) {
      mean_square(&mean, &g[b * area + j], of->rows, of->cols, h);
      average(&col[j], &s->w, &mean, h);
    }
    is = estimate_matrix(&estimate[b * area], row, col, of, &s->eps, h);
  }
  clarke_number_clear(&mean);
  return is;
}

/* g over the root of max(estimate, eps^2), in the estimate's place. False: the root is not known to be above 0. */
static bool
divide_by_roots(clarke_number *estimate, const clarke_number *g, const shared_numbers *s, size_t n, const clarke_hypers *h)
{
  bool is = true;

  for (size_t i = 0; i < n && is; i++) {
    clarke_number *const y = &estimate[i];

    clarke_piece_larger(y, y, &s->square);
    clarke_number_root(y, y, BITS);
    is = clarke_number_sign(y) == 1 || clarke_number_sign(&g[i]) == 0;
    if (is && clarke_number_sign(&g[i]) == 0)
      clarke_number_set_si(y, 0);
    else if (is) {
      clarke_number_div(y, &g[i], y, BITS);
      round_itself(y, h);
    }
  }
  return is;
}

/* y = alpha / max(1, root of the mean of x^2 / clip) */
static void
clipped(clarke_number *y, const clarke_number *alpha, const clarke_number *x, size_t n, const clarke_hypers *h)
{
  clarke_number size, clip, one;

  clarke_number_init(&size);
  clarke_number_init(&clip);
  clarke_number_init(&one);
  clarke_number_set_si(&one, 1);
  clarke_number_set_q(&clip, h->of[CLARKE_HYPER_CLIP]);
  root_mean_square(&size, x, n, h);
  clarke_number_div(&size, &size, &clip, BITS);
  clarke_piece_share(&size, h, NULL, NULL, &size);
  clarke_piece_larger(&size, &size, &one);
  clarke_number_div(y, alpha, &size, BITS);
  clarke_piece_share(y, h, NULL, NULL, y);
  clarke_number_clear(&size);
  clarke_number_clear(&clip);
  clarke_number_clear(&one);
}

/* theta (1 - eta weight-decay) - by x */
static void
descend(clarke_step_whole *w, const clarke_number *by, const clarke_number *x, const clarke_hypers *h)
{
  clarke_number start, move;
  mpq_t decay;

  mpq_init(decay);
  clarke_number_init(&start);
  clarke_number_init(&move);
  mpq_mul(decay, h->of[CLARKE_HYPER_DECAY], h->of[CLARKE_HYPER_STEP]);
  mpq_neg(decay, decay);
  for (size_t i = 0; i < w->shape.n; i++) {
    clarke_number *const theta = &w->theta[i];

    clarke_number_set(&start, theta);
    clarke_piece_add(theta, decay, &start, h);
    clarke_number_mul(&move, by, &x[i], BITS);
    if (clarke_number_sign(&move) == 0)
      continue;
    clarke_number_set(&start, theta);
    clarke_number_sub(theta, theta, &move, BITS);
    clarke_piece_round(theta, h, NULL, &start, NULL, &move);
  }
  clarke_number_clear(&start);
  clarke_number_clear(&move);
  mpq_clear(decay);
}

static clarke_status
step_adafactor(clarke_step_whole *w, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err)
{
  clarke_number *estimate = clarke_numbers(w->shape.n), by;
  shared_numbers s;
  bool is;

  if (estimate == NULL)
    return clarke_no_memory(err);
  clarke_number_init(&by);
  share_begin(&s, w, h, k + 1);
  if (w->shape.rank < 2) {
    average_vector(estimate, w, g, &s, h);
    is = true;
  } else
    is = average_matrices(estimate, w, g, &s, h);
  is = is && divide_by_roots(estimate, g, &s, w->shape.n, h);
  if (is) {
    clipped(&by, &s.alpha, estimate, w->shape.n, h);
    descend(w, &by, estimate, h);
  }
  share_end(&s);
  clarke_number_clear(&by);
  clarke_numbers_free(estimate, w->shape.n);
  return is ? CLARKE_OK : clarke_fail(err, h->rounding.unit == 0 ? CLARKE_EINPUT : CLARKE_EVAGUE,
                                      "what is divided by is not known to be above 0: gradients are 0, and eps is 0 (or vanishes)");
}

/* --- Muon -------------------------------------------------------------------------------------------------------------- */

void
clarke_muon_adjusts(clarke_number *factor, const clarke_step_shape *s, const clarke_hypers *h)
{
  const size_t most = s->rows > s->cols ? s->rows : s->cols;
  mpq_t q;

  mpq_init(q);
  mpq_set_ui(q, h->matches ? most : most == s->rows ? s->rows : 1, h->matches ? 25 : most == s->rows ? s->cols : 1);
  mpq_canonicalize(q);
  clarke_number_set_q(factor, q);
  clarke_number_root(factor, factor, BITS);
  mpq_clear(q);
}

/* m and what is made orthogonal: (1 - b) g + b m with Nesterov, else m */
static void
average_gradients(clarke_number *x, clarke_step_whole *w, const clarke_number *g, const clarke_hypers *h)
{
  mpq_srcptr b = h->of[CLARKE_HYPER_MOMENTUM];
  mpq_t rest;

  mpq_init(rest);
  clarke_piece_rest(rest, b);
  for (size_t i = 0; i < w->shape.n; i++) {
    clarke_number *const m = &w->slot[CLARKE_SLOT_M][i];

    clarke_piece_mix(m, b, rest, &g[i], h);
    clarke_number_set(&x[i], h->nesterov ? &g[i] : m);
    if (h->nesterov)
      clarke_piece_mix(&x[i], rest, b, m, h);
  }
  mpq_clear(rest);
}

static clarke_status
step_muon(clarke_step_whole *w, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err)
{
  clarke_number *x = clarke_numbers(w->shape.n), by, step;
  clarke_status status = x != NULL ? CLARKE_OK : clarke_no_memory(err);

  (void)k;
  if (status != CLARKE_OK)
    return status;
  clarke_number_init(&by);
  clarke_number_init(&step);
  average_gradients(x, w, g, h);
  status = clarke_muon_iterate(x, &w->shape, h, err);
  clarke_muon_adjusts(&by, &w->shape, h);
  clarke_number_set_q(&step, h->of[CLARKE_HYPER_STEP]);
  clarke_number_mul(&by, &by, &step, BITS);
  if (status == CLARKE_OK)
    descend(w, &by, x, h);
  clarke_number_clear(&by);
  clarke_number_clear(&step);
  clarke_numbers_free(x, w->shape.n);
  return status;
}

/* --- the table ----------------------------------------------------------------------------------------------------------- */

const clarke_rule clarke_whole_rules[CLARKE_N_WHOLE_RULES] = {
  {.name = "torch-adafactor", .where = "torch.optim.Adafactor",
   .says = "v, or row col / mean(row), averages of g^2 by t^beta2-decay; u = g / sqrt(v); theta - max(eps2, rms(theta)) min(eta, 1 / sqrt(t)) u / max(1, rms(u) / clip)",
   .slot = {[CLARKE_SLOT_V] = true, [CLARKE_SLOT_ROW] = true, [CLARKE_SLOT_COL] = true}, .needs = {[CLARKE_HYPER_STEP] = true},
   .eps = "1/4503599627370496", .weight_decay = "0", .whole = step_adafactor,
   .others = {[CLARKE_HYPER_BETA2_DECAY] = "-0.8", [CLARKE_HYPER_EPS2] = "0.001", [CLARKE_HYPER_CLIP] = "1"}},
  {.name = "torch-muon", .where = "torch.optim.Muon",
   .says = "m = b m + (1 - b) g; x = (1 - b) g + b m, over its norm; x = a x + (b x x' + c (x x')^2) x, ns-steps times; theta - eta adjusted x",
   .slot = {[CLARKE_SLOT_M] = true}, .needs = {[CLARKE_HYPER_STEP] = true}, .momentum = "0.95", .eps = "1e-7", .weight_decay = "0.1",
   .whole = step_muon,
   .others = {[CLARKE_HYPER_NS_A] = "3.4445", [CLARKE_HYPER_NS_B] = "-4.775", [CLARKE_HYPER_NS_C] = "2.0315", [CLARKE_HYPER_NS_STEPS] = "5"}},
};

clarke_status
clarke_whole_step(clarke_step_whole *w, const clarke_rule *r, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err)
{
  return r->whole(w, g, h, k, err);
}
