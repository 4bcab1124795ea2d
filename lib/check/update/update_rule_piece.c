/* The pieces that rules are made of: averages, roots, quotients. */
#include "check/base/elementary.h"
#include "check/update/update_rule.h"

void
update_copy(interval *y, const interval *x)
{
  interval_set(y, &x->lo, &x->hi);
}

void
update_larger(interval *y, const interval *x)
{
  if (mpq_cmp(&x->lo, &y->lo) > 0)
    mpq_set(&y->lo, &x->lo);
  if (mpq_cmp(&x->hi, &y->hi) > 0)
    mpq_set(&y->hi, &x->hi);
}

void
update_cut(interval *y, size_t most)
{
  INTEGER(z);
  if (interval_exact(y) && mpz_sizeinbase(mpq_denref(&y->lo), 2) <= most
      && mpz_sizeinbase(mpq_numref(&y->lo), 2) <= most)
    return;
  fixed(&z, &y->lo, session_bits, false);
  unfixed(&y->lo, &z, session_bits);
  fixed(&z, &y->hi, session_bits, true);
  unfixed(&y->hi, &z, session_bits);
}

void
update_mix(interval *y, const rational *a, const rational *b, const interval *x)
{
  INTERVAL(sum);
  interval_add(&sum, y, a);
  interval_add(&sum, x, b);
  interval_round(&sum);
  update_copy(y, &sum);
}

void
update_subtract(interval *y, const rational *q, const interval *x)
{
  RATIONAL(minus);
  mpq_neg(&minus, q);
  interval_add(y, x, &minus);
  interval_round(y);
}

void
update_descend(update_entry *e, const rational *q, const interval *x)
{
  update_subtract(&e->slot[THETA], q, x);
}

void
update_square(interval *y, const interval *g)
{
  interval_mul(y, g, g);
  if (mpq_sgn(&y->lo) < 0) /* g is of both signs */
    mpq_set(&y->lo, &zero);
}

void
update_second_moment(const update *u, update_entry *e, const interval *g)
{
  INTERVAL(s);
  update_square(&s, g);
  update_mix(&e->slot[V], &u->number[SIGMA], &u->rest[SIGMA], &s);
}

void
update_first_moment(const update *u, update_entry *e, const interval *g)
{
  update_mix(&e->slot[M], &u->number[MOMENTUM], &u->rest[MOMENTUM], g);
}

void
update_root(const update *u, interval *y, const interval *v, const interval *c)
{
  require(mpq_sgn(&v->lo) >= 0, "what has a root is below 0");
  mpq_div(&y->lo, &v->lo, &c->hi);
  mpq_div(&y->hi, &v->hi, &c->lo);
  if (u->inside) {
    mpq_add(&y->lo, &y->lo, &u->number[EPS]);
    mpq_add(&y->hi, &y->hi, &u->number[EPS]);
  }
  sqrt_end(&y->lo, &y->lo, false);
  sqrt_end(&y->hi, &y->hi, true);
  if (!u->inside) {
    mpq_add(&y->lo, &y->lo, &u->number[EPS]);
    mpq_add(&y->hi, &y->hi, &u->number[EPS]);
  }
}

void
update_precondition(const update *u, interval *y, const interval *x, const update_entry *e, const interval *c)
{
  INTERVAL(root);
  update_copy(y, x);
  if (u->preconditioned || interval_zero(x))
    return;
  update_root(u, &root, &e->slot[V], c);
  if (mpq_sgn(&root.lo) <= 0)
    leave(UNDECIDED, "a root is not known to be above 0");
  interval_div(y, x, &root);
}
