/* What an instruction is near the point as a polynomial of the displacement, where it is one. */
#include "program/walk_inside.h"

#include <stdlib.h>

void
clarke_walk_polynomial_drop(clarke_walk *w, size_t at)
{
  if (w->polynomial == NULL || w->polynomial[at] == NULL)
    return;
  clarke_polynomial_clear(w->polynomial[at], w->ring);
  free(w->polynomial[at]);
  w->polynomial[at] = NULL;
}

void
clarke_walk_polynomial(clarke_polynomial *y, const clarke_walk *w, size_t at)
{
  const clarke_polynomial *known = w->polynomial[at];

  if (w->degree[at] <= 1)
    clarke_polynomial_affine(y, &w->value[at], w->gradient[at], w->width, w->ring);
  else {
    y->kept = known != NULL;
    if (known != NULL)
      fmpq_mpoly_set(y->p, known->p, w->ring);
  }
}

void
clarke_walk_polynomial_addmul(clarke_polynomial *y, const mpq_t q, const clarke_walk *w, size_t at)
{
  clarke_polynomial x;

  clarke_polynomial_init(&x, w->ring);
  clarke_walk_polynomial(&x, w, at);
  clarke_polynomial_addmul(y, q, &x, w->ring);
  clarke_polynomial_clear(&x, w->ring);
}

static void
polynomial_product(clarke_polynomial *y, const clarke_walk *w, size_t a, size_t b)
{
  clarke_polynomial s, t;

  clarke_polynomial_init(&s, w->ring);
  clarke_polynomial_init(&t, w->ring);
  clarke_walk_polynomial(&s, w, a);
  clarke_walk_polynomial(&t, w, b);
  clarke_polynomial_mul(y, &s, &t, w->ring);
  clarke_polynomial_clear(&s, w->ring);
  clarke_polynomial_clear(&t, w->ring);
}

/* coef[0] + coef[1] x + coef[2] x^2. */
static void
piece_polynomial(clarke_polynomial *y, const clarke_walk *w, const clarke_instruction *i,
                 size_t piece)
{
  clarke_polynomial square;

  clarke_polynomial_init(&square, w->ring);
  polynomial_product(&square, w, i->in[0], i->in[0]);
  clarke_polynomial_addmul(y, i->pieces->coef[piece][2], &square, w->ring);
  clarke_walk_polynomial_addmul(y, i->pieces->coef[piece][1], w, i->in[0]);
  clarke_polynomial_add_rational(y, i->pieces->coef[piece][0], w->ring);
  clarke_polynomial_clear(&square, w->ring);
}

/* What instruction at is, its parts chosen; not kept when it is no polynomial. */
static void
make_polynomial(clarke_polynomial *y, const clarke_walk *w, size_t at)
{
  const clarke_instruction *i = &w->e->p->instruction[at];
  mpq_t q;

  mpq_init(q);
  mpq_set_si(q, 1, 1);
  switch (i->kind) {
  case CLARKE_DO_LINEAR:
    for (size_t k = 0; k < i->n_in; k++)
      clarke_walk_polynomial_addmul(y, i->coef[k], w, i->in[k]);
    clarke_polynomial_add_rational(y, i->coef[i->n_in], w->ring);
    break;
  case CLARKE_DO_PRODUCT:
    polynomial_product(y, w, i->in[0], i->in[1]);
    break;
  case CLARKE_DO_QUOTIENT:
    y->kept = w->degree[i->in[1]] == 0 && w->value[i->in[1]].exact;
    if (y->kept) {
      mpq_inv(q, w->value[i->in[1]].q);
      clarke_walk_polynomial_addmul(y, q, w, i->in[0]);
    }
    break;
  case CLARKE_DO_PIECEWISE:
    piece_polynomial(y, w, i, w->part[at]);
    break;
  case CLARKE_DO_ELU:
    y->kept = w->part[at] == 1;
    clarke_walk_polynomial_addmul(y, q, w, i->in[0]);
    break;
  case CLARKE_DO_ORDER:
    clarke_walk_polynomial_addmul(y, q, w, w->part[at]);
    break;
  case CLARKE_DO_BRANCH:
    clarke_walk_polynomial_addmul(y, q, w, i->in[w->part[at] ? 2 : 3]);
    break;
  default:
    y->kept = false;
    break;
  }
  mpq_clear(q);
}

clarke_status
clarke_walk_refine(clarke_walk *w, size_t at, clarke_error *err)
{
  clarke_polynomial *y;

  if (w->polynomial == NULL || w->degree[at] < 2)
    return CLARKE_OK;
  y = malloc(sizeof *y);
  if (y == NULL)
    return clarke_no_memory(err);
  clarke_polynomial_init(y, w->ring);
  make_polynomial(y, w, at);
  clarke_walk_polynomial_drop(w, at);
  w->polynomial[at] = y;
  if (clarke_polynomial_degree(y, w->ring) < 2)
    clarke_walk_settle(w, at, clarke_polynomial_degree(y, w->ring));
  if (!y->kept || w->degree[at] < 2)
    clarke_walk_polynomial_drop(w, at);
  return CLARKE_OK;
}
