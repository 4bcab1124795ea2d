/* Products of two activations in a gradient, a c over blocks (docs/gradient.md). */
#include "network/derive/gradient/product.h"

#include "network/derive/gradient/rows.h"

#include <stdlib.h>
#include <string.h>

/* A PRODUCT step at work, and of each operand: */
typedef struct {
  clarke_gradient_pass *p;
  const clarke_step *s;
  struct {
    size_t value, entries;
    double root;  /* at least that of how often an entry is taken */
    double block; /* at least the norm of each of its blocks */
    double off;   /* and of its errors */
  } of[2];
} multiplying;

/* The most times that the operand takes an entry. */
static clarke_status
count_taken(size_t *most, const multiplying *q, size_t k)
{
  size_t *taken = calloc(q->p->g->values[q->of[k].value].count + 1, sizeof *taken);

  if (taken == NULL)
    return clarke_no_memory(q->p->err);
  *most = 0;
  for (size_t f = 0; f < q->of[k].entries; f++) {
    const size_t e = clarke_operand_entry(&q->s->in[k], f);

    if (e != CLARKE_NONE && ++taken[e] > *most)
      *most = taken[e];
  }
  free(taken);
  return CLARKE_OK;
}

static clarke_status
multiplying_init(multiplying *q, clarke_gradient_pass *p, const clarke_step *s)
{
  const clarke_contraction *c = &s->contraction;
  const size_t block[] = {c->rows * c->inner, c->inner * c->cols};
  clarke_status status = CLARKE_OK;

  *q = (multiplying){.p = p, .s = s};
  for (size_t k = 0; k < 2 && status == CLARKE_OK; k++) {
    const clarke_normed *v = &p->value[s->in[k].value];
    size_t most = 0;

    q->of[k].value = s->in[k].value;
    q->of[k].entries = c->blocks * block[k];
    status = count_taken(&most, q, k);
    q->of[k].root = clarke_bound_up(sqrt((double)most));
    q->of[k].block = clarke_bound_up(fmin(q->of[k].root * clarke_normed_size(p, v), sqrt((double)block[k]) * v->largest));
    for (size_t j = 0; j < p->lanes; j++)
      q->of[k].off = fmax(q->of[k].off, clarke_bound_up(q->of[k].root * v->error[j]));
  }
  return status;
}

/* --- a block of a sample at a time ----------------------------------------------------------- */

/* Rows of numbers, one behind another. */
typedef struct {
  double *high, *low;
} rows;

/* Room for a block of each operand, of the product, and of what is made. */
typedef struct {
  rows of[2], y, made;
} room;

static bool
rows_make(rows *r, size_t count)
{
  *r = (rows){malloc((count + 1) * sizeof *r->high), malloc((count + 1) * sizeof *r->low)};
  return r->high != NULL && r->low != NULL;
}

static void
rows_free(rows *r)
{
  free(r->high);
  free(r->low);
}

static bool
room_make(room *r, const clarke_contraction *c)
{
  const size_t most = c->rows * c->inner > c->inner * c->cols ? c->rows * c->inner : c->inner * c->cols;
  const bool well[] = {rows_make(&r->of[0], c->rows * c->inner), rows_make(&r->of[1], c->inner * c->cols), rows_make(&r->y, c->rows * c->cols),
                       rows_make(&r->made, most > c->rows * c->cols ? most : c->rows * c->cols)};

  return well[0] && well[1] && well[2] && well[3];
}

static void
room_free(room *r)
{
  rows_free(&r->of[0]);
  rows_free(&r->of[1]);
  rows_free(&r->y);
  rows_free(&r->made);
}

static void
put(const rows *r, size_t at, clarke_pair x)
{
  r->high[at] = x.high;
  r->low[at] = x.low;
}

/* Block b of operand k, for sample j; turned: its columns are rows. 0 beyond the operand. */
static void
take_block(const rows *to, const multiplying *q, size_t k, size_t b, size_t j, bool turned)
{
  const clarke_contraction *c = &q->s->contraction;
  const size_t height = k == 0 ? c->rows : c->inner, width = k == 0 ? c->inner : c->cols;
  const clarke_normed *v = &q->p->value[q->of[k].value];

  for (size_t i = 0; i < height; i++)
    for (size_t l = 0; l < width; l++) {
      const size_t e = clarke_operand_entry(&q->s->in[k], (b * height + i) * width + l);

      put(to, turned ? l * height + i : i * width + l, e != CLARKE_NONE ? clarke_normed_get(v, e * q->p->n + j) : (clarke_pair){0, 0});
    }
}

/* The same of the product's gradient. */
static void
take_gradient(const rows *to, const multiplying *q, size_t b, size_t j)
{
  const size_t count = q->s->contraction.rows * q->s->contraction.cols;

  for (size_t e = 0; e < count; e++)
    put(to, e, clarke_normed_get(&q->p->grad[q->s->out], (b * count + e) * q->p->n + j));
}

/* y = A x: y has so many rows, of `width` numbers each; a number of A stands at [row * across + l * down]. Each entry is a sum in the order of l. */
static void
multiply_rows(const rows *y, const multiplying *q, const rows *a, const rows *x, const size_t shape[3], size_t across, size_t down)
{
  const size_t height = shape[0], inner = shape[1], width = shape[2];

  memset(y->high, 0, height * width * sizeof *y->high);
  memset(y->low, 0, height * width * sizeof *y->low);
  for (size_t i = 0; i < height; i++)
    for (size_t l = 0; l < inner; l++) {
      const clarke_pair factor = {a->high[i * across + l * down], a->low[i * across + l * down]};

      if (q->p->seen != NULL) /* a look is made in doubles */
        clarke_rows_add_multiple(y->high + i * width, factor.high, x->high + l * width, width);
      else
        clarke_rows_add_pair_multiples(y->high + i * width, y->low + i * width, factor, x->high + l * width, x->low + l * width, width);
    }
}

/* --- both ways ------------------------------------------------------------------------------- */

static clarke_status
multiply_all(multiplying *q)
{
  const clarke_contraction *c = &q->s->contraction;
  const size_t n = q->p->n, count = c->rows * c->cols;
  clarke_normed *y = &q->p->value[q->s->out];
  room r;
  const bool well = room_make(&r, c);

  for (size_t b = 0; well && b < c->blocks; b++)
    for (size_t j = 0; j < n; j++) {
      take_block(&r.of[0], q, 0, b, j, false);
      take_block(&r.of[1], q, 1, b, j, false);
      multiply_rows(&r.made, q, &r.of[0], &r.of[1], (const size_t[]){c->rows, c->inner, c->cols}, c->inner, 1);
      for (size_t e = 0; e < count; e++)
        clarke_normed_put(y, (b * count + e) * n + j, (clarke_pair){r.made.high[e], r.made.low[e]});
    }
  room_free(&r);
  return well ? CLARKE_OK : clarke_no_memory(q->p->err);
}

/* a c is off by |da| |c| + |a| |dc|, block by block, and by what its sums round. */
clarke_status
clarke_product_forward(clarke_gradient_pass *p, const clarke_step *s)
{
  clarke_normed *y = &p->value[s->out];
  const double gamma = clarke_bound_gamma(2 * (double)s->contraction.inner + 2, clarke_unit_of(y));
  multiplying q;
  clarke_status status = multiplying_init(&q, p, s);

  if (status == CLARKE_OK)
    status = multiply_all(&q);
  for (size_t j = 0; j < p->lanes && status == CLARKE_OK; j++) {
    const clarke_normed *a = &p->value[q.of[0].value], *d = &p->value[q.of[1].value];

    y->error[j] = clarke_bound_up((q.of[1].block + q.of[1].off) * q.of[0].root * a->error[j] +
                                  q.of[0].block * q.of[1].root * d->error[j] + gamma * q.of[1].block * q.of[0].root * a->size[j]);
  }
  return status;
}

/* A block's gradient of operand k, in r->made: g c^T, or a^T g. */
static void
multiply_back(room *r, const multiplying *q, size_t k, size_t b, size_t j)
{
  const clarke_contraction *c = &q->s->contraction;

  take_gradient(&r->y, q, b, j);
  take_block(&r->of[1 - k], q, 1 - k, b, j, k == 0);
  if (k == 0)
    multiply_rows(&r->made, q, &r->y, &r->of[1], (const size_t[]){c->rows, c->cols, c->inner}, c->cols, 1);
  else
    multiply_rows(&r->made, q, &r->of[0], &r->y, (const size_t[]){c->inner, c->rows, c->cols}, 1, c->inner);
}

/* It goes to where the operand took its entries. */
static clarke_status
give_back(const multiplying *q, size_t k)
{
  const clarke_contraction *c = &q->s->contraction;
  const size_t n = q->p->n, count = q->of[k].entries / c->blocks;
  clarke_normed *to = &q->p->grad[q->of[k].value];
  room r;
  const bool well = room_make(&r, c);

  for (size_t b = 0; well && b < c->blocks; b++)
    for (size_t j = 0; j < n; j++) {
      multiply_back(&r, q, k, b, j);
      for (size_t f = 0; f < count; f++) {
        const size_t e = clarke_operand_entry(&q->s->in[k], b * count + f);

        if (e != CLARKE_NONE)
          clarke_normed_add(to, e * n + j, (clarke_pair){r.made.high[f], r.made.low[f]});
      }
    }
  room_free(&r);
  return well ? CLARKE_OK : clarke_no_memory(q->p->err);
}

/* The gradient of operand k: g times the other, which is off by its errors. */
static clarke_status
operand_back(const multiplying *q, size_t k)
{
  clarke_gradient_pass *p = q->p;
  const clarke_contraction *c = &q->s->contraction;
  const size_t other = 1 - k, over = k == 0 ? c->cols : c->rows;
  const double gamma = clarke_bound_gamma(2 * (double)over + 2, CLARKE_PAIR_UNIT), root = q->of[k].root;
  const clarke_status status = clarke_note_begin(p, q->of[k].value);

  if (status != CLARKE_OK)
    return status;
  clarke_note_term(p, q->of[k].value, &p->grad[q->s->out], root * (q->of[other].block + q->of[other].off), root * q->of[other].block,
                   root * (q->of[other].off + gamma * q->of[other].block), 0, (size_t)(root * root) + 1);
  return give_back(q, k);
}

clarke_status
clarke_product_back(clarke_gradient_pass *p, const clarke_step *s)
{
  multiplying q;
  clarke_status status = multiplying_init(&q, p, s);

  for (size_t k = 0; k < 2 && status == CLARKE_OK; k++)
    if (p->carries[s->in[k].value])
      status = operand_back(&q, k);
  return status;
}
