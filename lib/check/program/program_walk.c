/* The program that is followed; polynomials of the displacement from the point. */
#include "check/program/program_walk.h"
#include "check/base/allocate.h"

#include <stdlib.h>
#include <string.h>

void
walk_program(walk *w, const program *p)
{
  w->prog = *p;
  w->states = allocate(w->prog.n, sizeof *w->states);
}

void
walk_vary(walk *w, size_t at)
{
  w->prog.instructions[at].entry = w->n_wrt++;
}

place_name
place(walk *w, size_t at)
{
  place_name where;
  snprintf(where.text, sizeof where.text, "program line %zu", w->prog.instructions[at].line);
  return where;
}

void
add_gradient(walk *w, state *y, const interval *c, const state *x)
{
  if (interval_zero(c))
    return;
  y->same = y->same && x->same;
  for (size_t k = 0; k < w->n_wrt; k++)
    interval_addmul(&y->g[k], c, &x->g[k]);
}

void
limit_interval(const interval *x)
{
  limit_size(&x->lo);
  limit_size(&x->hi);
}

/* Adds, and holds the sum to its limit: the sum of many terms may be as long as the product of their sizes. */
void
add_limited(interval *y, const interval *x, const rational *c)
{
  interval_add(y, x, c);
  limit_interval(y);
}

/* ---- Polynomials */

void
polynomial_clear(polynomial *y)
{
  while (y->n > 0)
    mpq_clear(&y->c[--y->n]);
  free(y->c);
  free(y->e);
  *y = (polynomial){0};
}

/* y += c times that monomial. */
void
add_term(walk *w, polynomial *y, const rational *c, const unsigned char *e)
{
  size_t k = 0;
  while (k < y->n && memcmp(y->e + k * w->n_wrt, e, w->n_wrt) != 0)
    k++;
  if (k == y->n) {
    y->c = grow(y->c, k, sizeof *y->c);
    y->e = grow(y->e, k, w->n_wrt);
    y->c[k] = rational_zero();
    memcpy(y->e + k * w->n_wrt, e, w->n_wrt);
    y->n++;
  }
  mpq_add(&y->c[k], &y->c[k], c);
  limit_size(&y->c[k]);
  if (mpq_sgn(&y->c[k]) != 0)
    return;
  mpq_swap(&y->c[k], &y->c[--y->n]);
  mpq_clear(&y->c[y->n]);
  memmove(y->e + k * w->n_wrt, y->e + y->n * w->n_wrt, w->n_wrt);
}

/* The largest sum of powers; forgets what is too large. */
static size_t
polynomial_degree(walk *w, polynomial *y)
{
  size_t most = 0;
  for (size_t k = 0; k < y->n; k++) {
    size_t sum = 0;
    for (size_t j = 0; j < w->n_wrt; j++)
      sum += y->e[k * w->n_wrt + j];
    most = sum > most ? sum : most;
  }
  y->known = y->known && y->n <= 300 && most <= 32;
  return y->known ? most : 2;
}

/* y += q times instruction at, as a polynomial. */
void
add_polynomial(walk *w, polynomial *y, const rational *q, size_t at)
{
  const state *x = &w->states[at];
  unsigned char e[32] = {0};
  RATIONAL(t);
  if (mpq_sgn(q) == 0)
    return;
  y->known = y->known && w->n_wrt <= 32 && (x->degree < 2 || x->p.known);
  for (size_t k = 0; k < x->p.n && y->known && x->degree == 2; k++) {
    mpq_mul(&t, q, &x->p.c[k]);
    add_term(w, y, &t, x->p.e + k * w->n_wrt);
  }
  for (size_t k = 0; k <= w->n_wrt && y->known && x->degree < 2; k++) {
    const interval *c = k < w->n_wrt ? &x->g[k] : x->s;
    y->known = interval_exact(c);
    mpq_mul(&t, q, &c->lo);
    if (k < w->n_wrt)
      e[k] = 1;
    if (mpq_sgn(&t) != 0)
      add_term(w, y, &t, e);
    if (k < w->n_wrt)
      e[k] = 0;
  }
  polynomial_degree(w, y);
}

/* y += q times the product of two instructions. */
static void
add_product(walk *w, polynomial *y, const rational *q, size_t a, size_t b)
{
  polynomial f[3] = {{.known = true}, {.known = true}, {.known = true}};
  unsigned char e[32];
  RATIONAL(t);
  if (mpq_sgn(q) == 0)
    return;
  add_polynomial(w, &f[0], &plus_one, a);
  add_polynomial(w, &f[1], &plus_one, b);
  f[2].known = f[0].known && f[1].known && f[0].n * f[1].n <= 16 * 300;
  for (size_t k = 0; f[2].known && k < f[0].n * f[1].n; k++) {
    size_t i = k % f[0].n, j = k / f[0].n;
    for (size_t l = 0; l < w->n_wrt; l++)
      e[l] = (unsigned char)(f[0].e[i * w->n_wrt + l] + f[1].e[j * w->n_wrt + l]);
    mpq_mul(&t, &f[0].c[i], &f[1].c[j]);
    mpq_mul(&t, &t, q);
    add_term(w, &f[2], &t, e);
  }
  polynomial_degree(w, &f[2]);
  y->known = y->known && f[2].known;
  for (size_t k = 0; k < f[2].n && y->known; k++)
    add_term(w, y, &f[2].c[k], f[2].e + k * w->n_wrt);
  polynomial_degree(w, y);
  for (size_t k = 0; k < 3; k++)
    polynomial_clear(&f[k]);
}

/* What an instruction of degree 2 is as a polynomial, which may tell a lower degree. */
void
refine(walk *w, size_t at)
{
  const instruction *i = &w->prog.instructions[at];
  state *y = &w->states[at];
  polynomial *p = &y->p;
  RATIONAL(q);
  p->known = w->n_wrt <= 32 && i->kind != AN_ANALYTIC && i->kind != A_NORM && !y->open;
  if (i->kind == A_SUM)
    for (size_t k = 0; k < i->n; k++)
      add_polynomial(w, p, &i->c[k], i->in[k]);
  if (i->kind == A_PRODUCT)
    add_product(w, p, &plus_one, i->in[0], i->in[1]);
  if (i->kind == A_QUOTIENT) {
    const state *b = &w->states[i->in[1]];
    p->known = p->known && b->degree == 0 && interval_exact(b->s);
    if (p->known)
      mpq_inv(&q, &b->s->lo);
    add_polynomial(w, p, &q, i->in[0]);
  }
  if (i->kind == A_POINTWISE) {
    const rational *c = i->pieces->piece[y->part];
    unsigned char e[32] = {0};
    p->known = p->known && (!i->pieces->elu || y->part == 1);
    add_product(w, p, &c[2], *i->in, *i->in);
    add_polynomial(w, p, &c[1], *i->in);
    if (mpq_sgn(&c[0]) != 0 && p->known)
      add_term(w, p, &c[0], e);
  }
  if (i->kind == AN_ORDER)
    add_polynomial(w, p, &plus_one, y->part);
  if (i->kind == A_BRANCH)
    add_polynomial(w, p, &plus_one, i->in[y->arm == 1 ? 2 : 3]);
  size_t degree = polynomial_degree(w, p);
  y->degree = degree < 2 ? (uint8_t)degree : 2;
  if (!p->known || degree < 2)
    polynomial_clear(p);
}

void
walk_clear(walk *w, way how, size_t terms)
{
  for (size_t i = 0; i < w->prog.n; i++) {
    intervals_free(w->states[i].s, w->states[i].done ? w->n_terms : 0);
    intervals_free(w->states[i].g, w->states[i].done ? w->n_wrt : 0);
    polynomial_clear(&w->states[i].p);
    w->states[i] = (state){0};
  }
  w->mode = how;
  w->n_terms = terms;
}
