/* Products of two activations in a gradient, a c over blocks (docs/gradient.md). */
#include "network/derive/gradient/product.h"

#include <stdlib.h>

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

/* Entry f of operand k, for sample j; 0 beyond it. */
static clarke_pair
entry_of(const multiplying *q, size_t k, size_t f, size_t j)
{
  const size_t e = clarke_operand_entry(&q->s->in[k], f);

  return e != CLARKE_NONE ? clarke_normed_get(&q->p->value[q->of[k].value], e * q->p->n + j) : (clarke_pair){0, 0};
}

/* a c is off by |da| |c| + |a| |dc|, block by block, and by what its sums round. */
clarke_status
clarke_product_forward(clarke_gradient_pass *p, const clarke_step *s)
{
  const clarke_contraction *c = &s->contraction;
  clarke_normed *y = &p->value[s->out];
  const double gamma = clarke_bound_gamma(2 * (double)c->inner + 2, clarke_unit_of(y));
  multiplying q;
  clarke_status status = multiplying_init(&q, p, s);

  for (size_t f = 0; f < c->blocks * c->rows * c->cols && status == CLARKE_OK; f++) {
    const size_t b = f / (c->rows * c->cols), i = f / c->cols % c->rows, col = f % c->cols;

    for (size_t j = 0; j < p->n; j++) {
      clarke_pair sum = {0, 0};

      for (size_t k = 0; k < c->inner; k++)
        sum = clarke_pair_add(sum, clarke_pair_multiply(entry_of(&q, 0, (b * c->rows + i) * c->inner + k, j),
                                                        entry_of(&q, 1, (b * c->inner + k) * c->cols + col, j)));
      clarke_normed_put(y, f * p->n + j, sum);
    }
  }
  for (size_t j = 0; j < p->lanes && status == CLARKE_OK; j++) {
    const clarke_normed *a = &p->value[q.of[0].value], *d = &p->value[q.of[1].value];

    y->error[j] = clarke_bound_up((q.of[1].block + q.of[1].off) * q.of[0].root * a->error[j] +
                                  q.of[0].block * q.of[1].root * d->error[j] + gamma * q.of[1].block * q.of[0].root * a->size[j]);
  }
  return status;
}

/* The gradient of operand k: g times the other, which is off by its errors, goes to where the operand took its entries. */
static clarke_status
operand_back(const multiplying *q, size_t k)
{
  clarke_gradient_pass *p = q->p;
  const clarke_contraction *c = &q->s->contraction;
  const clarke_normed *g = &p->grad[q->s->out];
  const size_t other = 1 - k, over = k == 0 ? c->cols : c->rows;
  const double gamma = clarke_bound_gamma(2 * (double)over + 2, CLARKE_PAIR_UNIT), root = q->of[k].root;
  clarke_normed *to;
  clarke_status status = clarke_note_begin(p, q->of[k].value);

  if (status != CLARKE_OK)
    return status;
  to = &p->grad[q->of[k].value];
  clarke_note_term(p, q->of[k].value, g, root * (q->of[other].block + q->of[other].off), root * q->of[other].block,
                   root * (q->of[other].off + gamma * q->of[other].block), 0, (size_t)(root * root) + 1);
  for (size_t f = 0; f < q->of[k].entries; f++) {
    const size_t inner = k == 0 ? f % c->inner : f / c->cols % c->inner, e = clarke_operand_entry(&q->s->in[k], f);
    const size_t b = f / (q->of[k].entries / c->blocks), own = k == 0 ? f / c->inner % c->rows : f % c->cols;

    for (size_t j = 0; j < p->n && e != CLARKE_NONE; j++) {
      clarke_pair sum = {0, 0};

      for (size_t l = 0; l < over; l++) {
        const size_t at = k == 0 ? (b * c->rows + own) * c->cols + l : (b * c->rows + l) * c->cols + own;
        const size_t from = k == 0 ? (b * c->inner + inner) * c->cols + l : (b * c->rows + l) * c->inner + inner;

        sum = clarke_pair_add(sum, clarke_pair_multiply(clarke_normed_get(g, at * p->n + j), entry_of(q, other, from, j)));
      }
      clarke_normed_add(to, e * p->n + j, sum);
    }
  }
  return status;
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
