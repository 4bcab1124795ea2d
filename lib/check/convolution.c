/* Operators of convolutional networks, made into steps (docs/operators.md); near values,
 * without which such networks would take hours. */
#include "convolution.h"
#include "normalization.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Windows over the last one or two axes of an input (n, channels, rows, columns), [0] and [1]; when
 * there is one, there is one row. */
typedef struct {
  size_t n, channels, in[2], out[2], width[2], stride[2], dilation[2], pad[2], after[2];
} windows;

void
add_rows(const builder *b, step *s, size_t width, size_t factors, size_t sources)
{
  size_t *all = &b->net->products, each;
  bool huge = __builtin_mul_overflow(s->n, b->net->batch, &each) || __builtin_mul_overflow(each, width, &each)
              || __builtin_add_overflow(*all, each, all);
  within(LIMIT_PRODUCTS, huge ? NONE : *all, "node %zu: with it one pass has more products", b->place);
  count_entries(b, factors, width);
  count_entries(b, sources, width);
  s->width = width;
  s->n_factors = factors * width;
  s->n_sources = sources * width;
  s->factors = allocate(s->n_factors, sizeof *s->factors);
  s->factor_row = allocate(s->n, sizeof(size_t));
  s->sources = allocate(s->n_sources, sizeof *s->sources);
  s->source_row = allocate(s->n, sizeof(size_t));
  for (size_t i = 0; i < s->n_factors; i++)
    s->factors[i].coef = &plus_one;
  for (size_t i = 0; i < s->n_sources; i++)
    s->sources[i].step = NONE;
  for (size_t f = 0; f < s->n; f++) {
    s->factor_row[f] = factors == s->n ? f : 0;
    s->source_row[f] = sources == s->n ? f : 0;
  }
}

/* The string, or the default when there is none. */
static const char *
text_attribute(const builder *b, const char *name, const char *absent)
{
  for (size_t i = 0; i < b->node->n_attributes; i++) {
    const tensor *t = &b->node->attributes[i];
    need(strcmp(t->name, name) != 0 || t->text != NULL, "an attribute is not of the right type");
    if (t->text != NULL && strcmp(t->name, name) == 0)
      absent = t->text;
  }
  return absent;
}

/* One integer for each of the last axes, from entry `at` of the attribute; or the default. */
static void
axes_attribute(const builder *b, const char *name, size_t at, size_t *list, size_t absent)
{
  size_t n = b->in[0].rank - 2;
  const tensor *t = find_attribute(b, name);
  list[0] = absent;
  for (size_t i = 0; i < n; i++) {
    long given = t != NULL ? whole_entry(b, t, at + i) : (long)absent;
    need((t == NULL || t->count == (*name == 'p' ? 2 * n : n)) && given >= 0 && given <= INT32_MAX,
         "not one number, from 0 to 2^31 - 1, for each axis");
    list[2 - n + i] = (size_t)given;
  }
}

/* The number of windows along axis i, and its padding when that is automatic. */
static void
place_windows(const builder *b, windows *g, size_t i, const char *how, bool ceil)
{
  long in = (long)g->in[i], reach = (long)((g->width[i] - 1) * g->dilation[i] + 1), by = (long)g->stride[i];
  if (strncmp(how, "SAME_", 5) == 0) {
    long total = (in + by - 1) / by * by - by + reach - in;
    total = total > 0 ? total : 0;
    g->out[i] = (size_t)((in + by - 1) / by);
    g->pad[i] = (size_t)(total + (how[5] == 'L')) / 2;
    g->after[i] = (size_t)total - g->pad[i];
    return;
  }
  long room = in + (long)g->pad[i] + (long)g->after[i] - reach + (ceil ? by - 1 : 0);
  need(room >= 0, "a window is larger than the input");
  g->out[i] = (size_t)(room / by) + 1;
  /* The last window must not start in the padding behind. */
  if (ceil && (g->out[i] - 1) * g->stride[i] >= g->in[i] + g->pad[i])
    g->out[i]--;
}

/* Of the node's input 0, which they have as many axes as; width: of the windows, by a weight's shape
 * or NULL. */
static windows
read_windows(const builder *b, const size_t *width)
{
  const value *x = &b->in[0];
  windows g = {.in = {1, 1}, .width = {1, 1}};
  need(x->constant == NULL && (x->rank == 3 || x->rank == 4), "its input must be an activation of 3 or 4 axes");
  size_t n = x->rank - 2;
  const char *how = text_attribute(b, "auto_pad", "NOTSET");
  bool given = strcmp(how, "NOTSET") == 0, valid = strcmp(how, "VALID") == 0;
  need(given || valid || strcmp(how, "SAME_UPPER") == 0 || strcmp(how, "SAME_LOWER") == 0, "unknown auto_pad");
  need(given || find_attribute(b, "pads") == NULL, "auto_pad with pads");
  need(width != NULL || find_attribute(b, "kernel_shape") != NULL, "kernel_shape is missing");
  if (width != NULL)
    memcpy(g.width + 2 - n, width, n * sizeof *width);
  size_t same[2] = {g.width[0], g.width[1]};
  g.n = x->dims[0];
  g.channels = x->dims[1];
  memcpy(g.in + 2 - n, x->dims + 2, n * sizeof *x->dims);
  axes_attribute(b, "strides", 0, g.stride, 1);
  axes_attribute(b, "dilations", 0, g.dilation, 1);
  axes_attribute(b, "pads", 0, g.pad, 0);
  axes_attribute(b, "pads", n, g.after, 0);
  if (find_attribute(b, "kernel_shape") != NULL)
    axes_attribute(b, "kernel_shape", 0, g.width, 1);
  for (size_t i = 0; i < 2; i++) {
    need(width == NULL || g.width[i] == same[i], "kernel_shape is not the weight's");
    need(g.width[i] > 0 && g.width[i] <= INT32_MAX && g.dilation[i] > 0 && g.stride[i] > 0 && g.in[i] <= INT32_MAX,
         "a number is 0 or too large");
    place_windows(b, &g, i, how, given && whole_attribute(b, "ceil_mode", 0) != 0);
  }
  return g;
}

/* Where window (i, j) has its entry (r, c) in a plane of the input; NONE in the padding. */
static size_t
place_in(const windows *g, size_t i, size_t j, size_t r, size_t c)
{
  size_t row = i * g->stride[0] + r * g->dilation[0], column = j * g->stride[1] + c * g->dilation[1];
  bool inside = row >= g->pad[0] && row - g->pad[0] < g->in[0] && column >= g->pad[1] && column - g->pad[1] < g->in[1];
  return inside ? (row - g->pad[0]) * g->in[1] + column - g->pad[1] : NONE;
}

/* The sources of output `place` of a plane: the window's entries in a plane of x. */
static source *
put_window(const builder *b, const windows *g, size_t place, size_t plane, source *t)
{
  const value *x = &b->in[0];
  for (size_t r = 0; r < g->width[0]; r++)
    for (size_t c = 0; c < g->width[1]; c++, t++) {
      size_t at = place_in(g, place / g->out[1], place % g->out[1], r, c);
      *t = (source){PADDING, 0};
      if (at != NONE)
        *t = (source){x->step, x->map[plane * g->in[0] * g->in[1] + at]};
    }
  return t;
}

/* The output's shape, with so many channels: its number of axes. */
static size_t
shape(const builder *b, const windows *g, size_t channels, size_t *dims)
{
  size_t n = b->in[0].rank - 2;
  dims[0] = g->n;
  dims[1] = channels;
  memcpy(dims + 2, g->out + 2 - n, n * sizeof *dims);
  return n + 2;
}

/* Conv: output channel o is of the channels of group o / (channels of output / groups). A row of factors
 * for each o; one of sources for each image, group and place. */
void
lower_convolution(builder *b)
{
  const value *w = &b->in[1], *c = &b->in[2];
  need(w->constant != NULL && w->rank == b->in[0].rank && w->rank > 2 && w->count > 0, "the weight does not fit");
  windows g = read_windows(b, w->dims + 2);
  size_t outer = w->dims[0], inner = w->dims[1], area = product(g.width, 2), dims[MAX_RANK];
  long groups = whole_attribute(b, "group", 1);
  need(groups > 0 && inner <= g.channels && (size_t)groups * inner == g.channels && outer % (size_t)groups == 0,
       "the groups do not fit");
  need(c->name == NULL || (c->constant != NULL && c->rank == 1 && c->count == outer), "the bias does not fit");
  size_t places = product(g.out, 2), n = g.n * (size_t)groups, axes = shape(b, &g, outer, dims), of = inner * area;
  step *s = add_step(b, LINEAR, 0, axes, dims);
  add_rows(b, s, of + (c->name != NULL), outer, n * places);
  for (size_t f = 0; f < s->n; f++) {
    size_t o = f / places % outer, group = f / places / outer * (size_t)groups + o / (outer / (size_t)groups);
    s->factor_row[f] = o;
    s->source_row[f] = group * places + f % places;
  }
  for (size_t row = 0; row < n * places; row++)
    for (size_t i = 0; i < inner; i++)
      put_window(b, &g, row % places, row / places * inner + i, &s->sources[row * s->width + i * area]);
  for (size_t o = 0; o < outer; o++) {
    factor *t = &s->factors[o * s->width];
    for (size_t i = 0; i < of; i++)
      factor_of(b, t + i, w, o * of + i);
    if (c->name != NULL)
      factor_of(b, t + of, c, o);
  }
}

/* How many entries of window `place` along axis i are counted: all in the padding, or none. */
static size_t
counted(const windows *g, size_t i, size_t place, bool all)
{
  size_t n = 0, from = all ? 0 : g->pad[i], to = g->pad[i] + g->in[i] + (all ? g->after[i] : 0);
  for (size_t r = 0; r < g->width[i]; r++) {
    size_t at = place * g->stride[i] + r * g->dilation[i];
    n += at >= from && at < to;
  }
  return n;
}

/* AveragePool, MaxPool. */
void
lower_pool(builder *b)
{
  windows g = read_windows(b, NULL);
  bool max = b->op[0] == 'M', all = whole_attribute(b, "count_include_pad", 0) != 0;
  size_t dims[MAX_RANK], places = product(g.out, 2);
  need(whole_attribute(b, "storage_order", 0) == 0, "a storage_order other than 0");
  need(!max || product(g.width, 2) <= MAX_WINDOW, "a window of more than 126 entries");
  step *s = add_step(b, max ? WINDOW : LINEAR, product(g.width, 2), shape(b, &g, g.channels, dims), dims);
  rational *share = rationals(max ? 0 : places);
  for (size_t i = 0; i < places; i++) {
    size_t inside = counted(&g, 0, i / g.out[1], false) * counted(&g, 1, i % g.out[1], false);
    need(inside > 0, "a window of padding alone");
    if (!max)
      mpq_set_ui(&share[i], 1, counted(&g, 0, i / g.out[1], all) * counted(&g, 1, i % g.out[1], all));
  }
  for (size_t f = 0; f < s->n; f++) {
    put_window(b, &g, f % places, f / places, &s->sources[f * s->width]);
    for (size_t i = 0; !max && i < s->width; i++)
      s->factors[f * s->width + i].coef = &share[f % places];
  }
}

/* GlobalAveragePool, over all axes but two; ReduceMean. */
void
lower_mean(builder *b)
{
  const value *x = &b->in[0];
  bool global = b->op[0] == 'G', over[MAX_RANK] = {false};
  size_t kept[MAX_RANK], gone[MAX_RANK], stride[MAX_RANK], dims[MAX_RANK], n = 0, next = 1;
  long axes[MAX_RANK], keep = whole_attribute(b, "keepdims", 1);
  bool named = !global && (b->in[1].name != NULL || find_attribute(b, "axes") != NULL);
  size_t count = named ? whole_list(b, 1, "axes", axes) : 0;
  need(x->constant == NULL && (!global || x->rank > 2), "its input must be an activation; of three axes or more");
  need(count > 0 || whole_attribute(b, "noop_with_empty_axes", 0) == 0, "noop_with_empty_axes");
  for (size_t i = 0; i < count; i++) {
    size_t axis = axis_of(b, axes[i], x->rank);
    need(!over[axis], "an axis twice");
    over[axis] = true;
  }
  for (size_t i = 0; i < x->rank && count == 0; i++)
    over[i] = !global || i > 1;
  need(!is_batch(b, x) || !over[0], "the batch axis would be mixed");
  for (size_t i = x->rank; i-- > 0; next *= x->dims[i]) {
    stride[i] = next;
    kept[i] = over[i] ? 1 : x->dims[i];
    gone[i] = over[i] ? x->dims[i] : 1;
  }
  for (size_t i = 0; i < x->rank; i++)
    if (!over[i] || keep != 0)
      dims[n++] = kept[i];
  size_t *from = index_map(b, x->rank, kept, stride, NULL), *at = index_map(b, x->rank, gone, stride, NULL);
  step *s = add_step(b, LINEAR, product(gone, x->rank), n, dims);
  rational *share = rationals(1);
  mpq_set_ui(share, 1, s->width);
  for (size_t i = 0; i < s->n * s->width; i++)
    operand(b, s, i, x, from[i / s->width] + at[i % s->width])->coef = share;
}

/* A constant's part is as a bias is: terms without an x. */
void
lower_concat(builder *b)
{
  value *x = b->in;
  bool activation = false;
  size_t axis = axis_of(b, whole_attribute(b, "axis", 1), x->rank), dims[MAX_RANK], before = 0;
  size_t apart = product(x->dims + axis + 1, x->rank - axis - 1);
  memcpy(dims, x->dims, sizeof dims);
  dims[axis] = 0;
  need(find_attribute(b, "axis") != NULL && (!b->net->batched || axis > 0), "no axis, or the batch's");
  for (size_t i = 0; i < b->node->n_in; i++) {
    need(x[i].rank == x->rank, "not the same axes");
    need(x[i].constant == NULL || b->net->together == 1, "a constant, which has not the axis of all samples");
    activation = activation || x[i].constant == NULL;
    for (size_t j = 0; j < x->rank; j++)
      need(j == axis || x[i].dims[j] == dims[j], "the shapes do not fit");
    dims[axis] += x[i].dims[axis];
  }
  need(activation, "only constants");
  step *s = add_step(b, LINEAR, 1, x->rank, dims);
  s->copy = true;
  for (size_t i = 0; i < b->node->n_in; before += x[i++].dims[axis])
    for (size_t f = 0; f < x[i].count; f++) {
      size_t block = x[i].dims[axis] * apart;
      operand(b, s, (f / block * dims[axis] + before) * apart + f % block, &x[i], f);
    }
}

/* Pad with zeros; fewer than none cut off. */
void
lower_pad(builder *b)
{
  const value *x = &b->in[0], *with = &b->in[2];
  long pads[MAX_RANK], axes[MAX_RANK], before[MAX_RANK] = {0};
  size_t dims[MAX_RANK], n = whole_list(b, 1, "pads", pads), count = x->rank;
  bool padded[MAX_RANK] = {false};
  rational *number = rationals(1);
  real_attribute(b, "value", number, 0);
  need(strcmp(text_attribute(b, "mode", "constant"), "constant") == 0 && mpq_sgn(number) == 0
           && (with->name == NULL
               || (with->constant != NULL && with->constant->real && with->count == 1
                   && mpq_sgn(&with->constant->value[with->map[0]]) == 0)),
       "not with zeros");
  if (with->name != NULL)
    with->constant->number = true;
  for (size_t i = 0; i < x->rank; i++)
    axes[i] = (long)i;
  if (b->in[3].name != NULL)
    count = whole_list(b, 3, "", axes);
  need(x->constant == NULL && n == 2 * count, "its input must be an activation, and pads two for each axis");
  memcpy(dims, x->dims, sizeof dims);
  for (size_t i = 0; i < count; i++) {
    size_t axis = axis_of(b, axes[i], x->rank);
    need(labs(pads[i]) <= INT32_MAX && labs(pads[count + i]) <= INT32_MAX && dims[axis] <= INT32_MAX && !padded[axis],
         "an axis twice, or too large a number");
    padded[axis] = true;
    long size = (long)dims[axis] + pads[i] + pads[count + i];
    need(size > 0 && (!is_batch(b, x) || axis > 0 || (pads[i] == 0 && pads[count + i] == 0)),
         "the batch axis is padded, or nothing is left");
    before[axis] = pads[i];
    dims[axis] = (size_t)size;
  }
  step *s = add_step(b, LINEAR, 1, x->rank, dims);
  s->copy = true;
  for (size_t f = 0; f < s->n; f++) {
    size_t rest = f, at = 0, stride = 1;
    bool inside = true;
    for (size_t i = x->rank; i-- > 0; stride *= x->dims[i], rest /= dims[i]) {
      long place = (long)(rest % dims[i]) - before[i];
      inside = inside && place >= 0 && place < (long)x->dims[i];
      at += inside ? (size_t)place * stride : 0;
    }
    if (inside)
      operand(b, s, f, x, at);
    else
      s->sources[f].step = PADDING;
  }
}

/* ---- Near values. Of a LINEAR step m are the factors in units of 2^-shift, rounded down, at most `slack`
 * from the true ones, and norm is width times the largest |m|. With |c| <= most, the true sum of factors
 * (m + slack') by values (c + r') is at most norm r + width slack (most + r) off from the sum of m c. That is
 * then rounded down to units. */

/* How many binary digits q has after the point: ULONG_MAX, when they do not end. */
static unsigned long
digits(const rational *q)
{
  unsigned long n = mpz_sizeinbase(mpq_denref(q), 2) - 1;
  return mpz_scan1(mpq_denref(q), 0) == n ? n : ULONG_MAX;
}

static void
larger(integer *y, const integer *z)
{
  if (mpz_cmpabs(z, y) > 0)
    mpz_abs(y, z);
}

/* A factor that may not be rational. */
static void
factor_interval(const step *st, const factor *t, interval *q)
{
  if (st->kind == LINEAR)
    weigh(st, t, false, &q->lo);
  interval_set(q, st->kind == LINEAR ? &q->lo : &st->root[t->at].lo, st->kind == LINEAR ? &q->lo : &st->root[t->at].hi);
}

/* Of a PIECEWISE step norm is a whole number not less than any slope. */
static void
steepest(step *st)
{
  INTEGER(z);
  for (size_t i = 0; i < 3 + st->n_factors; i++) {
    const factor *t = i < 3 ? NULL : &st->factors[i - 3];
    const rational *q = t == NULL ? &st->piece[i][1] : t->w != NULL ? &t->w->value[t->at] : &zero;
    mpz_cdiv_q(&z, mpq_numref(q), mpq_denref(q));
    larger(&st->norm, &z);
    mpz_fdiv_q(&z, mpq_numref(q), mpq_denref(q));
    larger(&st->norm, &z);
  }
}

void
near_prepare(step *st)
{
  INTERVAL(q);
  INTEGER(z);
  unsigned long bits = session_bits + GUARD;
  st->norm = integer_zero();
  st->slack = integer_zero();
  if (st->kind == OVER_ROOT)
    root_prepare(st);
  if (st->kind == PIECEWISE)
    steepest(st);
  if (st->kind == WINDOW)
    mpz_set_ui(&st->norm, 1);
  if (st->kind != LINEAR && st->kind != OVER_ROOT)
    return;
  for (size_t i = 0; i < st->n_factors; i++) {
    factor_interval(st, &st->factors[i], &q);
    unsigned long n = digits(&q.lo) < bits ? digits(&q.lo) : bits;
    st->shift = n > st->shift ? n : st->shift;
  }
  st->m = allocate(st->n_factors, sizeof *st->m);
  for (size_t i = 0; i < st->n_factors; i++) {
    factor_interval(st, &st->factors[i], &q);
    st->m[i] = integer_zero();
    fixed(&st->m[i], &q.lo, st->shift, false);
    fixed(&z, &q.hi, st->shift, true);
    mpz_sub(&z, &z, &st->m[i]);
    larger(&st->slack, &z);
    larger(&st->norm, &st->m[i]);
  }
  mpz_mul_ui(&st->norm, &st->norm, st->width);
}

/* Of NONE, which is 1, the entry behind the steps. */
const integer *
center(const point *p, const near *v, source x, size_t e)
{
  return x.step == NONE ? v[p->net->n_steps].c : &v[x.step].c[entry_of(p, x, e) / p->net->apart];
}

/* Is something known near all that step s reads? How far off that is at most, and how large. */
static bool
reads(const point *p, const near *v, const step *st, integer *r, integer *most)
{
  for (size_t i = 0; i < st->n_sources; i++) {
    source x = st->sources[i];
    if (x.step == PADDING)
      continue;
    const near *from = &v[x.step == NONE ? p->net->n_steps : x.step];
    if (!from->known)
      return false;
    larger(r, &from->r);
    for (size_t b = 0; mpz_sgn(&st->slack) != 0 && b < p->net->batch / p->net->apart; b++)
      larger(most, center(p, v, x, b));
  }
  return true;
}

/* Puts c near q; is it rounded? */
static bool
put_near(integer *c, const rational *q)
{
  fixed(c, q, session_bits + GUARD, false);
  return digits(q) > session_bits + GUARD;
}

/* Sums of a LINEAR step; of OVER_ROOT products. Are some rounded? */
static bool
near_sums(const point *p, near *v, size_t s, size_t sample)
{
  const step *st = &p->net->steps[s];
  bool cut = false;
  INTEGER(sum);
  for (size_t e = sample; e < entries(p, s); e += p->net->apart) {
    size_t f = e / p->net->batch;
    const source *x = &st->sources[st->source_row[f] * st->width];
    const integer *m = &st->m[st->factor_row[f] * st->width];
    mpz_set_ui(&sum, 0);
    for (size_t i = 0; i < st->width; i++) {
      if (x[i].step == PADDING)
        continue;
      const integer *c = center(p, v, x[i], e);
      if (mpz_sgn(c) != 0)
        mpz_addmul(&sum, &m[i], c);
    }
    cut = cut || !mpz_divisible_2exp_p(&sum, st->shift);
    mpz_fdiv_q_2exp(&v[s].c[e / p->net->apart], &sum, st->shift);
  }
  return cut;
}

/* An entry of x of an open decision: what is near it may be the value itself. */
static void
note_exact(const point *p, const near *v, source x, size_t e)
{
  const interval **y = x.step < PADDING ? &p->y[x.step][entry_of(p, x, e)] : NULL;
  if (y == NULL || *y != NULL || !v[x.step].known || mpz_sgn(&v[x.step].r) != 0)
    return;
  interval *exact = intervals(1);
  unfixed(&exact->lo, center(p, v, x, e), session_bits + GUARD);
  mpq_set(&exact->hi, &exact->lo);
  *y = exact;
}

/* The piece on which x must lie, being within r of c; or NONE. */
static size_t
near_piece(const step *st, const integer *c, const integer *r)
{
  INTEGER(at);
  INTEGER(lo);
  INTEGER(hi);
  mpz_sub(&lo, c, r);
  mpz_add(&hi, c, r);
  for (size_t j = 0; j < st->n_kinks; j++) {
    fixed(&at, &st->at[j], session_bits + GUARD, false);
    if (mpz_cmp(&hi, &at) < 0)
      return j;
    mpz_add_ui(&at, &at, 1);
    if (mpz_cmp(&lo, &at) <= 0)
      return NONE;
  }
  return st->n_kinks;
}

static bool
near_pieces(point *p, near *v, size_t s, size_t sample, const integer *r)
{
  const step *st = &p->net->steps[s];
  bool cut = false;
  RATIONAL(t);
  for (size_t e = sample; e < entries(p, s); e += p->net->apart) {
    size_t i = NONE;
    const term to = term_at(p, st, e, 0);
    if (v[s].known)
      i = near_piece(st, center(p, v, to.x, e), r);
    if (i == NONE)
      note_exact(p, v, to.x, e);
    p->place[s][e] = i != NONE ? i : locate(p, s, e);
    i = p->place[s][e] & (TOUCHED - 1);
    if (!v[s].known)
      continue;
    unfixed(&t, center(p, v, to.x, e), session_bits + GUARD);
    mpq_mul(&t, &t, i == 0 && to.by.w != NULL ? &to.by.w->value[to.by.at] : &st->piece[i][1]);
    mpq_add(&t, &t, &st->piece[i][0]);
    cut = put_near(&v[s].c[e / p->net->apart], &t) || cut;
  }
  return cut;
}

/* Entries below the largest c by more than 2 r are not the largest. */
static void
near_windows(point *p, near *v, size_t s, size_t sample, const integer *r)
{
  const step *st = &p->net->steps[s];
  bool *among = allocate(st->width, sizeof *among);
  INTEGER(least);
  for (size_t e = sample; e < entries(p, s); e += p->net->apart) {
    size_t n = 0, place = 0;
    const integer *top = NULL;
    for (size_t i = 0; i < st->width && v[s].known; i++) {
      source x = term_at(p, st, e, i).x;
      if (x.step != PADDING && (top == NULL || mpz_cmp(center(p, v, x, e), top) > 0))
        top = center(p, v, x, e);
    }
    if (v[s].known) {
      mpz_set(&v[s].c[e / p->net->apart], top);
      mpz_sub(&least, top, r);
      mpz_sub(&least, &least, r);
    }
    for (size_t i = 0; i < st->width; i++) {
      source x = term_at(p, st, e, i).x;
      among[i] = x.step != PADDING && (!v[s].known || mpz_cmp(center(p, v, x, e), &least) >= 0);
      if (among[i]) {
        note_exact(p, v, x, e);
        n++;
        place = i;
      }
    }
    p->place[s][e] = n > 1 ? window_place(p, s, e, among) : place;
  }
  free(among);
}

static void
near_step(point *p, near *v, size_t s, size_t sample)
{
  const step *st = &p->net->steps[s];
  bool cut = false, straight = st->kind != SOFTMAX;
  INTEGER(r);
  INTEGER(most);
  for (size_t i = 0; i < 3; i++)
    straight = straight && mpq_sgn(&st->piece[i][2]) == 0;
  v[s].known = straight && reads(p, v, st, &r, &most);
  for (size_t e = sample; e < entries(p, s) && st->kind == INPUT; e += p->net->apart) {
    size_t f = e / p->net->batch, b = e % p->net->batch;
    cut = put_near(&v[s].c[e / p->net->apart], &p->x->value[b * st->n + f]) || cut;
  }
  if (st->kind == PIECEWISE)
    cut = near_pieces(p, v, s, sample, &r);
  if (st->kind == WINDOW)
    near_windows(p, v, s, sample, &r);
  if (v[s].known && (st->kind == LINEAR || st->kind == OVER_ROOT))
    cut = near_sums(p, v, s, sample);
  if (v[s].known && st->kind == NORMALIZE)
    normalize_near(p, v, s, sample, &r);
  mpz_add(&most, &most, &r);
  mpz_mul(&most, &most, &st->slack);
  mpz_mul_ui(&most, &most, st->width);
  mpz_addmul(&most, &st->norm, &r);
  mpz_cdiv_q_2exp(&most, &most, st->shift);
  mpz_add_ui(&most, &most, 2 * cut);
  larger(&v[s].r, &most);
}

near *
near_values(point *p, size_t sample)
{
  cell none = {.degree = p->degree};
  size_t n = p->net->n_steps;
  near *v = allocate(n + 1, sizeof *v);
  for (size_t s = 0; s <= n; s++) {
    v[s].n = s < n ? entries(p, s) / p->net->apart : 1;
    v[s].c = allocate(v[s].n, sizeof *v[s].c);
    v[s].r = integer_zero();
    for (size_t i = 0; i < v[s].n; i++)
      v[s].c[i] = integer_zero();
  }
  mpz_setbit(v[n].c, session_bits + GUARD);
  v[n].known = true;
  for (size_t s = 0; s < n; s++) {
    near_step(p, v, s, sample);
    if (s < p->last_window)
      cell_settle_step(&none, p, s, sample, false);
  }
  return v;
}

void
near_free(const point *p, near *v)
{
  for (size_t s = 0, n = p->net->n_steps; s <= n; s++) {
    for (size_t i = 0; i < v[s].n; i++)
      mpz_clear(&v[s].c[i]);
    mpz_clear(&v[s].r);
    free(v[s].c);
  }
  free(v);
}
