/* What a step gives to the gradients of those that it reads, in doubles (sieve.h). */
#include "trace/certify/sieve_wide.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How many entries of the step read one entry of the operand, at most. */
static clarke_status
count_readers(size_t *most, const clarke_sieve *s, const clarke_operand *o, size_t count, clarke_error *err)
{
  size_t *reads = calloc(s->g->values[o->value].count + 1, sizeof *reads);

  *most = 1;
  if (reads == NULL)
    return clarke_no_memory(err);
  for (size_t f = 0; o->map != NULL && f < count; f++)
    if (o->map[f] != CLARKE_NONE && ++reads[o->map[f]] > *most)
      *most = reads[o->map[f]];
  free(reads);
  return CLARKE_OK;
}

/* Exact numbers, taken over, are a part of the value's gradient. */
static clarke_status
give(clarke_sieve *s, size_t value, const float *part, double terms, clarke_error *err)
{
  clarke_sieved *to = &s->grad[value];
  const size_t rows = s->g->values[value].count;

  if (part == NULL)
    return clarke_no_memory(err);
  to->terms += terms;
  to->dense = NULL;
  if (to->parts++ == 0) {
    to->exact = part;
    to->owned = true;
    return CLARKE_OK;
  }
  if (!clarke_sieve_begin_gradient(s, to, rows, s->n)) {
    clarke_sieve_leave(s, part);
    return clarke_no_memory(err);
  }
  for (size_t e = 0; e < rows * s->n; e++)
    clarke_sieve_join_moved(to, e, (double)part[e]);
  clarke_sieve_leave(s, part);
  return CLARKE_OK;
}

static float *
zeros(clarke_sieve *s, size_t count)
{
  float *at = clarke_sieve_take_floats(s, count);

  if (at != NULL)
    memset(at, 0, count * sizeof *at);
  return at;
}

/* Each entry goes where it came from; of one that several read, nothing is known exactly, and it is left open. last: the
 * step gives nothing to anyone behind it. */
static clarke_status
gather_back(clarke_sieve *s, const clarke_step *step, const clarke_operand *o, bool last, clarke_error *err)
{
  const size_t count = s->g->values[step->out].count, rows = s->g->values[o->value].count;
  const float *g = s->grad[step->out].exact, coef = (float)o->coef;
  size_t readers;
  float *part;

  if (!s->carries[o->value])
    return CLARKE_OK;
  if (count_readers(&readers, s, o, count, err) != CLARKE_OK)
    return CLARKE_ENOMEM;
  s->open = s->open || fabs(o->coef) != 1 || readers != 1;
  if (s->open)
    return CLARKE_OK;
  if (last && o->map == NULL && o->coef == 1) { /* nobody else reads it */
    const clarke_status status = give(s, o->value, g, 1, err);

    s->grad[step->out].owned = false;
    s->grad[o->value].record = s->grad[o->value].exact == g ? s->grad[step->out].record : NULL;
    return status;
  }
  part = zeros(s, rows * s->n);
  for (size_t f = 0; part != NULL && f < count; f++) {
    const size_t from = clarke_operand_entry(o, f);

    for (size_t j = 0; from != CLARKE_NONE && j < s->n; j++)
      part[from * s->n + j] = coef * g[f * s->n + j];
  }
  return give(s, o->value, part, 1, err);
}

/* The smallest absolute value that is not 0; eight go side by side. */
CLARKE_WIDE static float
least_of(float least, const float *g, size_t n)
{
  float lane[8];
  size_t j = 0;

  for (size_t k = 0; k < 8; k++)
    lane[k] = least;
  for (; j + 8 <= n; j += 8)
    for (size_t k = 0; k < 8; k++) {
      const float size = fabsf(g[j + k]), other = size > 0 ? size : INFINITY;

      lane[k] = other < lane[k] ? other : lane[k];
    }
  for (; j < n; j++)
    lane[0] = fabsf(g[j]) > 0 && fabsf(g[j]) < lane[0] ? fabsf(g[j]) : lane[0];
  for (size_t k = 0; k < 8; k++)
    least = lane[k] < least ? lane[k] : least;
  return least;
}

/* Float32 numbers no smaller than `least` are multiples of 2^-24 of it, or of 2^-149; sums of theirs that stay below 2^53 of these are exact
 * in doubles. */
static bool
is_whole(float least, double top)
{
  return top < 0x1p27 * fmax((double)least * 0.5, 0x1p-126);
}

/* A constant that was added has the sum of what it was added to. */
static clarke_status
bias_back(clarke_sieve *s, const clarke_step *step, const clarke_operand *o, clarke_error *err)
{
  clarke_sieved *to = &s->grad[o->value];
  const size_t count = s->g->values[step->out].count, size = s->g->values[o->value].count;
  const float *g = s->grad[step->out].exact;
  float *least;
  size_t each;

  s->open = s->open || fabs(o->coef) != 1 || to->parts > 0;
  if (s->open)
    return CLARKE_OK;
  if (count_readers(&each, s, o, count, err) != CLARKE_OK)
    return CLARKE_ENOMEM;
  to->floor = calloc(size + 1, sizeof *to->floor);
  least = clarke_sieve_take_floats(s, size);
  for (size_t e = 0; least != NULL && e < size; e++)
    least[e] = INFINITY;
  if (to->floor == NULL || least == NULL || !clarke_sieved_begin(s, to, size, 1, false))
    return clarke_no_memory(err);
  to->terms = (double)each * (double)s->n;
  to->parts = 1;
  for (size_t f = 0; f < count; f++) {
    const size_t from = clarke_operand_entry(o, f);

    if (from == CLARKE_NONE)
      continue;
    if (s->n == 1) {
      to->near[from] += (double)g[f];
      to->floor[from] += fabs((double)g[f]);
    } else
      clarke_sieve_total(&to->near[from], &to->floor[from], g + f * s->n, s->n);
    least[from] = least_of(least[from], g + f * s->n, s->n);
  }
  for (size_t e = 0; e < size; e++) {
    to->near[e] *= o->coef;
    to->top[e] = clarke_sieve_up(to->floor[e]);
    to->slack[e] = is_whole(least[e], to->top[e]) ? 0 : clarke_sieve_slack(to->terms, to->top[e]);
    to->floor[e] = clarke_down_by(to->floor[e], 0x1p34);
  }
  clarke_sieve_leave(s, least);
  return CLARKE_OK;
}

/* Is each entry of the operand read by one of the step's at most? */
static clarke_status
reads_once(bool *once, const clarke_sieve *s, const clarke_operand *o, size_t count, clarke_error *err)
{
  size_t readers;
  const clarke_status status = count_readers(&readers, s, o, count, err);

  *once = readers == 1;
  return status;
}

static clarke_status
operand_back(clarke_sieve *s, const clarke_step *step, const clarke_operand *o, bool last, clarke_error *err)
{
  bool once;

  if (reads_once(&once, s, o, s->g->values[step->out].count, err) != CLARKE_OK)
    return CLARKE_ENOMEM;
  return once && s->grad[step->out].exact != NULL ? gather_back(s, step, o, last, err) : clarke_sieve_add_back(s, step, o, err);
}

static clarke_status
sum_back(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  size_t activations = 0;

  for (size_t k = 0; k < step->n_in && status == CLARKE_OK && !s->open; k++)
    if (clarke_value_is_wrt(s->g, step->in[k].value))
      status = s->grad[step->out].exact != NULL ? bias_back(s, step, &step->in[k], err) : clarke_sieve_add_back(s, step, &step->in[k], err);
  for (size_t k = 0; k < step->n_in; k++)
    activations += !s->g->values[step->in[k].value].constant;
  for (size_t k = 0; k < step->n_in && status == CLARKE_OK && !s->open; k++)
    if (!s->g->values[step->in[k].value].constant) {
      activations--;
      status = s->carries[step->in[k].value] ? operand_back(s, step, &step->in[k], activations == 0, err) : CLARKE_OK;
    }
  return status;
}

static clarke_status
move_back(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  bool once;

  if (s->grad[step->out].exact == NULL)
    return clarke_sieve_move_back(s, step, err);
  if (reads_once(&once, s, &step->in[0], s->g->values[step->out].count, err) != CLARKE_OK)
    return CLARKE_ENOMEM;
  if (once || !s->carries[step->in[0].value])
    return gather_back(s, step, &step->in[0], true, err);
  return clarke_sieve_add_back(s, step, &step->in[0], err);
}

/* The profile's number at each kink; a power of two or 0, so that products are exact. Where the profile has none the step is
 * left open: whether an argument lies there, and the number is wanted, is for the exact pass to tell. */
static clarke_status
read_proxies(double *proxy, clarke_sieve *s, size_t i, clarke_error *err)
{
  const clarke_pieces *q = &s->g->steps[i].pieces;
  clarke_status status = CLARKE_OK;
  mpq_t number;
  int power;

  mpq_init(number);
  for (size_t k = 0; k < q->n_kinks && status == CLARKE_OK; k++) {
    const clarke_touch t = {.step = i, .kink = k};

    status = clarke_touch_proxy(number, s->g, &t, s->c->profile, NULL);
    proxy[k] = status == CLARKE_OK ? mpq_get_d(number) : 0;
    s->open = s->open || status != CLARKE_OK || (proxy[k] != 0 && fabs(frexp(proxy[k], &power)) != 0.5)
              || mpz_sizeinbase(mpq_numref(number), 2) > 1;
  }
  mpq_clear(number);
  return status == CLARKE_ENOMEM ? clarke_no_memory(err) : CLARKE_OK;
}

/* g times the slopes at x: a float32 is beyond a number that is none, where it is the next float32 or beyond. False: some product is no float32. */
static bool
select_row_back(float *part, const clarke_pieces *p, const double *kinks, const double *proxies, const bool *itself, const float *x,
                const float *g, size_t n)
{
  size_t lost = 0;

  for (size_t j = 0; j < n; j++)
    part[j] = itself[0] ? g[j] : 0;
  for (size_t k = 0; k < p->n_kinks; k++) {
    const double kink = kinks[k], proxy = proxies[k];
    const float first = clarke_least_float(kink), slope = itself[k + 1] ? 1 : 0;

    clarke_sieve_beyond(part, x, g, first, (double)first == kink ? (float)proxy : slope, slope, n);
    if (proxy != 0 && proxy != 1)
      for (size_t j = 0; j < n; j++)
        lost += (double)x[j] == kink && (double)part[j] != proxy * (double)g[j];
  }
  return lost == 0;
}

static clarke_status
piecewise_back(clarke_sieve *s, size_t i, clarke_error *err)
{
  const clarke_step *step = &s->g->steps[i];
  const size_t value = step->in[0].value;
  const float *g = s->grad[step->out].exact, *x;
  float *part;
  double kink[CLARKE_MAX_KINKS], proxy[CLARKE_MAX_KINKS], number[CLARKE_MAX_KINKS + 1];
  bool itself[CLARKE_MAX_KINKS + 1];
  clarke_status status;

  if (!s->carries[value])
    return CLARKE_OK;
  s->open = s->open || !clarke_sieve_selects(kink, number, itself, &step->pieces);
  status = read_proxies(proxy, s, i, err);
  if (status != CLARKE_OK || s->open)
    return status;
  x = clarke_sieve_known(s, value, err);
  if (x == NULL)
    return s->open ? CLARKE_OK : clarke_no_memory(err);
  part = clarke_sieve_take_floats(s, s->g->values[value].count * s->n);
  for (size_t f = 0; part != NULL && f < s->g->values[value].count; f++)
    s->open = !select_row_back(part + f * s->n, &step->pieces, kink, proxy, itself, x + f * s->n, g + f * s->n, s->n) || s->open;
  if (s->reads[value] == 1 && value != s->g->output)
    clarke_sieved_clear(s, &s->value[value]);
  return give(s, value, part, 7, err);
}

/* What the windows in row f give to row `from`, which is in them. */
CLARKE_WIDE static void
give_winner(float *restrict part, uint32_t from, const uint32_t *restrict winner, const float *restrict g, size_t n)
{
  for (size_t j = 0; j < n; j++)
    part[j] = winner[j] == from ? g[j] : 0;
}

/* To the winners of windows that overlap: what comes back from several of them is added up. An entry that a window has twice is one. */
static clarke_status
overlap_back(clarke_sieve *s, const clarke_step *step, size_t readers, clarke_error *err)
{
  const clarke_operand *o = &step->in[0];
  const size_t windows = s->g->values[step->out].count, count = s->g->values[o->value].count, n = s->n;
  const uint32_t *winner = s->winner[step - s->g->steps];
  const float *g = s->grad[step->out].exact;
  clarke_sieved *to = &s->grad[o->value];
  double *row = clarke_sieve_line_room(s, n);
  size_t *met = calloc(count + 1, sizeof *met);
  const bool well = row != NULL && met != NULL && clarke_sieve_begin_gradient(s, to, count, n);

  for (size_t e = 0; well && e < windows * step->width; e++) {
    const size_t from = o->map[e], window = e / step->width;
    clarke_sieve_sums sums;

    if (from == CLARKE_NONE || met[from] == window + 1)
      continue;
    met[from] = window + 1;
    sums = clarke_sieve_sums_of(to, from * n);
    for (size_t j = 0; j < n; j++)
      row[j] = winner[window * n + j] == from ? (double)g[window * n + j] : 0;
    clarke_sieve_join_moved_line(&sums, to->joined + from * n, row, 1, n);
  }
  clarke_sieve_leave(s, row);
  free(met);
  to->terms += (double)readers;
  to->parts += 2;
  return well ? CLARKE_OK : clarke_no_memory(err);
}

/* To the winners. */
static clarke_status
maximum_back(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  const clarke_operand *o = &step->in[0];
  const size_t count = s->g->values[step->out].count, width = step->width, n = s->n;
  const uint32_t *winner = s->winner[step - s->g->steps];
  const float *g = s->grad[step->out].exact;
  float *part;
  size_t read = 0, readers;

  if (!s->carries[o->value])
    return CLARKE_OK;
  if (count_readers(&readers, s, o, count * width, err) != CLARKE_OK)
    return CLARKE_ENOMEM;
  s->open = s->open || o->map == NULL;
  if (s->open)
    return CLARKE_OK;
  if (readers > 1)
    return overlap_back(s, step, readers, err);
  for (size_t e = 0; e < count * width; e++)
    read += o->map[e] != CLARKE_NONE;
  part = read == s->g->values[o->value].count ? clarke_sieve_take_floats(s, read * n) : zeros(s, s->g->values[o->value].count * n);
  for (size_t e = 0; part != NULL && e < count * width; e++)
    if (o->map[e] != CLARKE_NONE)
      give_winner(part + o->map[e] * n, (uint32_t)o->map[e], winner + e / width * n, g + e / width * n, n);
  return give(s, o->value, part, 1, err);
}

clarke_status
clarke_sieve_step_back(clarke_sieve *s, size_t i, clarke_error *err)
{
  const clarke_step *step = &s->g->steps[i];

  switch (step->kind) {
  case CLARKE_GATHER:
    return move_back(s, step, err);
  case CLARKE_SUM:
    return sum_back(s, step, err);
  case CLARKE_DENSE:
    return s->grad[step->out].exact != NULL && (step->dense.outer > 1 || clarke_value_is_wrt(s->g, step->dense.weight))
             ? clarke_sieve_dense_back(s, step, err)
             : clarke_sieve_dense_entries_back(s, step, err);
  case CLARKE_PIECEWISE:
  case CLARKE_MAX:
    s->open = s->open || s->grad[step->out].exact == NULL;
    return s->open ? CLARKE_OK : step->kind == CLARKE_MAX ? maximum_back(s, step, err) : piecewise_back(s, i, err);
  case CLARKE_SCALE:
    return i > 0 && clarke_sieve_is_affine(s, i - 1) ? clarke_sieve_affine_back(s, i - 1, err) : clarke_sieve_scale_back(s, step, err);
  case CLARKE_ANALYTIC:
    return clarke_sieve_analytic_back(s, step, err);
  case CLARKE_SOFTMAX:
    return clarke_sieve_softmax_back(s, step, err);
  case CLARKE_NORMALIZE:
    return clarke_sieve_normalize_back(s, step, err);
  case CLARKE_PRODUCT:
    return clarke_sieve_contract_back(s, step, err);
  }
  return CLARKE_OK;
}
