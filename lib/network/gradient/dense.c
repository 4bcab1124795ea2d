/* Products of the gradient: forward, back to the operand, and back to the weight (docs/gradient.md). What a convolution gathers is
 * gathered in panels that stay near. */
#include "network/gradient/gradient.h"

#include "network/gradient/sliced.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Doubles of the columns gathered at a time, and their number at least. */
#define PANEL ((size_t)1 << 16)
#define PANEL_COLUMNS ((size_t)256)
/* Slices of the factors of a weight's gradient, which nothing makes larger any more. */
#define WEIGHT_SLICES 3

/* A DENSE step at work; x is gathered through a map, or is the operand. */
typedef struct {
  clarke_descent *p;
  const clarke_step *s;
  const clarke_dense *d;
  size_t slices;     /* of W, and of x or g */
  size_t source;     /* the value that is gathered from */
  const size_t *map; /* NULL: it is the operand */
  size_t places;     /* of a panel, at most */
  size_t panels;
  double root;       /* at least by how much the norm of what is gathered exceeds that of its source */
  clarke_sliced w, x, g; /* all of the weight; panels */
  double *part;          /* a sum of doubles */
  double *high, *low;    /* a row that is cut; W^T g of a panel */
  double *x_squares, *g_squares; /* by row and sample, on the way back */
} dense;

/* --- a step at work -------------------------------------------------------------------------- */

static void
dense_clear(dense *q)
{
  for (size_t i = 0; i < CLARKE_GRADIENT_MOST; i++)
    free(q->w.few[i]);
  free(q->w.digit);
  free(q->x.digit);
  free(q->g.digit);
  free(q->part);
  free(q->high);
  free(q->low);
  free(q->x_squares);
  free(q->g_squares);
}

/* All of the weight, as it is stored; its copy is cut. */
static clarke_status
cut_weight(dense *q)
{
  const clarke_value *v = &q->p->g->values[q->d->weight];
  double *high = malloc((v->count + 1) * sizeof *high), *low = calloc(v->count + 1, sizeof *low), largest = 0;
  clarke_status status = CLARKE_OK;

  if (high == NULL || low == NULL || clarke_sliced_room(&q->w, v->count, q->slices) == NULL)
    status = clarke_no_memory(q->p->err);
  for (size_t e = 0; e < v->count; e++)
    largest = fmax(largest, fabs(v->real[e]));
  q->p->lost = !clarke_sliced_top(&q->w.top, largest) || q->p->lost;
  if (status == CLARKE_OK && !q->p->lost) {
    memcpy(high, v->real, v->count * sizeof *high);
    clarke_sliced_cut(&q->w, 0, high, low, v->count);
    status = clarke_sliced_list_few(&q->w, q->p->err);
  }
  q->w.stride = q->d->transposed ? q->d->outer : q->d->inner;
  free(high);
  free(low);
  return status;
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

/* Room for panels; on the way forward there is no g. */
static clarke_status
dense_room(dense *q, bool back)
{
  const clarke_dense *d = q->d;
  const size_t n = q->p->n, least = PANEL_COLUMNS / n + 1;
  size_t width;

  q->places = larger(PANEL / (d->inner * n + 1), least);
  q->places = q->places < d->repeat ? q->places : d->repeat;
  q->panels = d->blocks * ((d->repeat + q->places - 1) / q->places);
  width = q->places * n;
  clarke_sliced_room(&q->x, d->inner * width, q->slices);
  clarke_sliced_room(&q->g, back ? d->outer * width : 0, q->slices);
  q->part = malloc((larger(larger(d->outer, d->inner) * width, back ? d->outer * d->inner : 0) + 1) * sizeof *q->part);
  q->high = malloc((larger(d->inner, d->outer) * width + 1) * sizeof *q->high);
  q->low = malloc((larger(d->inner, d->outer) * width + 1) * sizeof *q->low);
  q->x_squares = calloc(back ? d->inner * n + 1 : 1, sizeof *q->x_squares);
  q->g_squares = calloc(back ? d->outer * n + 1 : 1, sizeof *q->g_squares);
  return q->x.digit != NULL && q->g.digit != NULL && q->part != NULL && q->high != NULL && q->low != NULL &&
                 q->x_squares != NULL && q->g_squares != NULL
           ? CLARKE_OK
           : clarke_no_memory(q->p->err);
}

static clarke_status
dense_init(dense *q, clarke_descent *p, const clarke_step *s, bool back)
{
  clarke_status status;

  *q = (dense){.p = p, .s = s, .d = &s->dense, .slices = back ? p->back_slices : p->slices};
  find_source(q);
  status = dense_room(q, back);
  if (status == CLARKE_OK)
    status = cut_weight(q);
  if (status == CLARKE_OK && p->value[q->source].at != NULL)
    p->lost = !clarke_sliced_top(&q->x.top, p->value[q->source].largest) || p->lost;
  if (status == CLARKE_OK && back)
    p->lost = !clarke_sliced_top(&q->g.top, p->grad[s->out].largest) || p->lost;
  return status;
}

/* Where a block's weight begins. */
static size_t
weight_at(const dense *q, size_t block)
{
  return q->d->grouped ? block * q->d->outer * q->d->inner : 0;
}

static clarke_sliced
weight_of(const dense *q, size_t block)
{
  clarke_sliced w = q->w;

  w.digit += weight_at(q, block);
  return w;
}

/* Rows of n samples at some places of a block: feature (block, row, place). */
typedef struct {
  size_t block, rows, from, places;
} rectangle;

/* Gathers a rectangle of v, through a map, and cuts it. */
static void
cut_rectangle(clarke_sliced *m, dense *q, const clarke_normed *v, const rectangle *r, const size_t *map)
{
  const size_t n = q->p->n, width = r->places * n;

  clarke_sliced_forget(m);
  m->stride = width;
  for (size_t i = 0; i < r->rows; i++) {
    for (size_t c = 0; c < r->places; c++) {
      const size_t f = (r->block * r->rows + i) * q->d->repeat + r->from + c, e = map != NULL ? map[f] : f;

      if (e == CLARKE_NONE) {
        memset(q->high + c * n, 0, n * sizeof *q->high);
        memset(q->low + c * n, 0, n * sizeof *q->low);
      } else {
        memcpy(q->high + c * n, v->at + e * n, n * sizeof *q->high);
        memcpy(q->low + c * n, v->low + e * n, n * sizeof *q->low);
      }
    }
    clarke_sliced_cut(m, i * width, q->high, q->low, width);
  }
}

/* Where a block's rows begin at a place. */
static size_t
begin_of(const dense *q, const rectangle *r)
{
  return (r->block * r->rows * q->d->repeat + r->from) * q->p->n;
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
  const clarke_sliced w = weight_of(q, block);
  clarke_normed *y = &q->p->value[q->s->out];
  const clarke_sliced_product go = {
    .a_transposed = d->transposed, .rows = d->outer, .cols = places * q->p->n, .inner = d->inner, .a = &w, .b = &q->x,
    .first = weight_at(q, block), .high = y->at + begin_of(q, &out), .low = y->low + begin_of(q, &out),
    .stride = d->repeat * q->p->n,
  };

  (void)unused;
  cut_rectangle(&q->x, q, &q->p->value[q->source], &in, q->map);
  clarke_sliced_multiply(&go, q->part);
}

/* By how much rounding takes part of the norm of what W is multiplied by. */
static double
rounded(const dense *q, size_t inner)
{
  const double size = q->p->growths->size[q->s - q->p->g->steps];

  return clarke_bound_up(clarke_bound_gamma(clarke_sliced_additions(q->slices, inner)) *
                         (size + clarke_sliced_norm(&q->w, (double)q->d->outer * (double)q->d->inner)));
}

/* What a product with the weight, either way, is off by in a sample besides: what is left out, and rounding of the part of
 * slices that its norm does not tell. */
static double
lost_of(const dense *q, const clarke_sliced *x, size_t inner, size_t outer)
{
  const double columns = (double)(q->d->blocks * q->d->repeat);

  return clarke_bound_up(clarke_sliced_left_out(&q->w, x, (double)inner) * sqrt((double)outer * columns) +
                         rounded(q, inner) * clarke_sliced_norm(x, (double)inner * columns));
}

clarke_status
clarke_dense_forward(clarke_descent *p, const clarke_step *s)
{
  const clarke_dense *d = &s->dense;
  const size_t i = (size_t)(s - p->g->steps);
  dense q;
  clarke_status status = dense_init(&q, p, s, false);

  if (status == CLARKE_OK && !p->lost)
    each_panel(&q, forward_panel, NULL);
  for (size_t j = 0; j < p->n && status == CLARKE_OK; j++)
    p->value[s->out].error[j] =
      clarke_bound_up(p->growths->growth[i][0].norm * q.root * p->value[q.source].error[j] +
                      lost_of(&q, &q.x, d->inner, d->outer) +
                      rounded(&q, d->inner) * q.root * p->value[q.source].size[j]);
  dense_clear(&q);
  return status;
}

/* --- back ------------------------------------------------------------------------------------ */

/* What goes back from a panel: to the weight, in its own entries, and to the operand. */
typedef struct {
  double *high, *low; /* of the weight; or NULL */
  double within;      /* of the weight's */
  bool operand;
} backward;

/* squares[row * n + sample] += those of a rectangle's numbers, of the first slice alone: the others are less than the second
 * part of the bound. */
static void
add_squares(double *squares, const clarke_sliced *m, size_t rows, size_t width, size_t n)
{
  for (size_t i = 0; i < rows; i++)
    for (size_t c = 0; c < width; c += n)
      for (size_t j = 0; j < n; j++) {
        const double digit = m->digit[i * m->stride + c + j];

        squares[i * n + j] += digit * digit;
      }
}

/* A panel's share in the weight's gradient, as it is stored. */
static void
weight_panel(dense *q, const backward *b, size_t block, size_t width)
{
  const clarke_dense *d = q->d;
  const size_t at = weight_at(q, block), most = WEIGHT_SLICES;
  clarke_sliced g = q->g, x = q->x;
  const clarke_sliced_product back = {
    .b_transposed = true, .rows = d->transposed ? d->inner : d->outer, .cols = d->transposed ? d->outer : d->inner,
    .inner = width, .a = d->transposed ? &x : &g, .b = d->transposed ? &g : &x, .high = b->high + at, .low = b->low + at,
    .stride = d->transposed ? d->outer : d->inner,
  };

  g.slices = x.slices = x.slices < most ? x.slices : most;
  clarke_sliced_multiply(&back, q->part);
  add_squares(q->x_squares, &x, d->inner, width, q->p->n);
  add_squares(q->g_squares, &g, d->outer, width, q->p->n);
}

/* A panel's W^T g, back to where its operand came from. */
static void
operand_panel(dense *q, size_t block, size_t from, size_t places)
{
  const clarke_dense *d = q->d;
  const size_t n = q->p->n, width = places * n;
  const clarke_sliced w = weight_of(q, block);
  clarke_normed *x = &q->p->grad[q->source];
  const clarke_sliced_product back = {
    .a_transposed = !d->transposed, .rows = d->inner, .cols = width, .inner = d->outer, .a = &w, .b = &q->g,
    .first = weight_at(q, block), .high = q->high, .low = q->low, .stride = width,
  };

  memset(q->high, 0, d->inner * width * sizeof *q->high);
  memset(q->low, 0, d->inner * width * sizeof *q->low);
  clarke_sliced_multiply(&back, q->part);
  for (size_t i = 0; i < d->inner; i++)
    for (size_t c = 0; c < places; c++) {
      const size_t f = (block * d->inner + i) * d->repeat + from + c, e = q->map != NULL ? q->map[f] : f;
      const size_t term = i * width + c * n;

      for (size_t j = 0; j < n && e != CLARKE_NONE; j++)
        clarke_normed_add(x, e * n + j, (clarke_pair){q->high[term + j], q->low[term + j]});
    }
}

/* The largest norm of a row in sample j: that of first slices, and what is not in them. */
static double
largest_row(const double *squares, const clarke_sliced *m, const dense *q, size_t rows, size_t j)
{
  const size_t n = q->p->n;
  double most = 0;

  for (size_t i = 0; i < rows; i++)
    most = fmax(most, squares[i * n + j]);
  return clarke_bound_up(sqrt(clarke_bound_up(most)) + clarke_sliced_norm(m, (double)(q->d->blocks * q->d->repeat)));
}

/* What the weight's gradient is off by at most, of the rows that were met: |dg| |x| + (|g| + |dg|) |dx|; what is left out;
 * rounding. */
static double
weight_bound(const dense *q)
{
  const clarke_descent *p = q->p;
  const size_t slices = q->slices < WEIGHT_SLICES ? q->slices : WEIGHT_SLICES, columns = q->d->blocks * q->d->repeat * p->n;
  const double gamma = clarke_bound_gamma((double)q->panels * clarke_sliced_additions(slices, q->places * p->n));
  clarke_sliced g = q->g;
  double bound;

  g.slices = slices;
  bound = clarke_sliced_left_out(&q->x, &g, (double)columns);
  for (size_t j = 0; j < p->n; j++) {
    const double x = largest_row(q->x_squares, &q->x, q, q->d->inner, j), off = p->grad[q->s->out].error[j];
    const double size = largest_row(q->g_squares, &q->g, q, q->d->outer, j);

    bound += off * x + (size + off) * q->root * p->value[q->source].error[j] + gamma * size * x;
  }
  return clarke_bound_up(bound);
}

static void
back_panel(dense *q, size_t block, size_t from, size_t places, void *context)
{
  const rectangle in = {block, q->d->inner, from, places}, out = {block, q->d->outer, from, places};
  const backward *b = context;

  cut_rectangle(&q->g, q, &q->p->grad[q->s->out], &out, NULL);
  if (b->high != NULL) {
    cut_rectangle(&q->x, q, &q->p->value[q->source], &in, q->map);
    weight_panel(q, b, block, places * q->p->n);
  }
  if (b->operand)
    operand_panel(q, block, from, places);
}

/* The bounds of the operand's gradient, before it is made. */
static clarke_status
note_operand(const dense *q)
{
  clarke_descent *p = q->p;
  const size_t i = (size_t)(q->s - p->g->steps);
  const double norm = p->growths->growth[i][0].norm;
  const double round = rounded(q, q->d->outer);
  size_t repeats = 1;
  clarke_status status = clarke_note_begin(p, q->source);

  if (status == CLARKE_OK && q->map != NULL)
    status = clarke_most_taken(&repeats, p->g, p->deferred[q->s->in[0].value], q->source, p->err);
  if (status == CLARKE_OK)
    clarke_note_term(p, q->source, &p->grad[q->s->out], norm * q->root, clarke_bound_up((norm + round) * q->root),
                     round * q->root, lost_of(q, &q->g, q->d->outer, q->d->inner) * q->root, repeats);
  return status;
}

/* The weight's gradient to its parameter. */
static clarke_status
note_weight(const dense *q, const backward *b)
{
  const size_t count = q->p->g->values[q->d->weight].count;
  clarke_pair *entries = malloc((count + 1) * sizeof *entries);
  clarke_status status;

  if (entries == NULL)
    return clarke_no_memory(q->p->err);
  for (size_t e = 0; e < count; e++)
    entries[e] = (clarke_pair){b->high[e], b->low[e]};
  status = clarke_note_constant(q->p, q->d->weight, entries, weight_bound(q));
  free(entries);
  return status;
}

clarke_status
clarke_dense_back(clarke_descent *p, const clarke_step *s)
{
  const clarke_dense *d = &s->dense;
  const bool of_weight = clarke_value_is_wrt(p->g, d->weight);
  const size_t count = of_weight ? p->g->values[d->weight].count : 0;
  backward b = {0};
  dense q;
  clarke_status status = dense_init(&q, p, s, true);

  b.operand = p->carries[q.source];
  if (of_weight) {
    b.high = calloc(count + 1, sizeof *b.high);
    b.low = calloc(count + 1, sizeof *b.low);
  }
  if (of_weight && (b.high == NULL || b.low == NULL))
    status = clarke_no_memory(p->err);
  if (status == CLARKE_OK && b.operand)
    status = note_operand(&q);
  if (status == CLARKE_OK && !p->lost)
    each_panel(&q, back_panel, &b);
  if (status == CLARKE_OK && of_weight)
    status = note_weight(&q, &b);
  free(b.high);
  free(b.low);
  dense_clear(&q);
  return status;
}
