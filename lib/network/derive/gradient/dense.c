/* Products of the gradient: forward, back to the operand, and back to the weight (docs/gradient.md). What a convolution gathers is
 * gathered in panels that stay near. */
#include "network/derive/gradient/back_fixed.h"

#include "network/derive/gradient/rows.h"
#include "network/derive/gradient/sliced.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Doubles of the columns gathered at a time, and their number at least. */
#define PANEL ((size_t)1 << 16)
#define PANEL_COLUMNS ((size_t)256)

/* A DENSE step at work; x is gathered through a map, or is the operand. */
typedef struct {
  clarke_gradient_pass *p;
  const clarke_step *s;
  const clarke_dense *d;
  size_t slices;     /* of x on the way forward, of g back */
  size_t source;     /* the value that is gathered from */
  const size_t *map; /* NULL: it is the operand */
  size_t places;     /* of a panel, at most */
  double root;       /* at least by how much the norm of what is gathered exceeds that of its source */
  clarke_sliced_weight w;
  int top;
  clarke_digit_matrix whole; /* all of x, or of g, of at most 2^top */
  double tail;               /* at least the norm of its tail in any lane */
  bool taken;                /* its digits are the doubles themselves */
  clarke_digit_matrix b;     /* a panel of x that is gathered */
  double *x;             /* a panel of x on the way back, in doubles */
  double *part;          /* a sum of doubles */
  double *high, *low;    /* W^T g of a panel */
  clarke_fixed fixed;    /* the same in fixed point, where it is asked for there */
  clarke_sliced_waiting waiting; /* and sums of it */
  double *x_squares, *g_squares; /* by row and sample, on the way back */
} dense;

/* --- a step at work -------------------------------------------------------------------------- */

static void
dense_clear(dense *q)
{
  clarke_sliced_weight_clear(&q->w);
  if (!q->taken)
    clarke_digits_clear(&q->whole);
  clarke_digits_clear(&q->b);
  free(q->x);
  free(q->part);
  free(q->high);
  free(q->low);
  free(q->fixed.limb);
  free(q->waiting.sum);
  free(q->x_squares);
  free(q->g_squares);
}

static void
find_source(dense *q)
{
  const clarke_step *gather = q->p->deferred[q->s->in[0].value];

  q->source = q->s->in[0].value;
  q->root = 1;
  if (gather == NULL)
    return;
  q->source = gather->in[0].value;
  q->map = gather->in[0].map;
  q->root = q->p->growths->growth[gather - q->p->g->steps][0].norm;
}

static size_t
larger(size_t a, size_t b)
{
  return a > b ? a : b;
}

/* Room for panels. */
static clarke_status
dense_room(dense *q, bool back)
{
  const clarke_dense *d = q->d;
  const bool fixed = back && q->p->grad[q->s->out].fixed.limb != NULL;
  const size_t n = q->p->n, least = (fixed ? PANEL_COLUMNS / 4 : PANEL_COLUMNS) / n + 1;
  const size_t of_weight = back && clarke_value_is_wrt(q->p->g, d->weight) ? d->outer * d->inner : 0;
  size_t width;

  q->places = larger((fixed ? PANEL / 4 : PANEL) / (d->inner * n + 1), least);
  q->places = q->places < d->repeat ? q->places : d->repeat;
  width = q->places * n;
  clarke_sliced_room(&q->b, !back && q->map != NULL ? d->inner * width : 0, q->slices, 0);
  q->x = malloc((of_weight > 0 ? d->inner * width : 0) * sizeof *q->x + 1);
  q->part = malloc((larger(larger(d->outer, d->inner) * width, of_weight) + 1) * sizeof *q->part);
  q->high = malloc((back ? d->inner * width : 0) * sizeof *q->high + 1);
  q->low = malloc((back ? d->inner * width : 0) * sizeof *q->low + 1);
  if (back && q->p->grad[q->s->out].fixed.limb != NULL) {
    q->fixed = (clarke_fixed){NULL, q->p->plan->limbs, q->p->plan->unit};
    q->fixed.limb = malloc((d->inner * width * q->fixed.limbs + 1) * sizeof *q->fixed.limb);
    q->waiting.sum = malloc((d->inner * width + 1) * sizeof *q->waiting.sum);
    if (q->fixed.limb == NULL || q->waiting.sum == NULL)
      return clarke_no_memory(q->p->err);
  }
  q->x_squares = calloc(of_weight > 0 ? d->inner * n + 1 : 1, sizeof *q->x_squares);
  q->g_squares = calloc(of_weight > 0 ? d->outer * n + 1 : 1, sizeof *q->g_squares);
  return q->b.digit != NULL && q->b.plane != NULL && q->x != NULL && q->part != NULL && q->high != NULL && q->low != NULL && q->x_squares != NULL &&
                 q->g_squares != NULL
           ? CLARKE_OK
           : clarke_no_memory(q->p->err);
}

/* Numbers cut at a time. */
#define CUT_TOGETHER ((size_t)1024)

/* Cuts all of v, of which a number may be gathered many times; doubles that need no slices are taken as they are. */
static clarke_status
cut_whole(dense *q, const clarke_normed *v, size_t features)
{
  const size_t count = features * q->p->n;
  double high[CUT_TOGETHER], low[CUT_TOGETHER] = {0};

  if (q->slices == 0 && v->low == NULL && v->fixed.limb == NULL) {
    q->whole.digit = v->at;
    q->taken = true;
    return CLARKE_OK;
  }
  if (!clarke_sliced_room(&q->whole, count, q->slices, q->top))
    return clarke_no_memory(q->p->err);
  if (v->fixed.limb != NULL)
    clarke_sliced_cut_fixed(&q->whole, 0, &v->fixed, 0, count);
  for (size_t at = 0; at < count && v->fixed.limb == NULL; at += CUT_TOGETHER) {
    const size_t len = count - at < CUT_TOGETHER ? count - at : CUT_TOGETHER;

    memcpy(high, v->at + at, len * sizeof *high);
    if (v->low != NULL)
      memcpy(low, v->low + at, len * sizeof *low);
    else
      memset(low, 0, len * sizeof *low);
    clarke_sliced_cut(&q->whole, at, high, low, len);
  }
  return clarke_largest_norm(&q->tail, clarke_digits_row(&q->whole, q->whole.planes, 0), features, q->p->n, q->p->lanes, q->p->err);
}

/* Slices of numbers in fixed point end at their unit, and leave room for what is rounded. */
static void
cut_within(dense *q, const clarke_fixed *v)
{
  q->top = q->top > v->unit ? q->top : v->unit;
  q->p->lost = q->p->lost || q->top - v->unit > (int)v->limbs * CLARKE_FIXED_LIMB - 2;
  while (q->slices > 0 && q->top + 1 - (int)q->slices * CLARKE_GRADIENT_SLICE < v->unit)
    q->slices--;
}

static clarke_status
dense_init(dense *q, clarke_gradient_pass *p, const clarke_step *s, bool back)
{
  const clarke_value *w = &p->g->values[s->dense.weight];
  const clarke_digit_layout forth = {s->dense.transposed, s->dense.outer, s->dense.inner};
  const clarke_digit_layout behind = {!s->dense.transposed, s->dense.inner, s->dense.outer};
  const clarke_normed *v;
  bool fits = true;
  clarke_status status;

  *q = (dense){.p = p, .s = s, .d = &s->dense, .slices = (back ? p->plan->back_slices : p->plan->slices)[s - p->g->steps]};
  find_source(q);
  v = back ? &p->grad[s->out] : &p->value[q->source];
  status = dense_room(q, back);
  if (status == CLARKE_OK)
    status = clarke_sliced_weight_make(&q->w, &fits, w->real, w->count, back ? behind : forth, q->slices > 0, p->err);
  if (status == CLARKE_OK)
    fits = clarke_sliced_top(&q->top, v->largest) && fits;
  p->lost = p->lost || !fits;
  if (status == CLARKE_OK && v->fixed.limb != NULL)
    cut_within(q, &v->fixed);
  return status == CLARKE_OK && !p->lost ? cut_whole(q, v, p->g->values[back ? s->out : q->source].count) : status;
}

/* Where a block's weight begins. */
static size_t
weight_at(const dense *q, size_t block)
{
  return q->d->grouped ? block * q->d->outer * q->d->inner : 0;
}

/* Rows of n samples at some places of a block: feature (block, row, place). */
typedef struct {
  size_t block, rows, from, places;
} rectangle;

/* The rectangle's row i of numbers that are gathered through a map, if there is one. */
static void
gather_row(double *to, const dense *q, const double *from, const rectangle *r, size_t i, const size_t *map)
{
  const size_t first = (r->block * r->rows + i) * q->d->repeat + r->from;

  if (map == NULL)
    memcpy(to, from + first * q->p->n, r->places * q->p->n * sizeof *to);
  else
    clarke_rows_gather(to, from, map + first, r->places, q->p->n);
}

/* Where a block's rows begin at a place. */
static size_t
begin_of(const dense *q, const rectangle *r)
{
  return (r->block * r->rows * q->d->repeat + r->from) * q->p->n;
}

/* A rectangle of all that was cut: where it is, or gathered. */
static clarke_digit_matrix
panel_of(const dense *q, const rectangle *r, const size_t *map)
{
  const size_t width = r->places * q->p->n;
  clarke_digit_matrix b = q->whole;

  if (map == NULL) {
    b.digit += begin_of(q, r);
    b.stride = q->d->repeat * q->p->n;
    return b;
  }
  for (size_t s = 0; s <= q->slices; s++)
    for (size_t i = 0; i < r->rows && (s == q->slices || b.plane[s].used); i++)
      gather_row(clarke_digits_row(&q->b, s, 0) + i * width, q, clarke_digits_row(&q->whole, s, 0), r, i, map);
  b.digit = q->b.digit;
  b.apart = q->b.apart;
  b.stride = width;
  return b;
}

/* Calls `go` for each panel. */
static void
each_panel(dense *q, void (*go)(dense *, size_t block, size_t from, size_t places, void *), void *context)
{
  for (size_t b = 0; b < q->d->blocks; b++)
    for (size_t r = 0; r < q->d->repeat; r += q->places)
      go(q, b, r, q->d->repeat - r < q->places ? q->d->repeat - r : q->places, context);
}

/* --- forward --------------------------------------------------------------------------------- */

static void
forward_panel(dense *q, size_t block, size_t from, size_t places, void *unused)
{
  const clarke_dense *d = q->d;
  const rectangle in = {block, d->inner, from, places}, out = {block, d->outer, from, places};
  clarke_normed *y = &q->p->value[q->s->out];
  const clarke_digit_matrix b = panel_of(q, &in, q->map);
  const clarke_sliced_product go = {
    .cols = places * q->p->n, .a = &q->w, .b = &b,
    .first = weight_at(q, block), .high = y->at + begin_of(q, &out), .low = y->low != NULL ? y->low + begin_of(q, &out) : NULL,
    .stride = d->repeat * q->p->n,
  };

  (void)unused;
  clarke_sliced_multiply(&go, q->part);
  for (size_t i = 0; i < d->outer && y->low != NULL && q->slices == 0; i++)
    memset(go.low + i * go.stride, 0, go.cols * sizeof *go.low);
}

/* What a product takes: a part of the norm of what it is made of, and more. */
typedef struct {
  double part, lost;
} taking;

/* What W^T g in fixed point loses by so many additions to an entry, a unit each. */
static double
lost_in_fixed(const dense *q, double additions)
{
  const double columns = (double)(q->d->inner * q->d->blocks * q->d->repeat * (q->p->n / q->p->lanes));

  return q->fixed.limb == NULL ? 0 : clarke_bound_up(ldexp(additions * sqrt(columns), q->fixed.unit));
}

/* What a product with W takes, either way: `inner` products an entry; root: by how much the norm of what is multiplied
 * exceeds that of what was cut. The tail is rounded when it is made, and its product; each sum of slices when it is added,
 * and these are no more than absolute slices and tails together; and what is left of W is not multiplied. */
static taking
taken_by_product(const dense *q, size_t inner, double root)
{
  const clarke_dense *d = q->d;
  const double count = (double)inner * (double)(d->blocks * d->repeat) * (double)(q->p->n / q->p->lanes);
  const double size = q->p->growths->size[q->s - q->p->g->steps], entries = (double)d->outer * (double)d->inner;
  const double additions = clarke_sliced_additions(q->slices, inner);
  const double rounded = (clarke_rounded_gamma((double)inner) + clarke_taken(2, 1)) * size;
  const double rest = clarke_sliced_weight_rest(&q->w) * sqrt(entries);
  const double tail = fmin(clarke_sliced_tail(q->top, q->slices, count), root * q->tail);
  const double pairs = clarke_bound_gamma(additions, CLARKE_PAIR_UNIT) * (size + clarke_sliced_norm(&q->w.cut, entries)) + rest;

  if (q->slices == 0)
    return (taking){clarke_bound_up(rounded), lost_in_fixed(q, 1)};
  if (q->fixed.limb != NULL)
    return (taking){clarke_bound_up(rest), clarke_bound_up(rounded * tail +
                                                           rest * clarke_sliced_norm(&q->whole, count)) +
                                             lost_in_fixed(q, additions + 1)};
  return (taking){clarke_bound_up(pairs), clarke_bound_up(rounded * tail +
                                                          pairs * clarke_sliced_norm(&q->whole, count))};
}

clarke_status
clarke_dense_forward(clarke_gradient_pass *p, const clarke_step *s)
{
  const clarke_normed *x;
  dense q;
  taking taken;
  clarke_status status = dense_init(&q, p, s, false);

  if (status == CLARKE_OK && !p->lost)
    each_panel(&q, forward_panel, NULL);
  x = &p->value[q.source];
  taken = taken_by_product(&q, s->dense.inner, q.root);
  for (size_t j = 0; j < p->lanes && status == CLARKE_OK; j++)
    p->value[s->out].error[j] = clarke_bound_up(clarke_dense_growth(p, s) * x->error[j] +
                                                taken.part * q.root * x->size[j] + taken.lost);
  dense_clear(&q);
  return status;
}

/* --- back ------------------------------------------------------------------------------------ */

/* What goes back from a panel: to the weight, in its own entries, and to the operand. */
typedef struct {
  double *weight; /* or NULL */
  bool operand;
} backward;

/* squares[row * n + sample] += those of numbers in rows. */
static void
add_squares(double *squares, const double *v, size_t stride, size_t rows, size_t width, size_t n)
{
  for (size_t i = 0; i < rows; i++)
    clarke_rows_add_squares(squares + i * n, v + i * stride, n, width / n, n);
}

/* A panel's share in the weight's gradient, as it is stored. */
static void
weight_panel(dense *q, const backward *b, const rectangle *in, const rectangle *out)
{
  const clarke_dense *d = q->d;
  const size_t width = in->places * q->p->n, g_stride = d->repeat * q->p->n;
  const double *g = q->p->grad[q->s->out].at + begin_of(q, out);
  const clarke_rounded_product back = {
    .rows = d->transposed ? d->inner : d->outer, .cols = d->transposed ? d->outer : d->inner, .inner = width,
    .a = d->transposed ? q->x : g, .b = d->transposed ? g : q->x, .a_stride = d->transposed ? width : g_stride,
    .b_stride = d->transposed ? g_stride : width, .to = b->weight + weight_at(q, in->block),
    .fresh = in->from == 0 && (d->grouped || in->block == 0),
  };

  for (size_t i = 0; i < d->inner; i++)
    gather_row(q->x + i * width, q, q->p->value[q->source].at, in, i, q->map);
  clarke_rounded_multiply(&back, q->part);
  add_squares(q->x_squares, q->x, width, d->inner, width, q->p->n);
  add_squares(q->g_squares, g, g_stride, d->outer, width, q->p->n);
}

/* Some numbers of a panel's W^T g in fixed point. */
static void
add_fixed(const dense *q, size_t to, size_t term, size_t n)
{
  const clarke_fixed *x = &q->p->grad[q->source].fixed;

  for (size_t j = 0; j < n && !q->p->lost; j++)
    q->p->lost = !clarke_fixed_add(clarke_fixed_at(x, to + j), clarke_fixed_at(&q->fixed, term + j), x->limbs, false);
}

/* A panel's W^T g, back to where its operand came from. */
static void
operand_panel(dense *q, size_t block, size_t from, size_t places)
{
  const clarke_dense *d = q->d;
  const size_t n = q->p->n, width = places * n;
  const rectangle out = {block, d->outer, from, places};
  const clarke_digit_matrix b = panel_of(q, &out, NULL);
  clarke_normed *x = &q->p->grad[q->source];
  const clarke_sliced_product back = {
    .cols = width, .a = &q->w, .b = &b, .first = weight_at(q, block), .high = q->high, .low = q->low, .stride = width,
    .fixed = q->fixed.limb != NULL ? &q->fixed : NULL, .waiting = &q->waiting, .lost = &q->p->lost,
  };
  const clarke_normed terms = {.at = q->high, .low = q->slices > 0 ? q->low : NULL};

  if (q->fixed.limb != NULL)
    memset(q->fixed.limb, 0, d->inner * width * q->fixed.limbs * sizeof *q->fixed.limb);
  clarke_sliced_multiply(&back, q->part);
  for (size_t i = 0; i < d->inner; i++)
    for (size_t c = 0, run; c < places; c += run) { /* places that are one behind another go together */
      const size_t f = (block * d->inner + i) * d->repeat + from + c, e = q->map != NULL ? q->map[f] : f;
      const size_t term = i * width + c * n;

      run = q->map != NULL ? clarke_rows_run(q->map + f, places - c) : places - c;
      if (e != CLARKE_NONE && q->fixed.limb != NULL)
        add_fixed(q, e * n, term, run * n);
      else if (e != CLARKE_NONE)
        clarke_normed_add_row(x, e * n, (clarke_pair){1, 0}, &terms, term, run * n);
    }
}

/* The norm of W behind the GATHER that is left to it, if there is one. */
double
clarke_dense_growth(const clarke_gradient_pass *p, const clarke_step *s)
{
  const size_t i = (size_t)(s - p->g->steps);

  return p->deferred[s->in[0].value] != NULL ? p->growths->joined[i] : p->growths->growth[i][0].norm;
}

/* The largest norm of a row in lane j. */
static double
largest_row(const double *squares, const dense *q, size_t rows, size_t j)
{
  const size_t n = q->p->n, all = n / q->p->lanes;
  double most = 0;

  for (size_t i = 0; i < rows; i++) {
    double sum = 0;

    for (size_t k = 0; k < all; k++)
      sum += squares[i * n + j + k];
    most = fmax(most, sum);
  }
  return clarke_bound_up(sqrt(clarke_bound_up(most)));
}

/* What the weight's gradient is off by at most, of the rows that were met: |dg| |x| + (|g| + |dg|) |dx|, and rounding, of both
 * factors to doubles and of their sum. */
static double
weight_bound(const dense *q)
{
  const clarke_gradient_pass *p = q->p;
  const double columns = (double)(q->d->blocks * q->d->repeat * p->n), panels = columns / (double)(q->places * p->n) + 1;
  const double gamma = clarke_rounded_gamma(columns) + clarke_taken((double)q->d->blocks + 2 * panels, 1);
  double bound = 0;

  for (size_t j = 0; j < p->lanes; j++) {
    const double x = largest_row(q->x_squares, q, q->d->inner, j), off = p->grad[q->s->out].error[j];
    const double size = largest_row(q->g_squares, q, q->d->outer, j);

    bound += off * x + (size + off) * q->root * p->value[q->source].error[j] + gamma * size * x;
    if (p->seen != NULL) {
      p->seen->by_grad[q->s - p->g->steps] += x;
      p->seen->by_value[q->s - p->g->steps] += size * q->root;
    }
  }
  return clarke_bound_up(bound);
}

static void
back_panel(dense *q, size_t block, size_t from, size_t places, void *context)
{
  const rectangle in = {block, q->d->inner, from, places}, out = {block, q->d->outer, from, places};
  const backward *b = context;

  if (b->weight != NULL)
    weight_panel(q, b, &in, &out);
  if (!b->operand)
    return;
  operand_panel(q, block, from, places);
}

/* The bounds of the operand's gradient, before it is made. What an entry is added up of may be larger than the sum: its mass is
 * that of W^T g, as often as entries are gathered. */
static clarke_status
note_operand(const dense *q)
{
  clarke_gradient_pass *p = q->p;
  const double grow = clarke_dense_growth(p, q->s), norm = p->growths->growth[q->s - p->g->steps][0].norm;
  const taking taken = taken_by_product(q, q->d->outer, 1);
  size_t repeats = 1;
  clarke_status status = clarke_note_begin(p, q->source);

  if (status == CLARKE_OK && q->map != NULL)
    status = clarke_most_taken(&repeats, p->g, p->deferred[q->s->in[0].value], q->source, p->err);
  if (status == CLARKE_OK)
    clarke_note_term(p, q->source, &p->grad[q->s->out], grow, clarke_bound_up((norm + taken.part) * q->root),
                     taken.part * q->root, taken.lost * q->root, repeats);
  return status;
}

clarke_status
clarke_dense_back(clarke_gradient_pass *p, const clarke_step *s)
{
  const bool of_weight = clarke_value_is_wrt(p->g, s->dense.weight);
  backward b = {0};
  dense q;
  clarke_status status = dense_init(&q, p, s, true);

  b.operand = p->carries[q.source];
  if (of_weight && status == CLARKE_OK) {
    b.weight = malloc((p->g->values[s->dense.weight].count + 1) * sizeof *b.weight);
    status = b.weight != NULL ? CLARKE_OK : clarke_no_memory(p->err);
  }
  if (status == CLARKE_OK && b.operand)
    status = note_operand(&q);
  if (status == CLARKE_OK && !p->lost)
    each_panel(&q, back_panel, &b);
  if (status == CLARKE_OK && of_weight && !p->lost)
    status = clarke_note_doubles(p, s->dense.weight, b.weight, weight_bound(&q));
  else
    free(b.weight);
  dense_clear(&q);
  return status;
}
