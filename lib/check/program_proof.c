/* Proofs about programs (docs/proof-format.md, section 3): a program followed near a point, along an
 * arc or down a tree, and what the evidence claims of that. */
#include "program_proof.h"
#include "allocate.h"
#include "limit.h"
#include "program.h"
#include "proof.h"
#include "statement.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ORDER 8 /* of t in the series along an arc */

/* Of the displacement from the point: c[k] times its entries to the powers at e + k n_wrt. One of more
 * than 32 entries, or over 300 terms, or of a degree over 32 is not known. */
typedef struct {
  bool known;
  size_t n;
  rational *c;
  unsigned char *e;
} polynomial;

/* An instruction as it was followed. */
typedef struct {
  bool done, same; /* same: AD's derivative of it is surely g (at the point: is known) */
  int8_t arm;      /* BRANCH: 1 then, -1 else, 0 not chosen, BOTH_ARMS */
  uint8_t degree;  /* near the point: 0 constant, 1 affine, 2 anything */
  size_t part;     /* POINTWISE: its piece; ORDER: the instruction it is */
  interval *s, *g; /* its series in t, from the value; its gradient in wrt */
  polynomial p;    /* of degree 2: known, or not */
} state;

typedef struct {
  interval *gradient;
  uint8_t degree;
  polynomial q;
} decision;

static program prog;
static state *states;
static size_t n_wrt, n_touched, n_followed, *waiting, *next;
static interval *ad, *values; /* AD's output, row by row; the outputs' values */

/* How the program is followed: at the point itself with AD's derivatives; or, with those of a pattern,
 * along the arc point + t arc[0] + t^2 arc[1] + ..., or by choices, in a dead branch no further. */
static enum { AT_POINT, ALONG_ARC, BY_CHOICES } mode;
static bool every_arm; /* at the point: with both arms of branches whose comparands are equal */
static size_t n_terms, n_steps;
static rational *arc;
static size_t n_choices, n_used, n_decisions, *choices, *among;
static bool dead, stopped, moved; /* moved: a branch takes not the arm that it takes at the point */
static decision *decisions;

void
limit_size(const rational *q)
{
  size_t above = mpz_sizeinbase(mpq_numref(q), 2), below = mpz_sizeinbase(mpq_denref(q), 2);
  within(LIMIT_BITS, above > below ? above : below, "a number of more bits");
}

static void
limit_interval(const interval *x)
{
  limit_size(&x->lo);
  limit_size(&x->hi);
}

/* ---- Forks */

static const char *
place(size_t at)
{
  static char where[64];
  snprintf(where, sizeof where, "program line %zu", prog.instructions[at].line);
  return where;
}

static void
polynomial_clear(polynomial *y)
{
  while (y->n > 0)
    mpq_clear(&y->c[--y->n]);
  free(y->c);
  free(y->e);
  *y = (polynomial){0};
}

/* y += c times that monomial. */
static void
add_term(polynomial *y, const rational *c, const unsigned char *e)
{
  size_t k = 0;
  while (k < y->n && memcmp(y->e + k * n_wrt, e, n_wrt) != 0)
    k++;
  if (k == y->n) {
    y->c = grow(y->c, k, sizeof *y->c);
    y->e = grow(y->e, k, n_wrt);
    y->c[k] = rational_zero();
    memcpy(y->e + k * n_wrt, e, n_wrt);
    y->n++;
  }
  mpq_add(&y->c[k], &y->c[k], c);
  limit_size(&y->c[k]);
  if (mpq_sgn(&y->c[k]) != 0)
    return;
  mpq_swap(&y->c[k], &y->c[--y->n]);
  mpq_clear(&y->c[y->n]);
  memmove(y->e + k * n_wrt, y->e + y->n * n_wrt, n_wrt);
}

/* The largest sum of powers; forgets what is too large. */
static size_t
polynomial_degree(polynomial *y)
{
  size_t most = 0;
  for (size_t k = 0; k < y->n; k++) {
    size_t sum = 0;
    for (size_t j = 0; j < n_wrt; j++)
      sum += y->e[k * n_wrt + j];
    most = sum > most ? sum : most;
  }
  y->known = y->known && y->n <= 300 && most <= 32;
  return y->known ? most : 2;
}

/* y += q times instruction at, as a polynomial. */
static void
add_polynomial(polynomial *y, const rational *q, size_t at)
{
  const state *x = &states[at];
  unsigned char e[32] = {0};
  RATIONAL(t);
  if (mpq_sgn(q) == 0)
    return;
  y->known = y->known && n_wrt <= 32 && (x->degree < 2 || x->p.known);
  for (size_t k = 0; k < x->p.n && y->known && x->degree == 2; k++) {
    mpq_mul(&t, q, &x->p.c[k]);
    add_term(y, &t, x->p.e + k * n_wrt);
  }
  for (size_t k = 0; k <= n_wrt && y->known && x->degree < 2; k++) {
    const interval *c = k < n_wrt ? &x->g[k] : x->s;
    y->known = interval_exact(c);
    mpq_mul(&t, q, &c->lo);
    if (k < n_wrt)
      e[k] = 1;
    if (mpq_sgn(&t) != 0)
      add_term(y, &t, e);
    if (k < n_wrt)
      e[k] = 0;
  }
  polynomial_degree(y);
}

/* y += q times the product of two instructions. */
static void
add_product(polynomial *y, const rational *q, size_t a, size_t b)
{
  polynomial f[3] = {{.known = true}, {.known = true}, {.known = true}};
  unsigned char e[32];
  RATIONAL(t);
  if (mpq_sgn(q) == 0)
    return;
  add_polynomial(&f[0], &plus_one, a);
  add_polynomial(&f[1], &plus_one, b);
  f[2].known = f[0].known && f[1].known && f[0].n * f[1].n <= 16 * 300;
  for (size_t k = 0; f[2].known && k < f[0].n * f[1].n; k++) {
    size_t i = k % f[0].n, j = k / f[0].n;
    for (size_t l = 0; l < n_wrt; l++)
      e[l] = (unsigned char)(f[0].e[i * n_wrt + l] + f[1].e[j * n_wrt + l]);
    mpq_mul(&t, &f[0].c[i], &f[1].c[j]);
    mpq_mul(&t, &t, q);
    add_term(&f[2], &t, e);
  }
  polynomial_degree(&f[2]);
  y->known = y->known && f[2].known;
  for (size_t k = 0; k < f[2].n && y->known; k++)
    add_term(y, &f[2].c[k], f[2].e + k * n_wrt);
  polynomial_degree(y);
  for (size_t k = 0; k < 3; k++)
    polynomial_clear(&f[k]);
}

/* What an instruction of degree 2 is as a polynomial, which may tell a lower degree. */
static void
refine(size_t at)
{
  const instruction *i = &prog.instructions[at];
  state *y = &states[at];
  polynomial *p = &y->p;
  RATIONAL(q);
  p->known = n_wrt <= 32 && i->kind != AN_ANALYTIC && i->kind != A_NORM;
  if (i->kind == A_SUM)
    for (size_t k = 0; k < i->n; k++)
      add_polynomial(p, &i->c[k], i->in[k]);
  if (i->kind == A_PRODUCT)
    add_product(p, &plus_one, i->in[0], i->in[1]);
  if (i->kind == A_QUOTIENT) {
    const state *b = &states[i->in[1]];
    p->known = p->known && b->degree == 0 && interval_exact(b->s);
    if (p->known)
      mpq_inv(&q, &b->s->lo);
    add_polynomial(p, &q, i->in[0]);
  }
  if (i->kind == A_POINTWISE) {
    const rational *c = i->pieces->piece[y->part];
    unsigned char e[32] = {0};
    p->known = p->known && (!i->pieces->elu || y->part == 1);
    add_product(p, &c[2], *i->in, *i->in);
    add_polynomial(p, &c[1], *i->in);
    if (mpq_sgn(&c[0]) != 0 && p->known)
      add_term(p, &c[0], e);
  }
  if (i->kind == AN_ORDER)
    add_polynomial(p, &plus_one, y->part);
  if (i->kind == A_BRANCH)
    add_polynomial(p, &plus_one, i->in[y->arm == 1 ? 2 : 3]);
  size_t degree = polynomial_degree(p);
  y->degree = degree < 2 ? (uint8_t)degree : 2;
  if (!p->known || degree < 2)
    polynomial_clear(p);
}

/* Is a less b (b == NONE: less a kink), zero at the point, identically zero near it? */
static bool
identical(size_t a, size_t b)
{
  bool equal = true;
  if (a == b)
    return true;
  if (states[a].degree > 1 || (b != NONE && states[b].degree > 1)) {
    polynomial t = {.known = b != NONE};
    if (b != NONE) {
      add_polynomial(&t, &plus_one, a);
      add_polynomial(&t, &minus_one, b);
    }
    equal = t.known && t.n == 0;
    polynomial_clear(&t);
    return equal;
  }
  for (size_t k = 0; k < n_wrt && equal; k++)
    equal = b == NONE ? interval_zero(&states[a].g[k]) : interval_compare(&states[a].g[k], &states[b].g[k]) == 0;
  return equal;
}

/* The sign of the first nonzero coefficient of a less b along the arc; 0 when none is found. */
static int
leading(size_t a, size_t b)
{
  int sign = 0;
  for (size_t k = 1; k < n_terms && sign == 0; k++) {
    INTERVAL(t);
    if (a != NONE)
      interval_add(&t, &states[a].s[k], &plus_one);
    if (b != NONE)
      interval_add(&t, &states[b].s[k], &minus_one);
    sign = interval_sign(&t, "the sign of a decision along the arc");
  }
  return sign;
}

/* The decision that `above` less `below` is positive; it is zero at the point. */
static void
decide(size_t above, size_t below)
{
  decision d = {intervals(n_wrt), 0, {.known = true}};
  for (int i = 0; i < 2; i++) {
    size_t y = i == 0 ? above : below;
    if (y == NONE)
      continue;
    add_polynomial(&d.q, i == 0 ? &plus_one : &minus_one, y);
    d.degree = states[y].degree > d.degree ? states[y].degree : d.degree;
    for (size_t k = 0; k < n_wrt; k++)
      interval_add(&d.gradient[k], &states[y].g[k], i == 0 ? &plus_one : &minus_one);
  }
  if (d.q.known && (above == NONE || below == NONE)) { /* less the kink */
    static const unsigned char e[32];
    RATIONAL(kink);
    (above == NONE ? mpq_set : mpq_neg)(&kink, &states[above == NONE ? below : above].s->lo);
    if (mpq_sgn(&kink) != 0)
      add_term(&d.q, &kink, e);
  }
  decisions = grow(decisions, n_decisions, sizeof d);
  decisions[n_decisions++] = d;
}

/* A fork at an instruction: which of n numbers is the largest near the point (up: the least)? */
static size_t
fork_at(size_t at, size_t n, const size_t *y, bool up)
{
  size_t c = 0;
  if (stopped)
    return 0;
  if (mode == BY_CHOICES) {
    require(n_used < n_choices, "%s: the leaf is before a fork of %zu choices", place(at), n);
    require(among[n_used] == n, "%s: this fork has %zu choices", place(at), n);
    c = choices[n_used++];
    for (size_t j = 0; j < n; j++)
      if (j != c)
        decide(up ? y[j] : y[c], up ? y[c] : y[j]);
    stopped = dead && n_used == n_choices;
    return c;
  }
  for (bool first = false; !first && c < n; c += !first) {
    first = true;
    for (size_t j = 0; j < n && first; j++)
      first = j == c || leading(y[c], y[j]) == (up ? -1 : 1);
  }
  require(c < n, "%s: the arc does not tell what is larger", place(at));
  return c;
}

/* What is left of an instruction that is zero at the point when factors that are not are left out;
 * *negative: their product is. */
static size_t
without_factors(size_t a, bool *negative)
{
  const interval nought = {zero, zero};
  for (*negative = false; interval_zero(states[a].s);) {
    const instruction *i = &prog.instructions[a];
    size_t kept = 0, terms = 0;
    int sign = 0;
    if (i->kind == A_PRODUCT || i->kind == A_QUOTIENT) {
      kept = interval_zero(states[i->in[0]].s) ? 0 : 1;
      sign = interval_compare(states[i->in[1 - kept]].s, &nought);
    }
    for (size_t k = 0; i->kind == A_SUM && k < i->n; k++) { /* one term, beside constants 0 */
      const instruction *x = &prog.instructions[i->in[k]];
      if (x->kind == A_CONSTANT && mpq_sgn(x->c) == 0)
        continue;
      kept = k;
      terms++;
      sign = mpq_sgn(&i->c[k]);
    }
    if (terms > 1 || (sign != 1 && sign != -1))
      break;
    a = i->in[kept];
    *negative = *negative != (sign < 0);
  }
  return a;
}

/* The sign near the point of a less b, zero there. */
static int
sign_near(size_t at, size_t a, size_t b)
{
  bool negative = false;
  size_t y[2] = {b == NONE ? without_factors(a, &negative) : a, b};
  return identical(y[0], b) ? 0 : fork_at(at, 2, y, !negative) == 1 ? 1 : -1;
}

/* ---- Instructions */

static void
add_gradient(state *y, const interval *c, const state *x)
{
  if (interval_zero(c))
    return;
  y->same = y->same && x->same;
  for (size_t k = 0; k < n_wrt; k++)
    interval_addmul(&y->g[k], c, &x->g[k]);
}

static void
be_like(state *y, const state *x)
{
  for (size_t k = 0; k < n_terms; k++)
    interval_set(&y->s[k], &x->s[k].lo, &x->s[k].hi);
  add_gradient(y, &exactly_one, x);
  y->degree = x->degree;
}

/* Of a touched instruction. */
static const proxy *
proxy_of(const instruction *i, size_t k)
{
  const kinked *o = kink_table;
  while (strcmp(o->name, i->name) != 0)
    o++;
  return i->proxy.given ? &i->proxy : &o->proxy[k];
}

/* c1 + 2 c2 x on piece k. */
static void
slope_on(rational *slope, const pieces *p, size_t k, const rational *x)
{
  mpq_mul(slope, &p->piece[k][2], x);
  mpq_add(slope, slope, slope);
  mpq_add(slope, slope, &p->piece[k][1]);
}

/* The series of piece k at x and its slope there; its degree, that of x being d. */
static uint8_t
piece_at(interval *s, interval *slope, const pieces *p, size_t k, const interval *x, uint8_t d)
{
  interval *t = intervals(n_terms), *w = intervals(n_terms);
  RATIONAL(twice);
  const rational *c = p->piece[k];
  bool exponential = p->elu && k == 0;
  if (exponential) { /* c1 (exp(x) - 1) */
    series_analytic(t, w, "exp", x, n_terms);
    interval_add(t, &exactly_one, &minus_one);
    interval_add(slope, w, &c[1]);
  } else {
    series_mul(t, x, x, n_terms);
    mpq_add(&twice, &c[2], &c[2]);
    interval_add(s, &exactly_one, &c[0]);
    interval_add(slope, &exactly_one, &c[1]);
    interval_add(slope, x, &twice);
  }
  for (size_t j = 0; j < n_terms; j++) {
    interval_add(&s[j], exponential ? &t[j] : &x[j], &c[1]);
    if (!exponential)
      interval_add(&s[j], &t[j], &c[2]);
    interval_round(&s[j]);
  }
  intervals_free(t, n_terms);
  intervals_free(w, n_terms);
  if (d == 0 || (mpq_sgn(&c[1]) == 0 && mpq_sgn(&c[2]) == 0))
    return 0;
  return exponential || mpq_sgn(&c[2]) != 0 ? 2 : d;
}

static void
follow_pointwise(size_t at)
{
  const instruction *i = &prog.instructions[at];
  const pieces *p = i->pieces;
  const state *x = &states[*i->in];
  state *y = &states[at];
  size_t k = 0;
  INTERVAL(slope);
  RATIONAL(left);
  RATIONAL(right);
  int sign = 1;
  for (; k<p->n_kinks; k += sign> 0) {
    interval kink = {p->at[k], p->at[k]};
    sign = interval_compare(x->s, &kink);
    if (sign == 2)
      leave(UNDECIDED, "%s: on which side of a kink is not decided by %d bits", place(at), MAX_BITS);
    if (sign <= 0)
      break;
  }
  bool kink = k < p->n_kinks && sign == 0;
  if (kink) {
    slope_on(&left, p, k, &p->at[k]);
    slope_on(&right, p, k + 1, &p->at[k]);
  }
  bool touched = kink && !mpq_equal(&left, &right), agree = true;
  const proxy *ours = touched ? proxy_of(i, k) : NULL;
  const rational *value = !touched ? NULL : ours->kind == LEFT ? &left : ours->kind == RIGHT ? &right : &ours->value;
  bool known = !touched || ours->kind != UNKNOWN;
  n_touched += touched;
  if (touched && mode != AT_POINT) {
    bool above = sign_near(at, *i->in, NONE) > 0;
    agree = (known && mpq_equal(value, above ? &right : &left)) || (x->same && all_zero(x->g, n_wrt));
    k += above;
  }
  if (kink && !touched && leading(*i->in, NONE) > 0)
    k++; /* elu with parameter 1: smooth, not analytic */
  y->degree = piece_at(y->s, &slope, p, k, x->s, x->degree);
  y->part = k;
  if (kink && !touched && p->elu && x->degree > 0) {
    y->degree = 2;
    y->part = 0; /* no polynomial */
  }
  if (touched && mode == AT_POINT)
    interval_set(&slope, value, value);
  y->same = mode == AT_POINT ? known : agree;
  add_gradient(y, &slope, x);
}

/* Takes numbers from the n left, from the top (up: the bottom), until the rank-th: near the point. */
static size_t
extreme(size_t at, size_t *left, size_t n, size_t rank, bool up)
{
  size_t *candidates = allocate(n, sizeof *candidates), *copy = allocate(n, sizeof *copy), taken = NONE;
  while (taken == NONE) {
    size_t m = 0, kept = 0;
    for (size_t k = 0; k < n; k++) {
      for (copy[k] = 0; copy[k] < m && !identical(candidates[copy[k]], left[k]);)
        copy[k]++;
      if (copy[k] == m)
        candidates[m++] = left[k];
    }
    size_t c = m > 1 ? fork_at(at, m, candidates, up) : 0;
    for (size_t k = 0; k < n; k++)
      if (copy[k] != c)
        left[kept++] = left[k];
    if (rank <= n - kept)
      taken = candidates[c];
    else
      rank -= n - kept;
    n = kept;
  }
  free(candidates);
  free(copy);
  return taken;
}

static int
compare_low_ends(const void *a, const void *b)
{
  return mpq_cmp(&states[*(const size_t *)b].s->lo, &states[*(const size_t *)a].s->lo);
}

/* The entries equal to the value of an ORDER into tied; *rank of them is its own. Where some entry is certain to have the
 * rank, it has it by the lower ends too. */
static size_t
find_tied(size_t at, size_t *tied, size_t *rank)
{
  const instruction *i = &prog.instructions[at];
  size_t above = 0, n = 0;
  bool open = false;
  memcpy(tied, i->in, i->n * sizeof *tied);
  qsort(tied, i->n, sizeof *tied, compare_low_ends);
  size_t k = tied[i->rank - 1];
  for (size_t j = 0; j < i->n; j++) {
    int sign = i->in[j] == k ? 0 : interval_compare(states[i->in[j]].s, states[k].s);
    open = open || sign == 2;
    above += sign == 1;
    if (sign == 0)
      tied[n++] = i->in[j];
  }
  if (open)
    leave(UNDECIDED, "%s: numbers not told apart with %d bits", place(at), MAX_BITS);
  within(LIMIT_TIES, n, "%s: %zu entries are tied", place(at), n);
  *rank = i->rank - above;
  return n;
}

static void
follow_order(size_t at)
{
  const proxy only = {.kind = FIRST, .value = zero};
  const instruction *i = &prog.instructions[at];
  state *y = &states[at];
  size_t *tied = allocate(i->n, sizeof *tied), *left = allocate(i->n, sizeof *left), rank,
         n = find_tied(at, tied, &rank);
  const proxy *p = n > 1 ? proxy_of(i, 0) : &only;
  size_t j = p->kind == FIRST ? 0 : p->kind == LAST ? n - 1 : n - rank, taken = tied[0];
  INTERVAL(share);
  n_touched += n > 1;
  memcpy(left, tied, n * sizeof *tied);
  bool up = 2 * rank > n + 1;
  if (mode != AT_POINT)
    taken = extreme(at, left, n, up ? n + 1 - rank : rank, up);
  be_like(y, &states[taken]);
  y->part = taken;
  for (size_t k = 0; k < n_wrt && mode == AT_POINT; k++)
    interval_set(&y->g[k], &zero, &zero);
  y->same = p->kind != UNKNOWN;
  for (size_t k = 0; k < n; k++) { /* (1 - beta) e_j + beta times the mean, which sum to 1 */
    const state *x = &states[tied[k]];
    RATIONAL(c);
    mpq_set_ui(&c, 1, n);
    mpq_mul(&c, &c, &p->value);
    if (k == j) {
      mpq_add(&c, &c, &plus_one);
      mpq_sub(&c, &c, &p->value);
    }
    interval_set(&share, &c, &c);
    if (mode == AT_POINT)
      add_gradient(y, &share, x);
    if (mode == AT_POINT)
      y->degree = x->degree > y->degree ? x->degree : y->degree;
    if (mpq_sgn(&c) == 0 || mode == AT_POINT)
      continue;
    y->same = y->same && x->same;
    for (size_t e = 0; e < n_wrt && tied[k] != taken; e++)
      y->same = y->same && interval_compare(&x->g[e], &y->g[e]) == 0;
  }
  free(tied);
  free(left);
}

/* Is it known not to be identically zero? */
static bool
is_not_zero(const decision *d)
{
  bool sure = d->q.known && d->q.n > 0;
  for (size_t k = 0; k < n_wrt && !sure; k++)
    sure = mpq_sgn(&d->gradient[k].lo) > 0 || mpq_sgn(&d->gradient[k].hi) < 0;
  return sure;
}

/* The comparison of a BRANCH. */
static void
choose_arm(size_t at)
{
  const instruction *i = &prog.instructions[at];
  size_t a = i->in[0], b = i->in[1], before = n_decisions;
  int sign = a == b ? 0 : interval_compare(states[a].s, states[b].s);
  bool touched = sign == 0, sure = false;
  if (sign == 2)
    leave(UNDECIDED, "%s: a comparison is not decided with %d bits", place(at), MAX_BITS);
  n_touched += touched;
  if (every_arm && touched && a != b && (states[a].degree > 0 || states[b].degree > 0)) {
    states[at].arm = BOTH_ARMS;
    return;
  }
  if (touched && mode != AT_POINT)
    sign = sign_near(at, a, b);
  /* == and != part where the difference stays zero: in a tree it must be known not to. */
  if (n_decisions == before || strchr("=!", *i->relation) == NULL)
    sure = true;
  else
    sure = is_not_zero(&decisions[before]);
  require(sure, "%s: the two sides of == or != may be equal near the point", place(at));
  bool holds = relation_holds(i->relation, sign);
  states[at].arm = holds ? 1 : -1;
  moved = moved || (touched && holds != relation_holds(i->relation, 0));
}

static void
follow_quotient(state *y, const state *a, const state *b)
{
  INTERVAL(c);
  series_div(y->s, a->s, b->s, n_terms);
  series_div(&c, &exactly_one, b->s, 1); /* 1 / b, - y / b */
  add_gradient(y, &c, a);
  interval_mul(&c, &c, y->s);
  mpq_neg(&c.lo, &c.lo);
  mpq_neg(&c.hi, &c.hi);
  mpq_swap(&c.lo, &c.hi);
  add_gradient(y, &c, b);
  bool nothing = a->degree == 0 && interval_zero(a->s);
  y->degree = nothing ? 0 : b->degree == 0 ? a->degree : 2;
}

static void
follow_product(state *y, const state *a, const state *b)
{
  series_mul(y->s, a->s, b->s, n_terms);
  add_gradient(y, b->s, a);
  add_gradient(y, a->s, b);
  bool nothing = (a->degree == 0 && interval_zero(a->s)) || (b->degree == 0 && interval_zero(b->s));
  y->degree = nothing ? 0 : a->degree + b->degree > 2 ? 2 : a->degree + b->degree;
}

/* y += c x, y's size being looked at: of many terms it may be the product of theirs. */
static void
add_limited(interval *y, const interval *x, const rational *c)
{
  interval_add(y, x, c);
  limit_interval(y);
}

static void
follow_norm(size_t at, uint8_t top)
{
  const instruction *i = &prog.instructions[at];
  state *y = &states[at];
  interval *square = intervals(n_terms), *sum = intervals(n_terms), *w = intervals(n_terms);
  bool zeros = true;
  INTERVAL(c);
  for (size_t k = 0; k < i->n; k++) {
    const interval *x = states[i->in[k]].s;
    zeros = zeros && interval_zero(x);
    series_mul(square, x, x, n_terms);
    for (size_t t = 0; t < n_terms; t++)
      add_limited(&sum[t], &square[t], &plus_one);
  }
  n_touched += zeros;
  y->degree = top > 0 ? 2 : 0;
  require(!zeros || top == 0 || mode == AT_POINT, "%s: the norm of a vector that is zero here", place(at));
  if (zeros && mode != AT_POINT)
    y->degree = 0;
  if (!zeros)
    series_analytic(y->s, w, "sqrt", sum, n_terms);
  for (size_t k = 0; k < i->n && !zeros; k++) {
    series_div(&c, states[i->in[k]].s, y->s, 1);
    add_gradient(y, &c, &states[i->in[k]]);
  }
  intervals_free(square, n_terms);
  intervals_free(sum, n_terms);
  intervals_free(w, n_terms);
}

static void
follow_sum(state *y, const instruction *i)
{
  for (size_t k = 0; k < i->n; k++) {
    const state *x = &states[i->in[k]];
    for (size_t t = 0; t < n_terms; t++)
      add_limited(&y->s[t], &x->s[t], &i->c[k]);
    for (size_t e = 0; e < n_wrt; e++)
      add_limited(&y->g[e], &x->g[e], &i->c[k]);
    if (mpq_sgn(&i->c[k]) == 0)
      continue;
    y->degree = x->degree > y->degree ? x->degree : y->degree;
    y->same = y->same && x->same;
  }
}

/* The argument's derivative is looked at where the pattern makes it constant too: AD's need not be 0 there. */
static void
follow_analytic(size_t at, const state *x)
{
  const instruction *i = &prog.instructions[at];
  state *y = &states[at];
  bool root = strcmp(i->name, "sqrt") == 0 && interval_zero(x->s);
  bool infinite = root && (mode == AT_POINT || x->degree == 0);
  interval *w = infinite ? NULL : intervals(n_terms);
  series_analytic(y->s, w, i->name, x->s, n_terms);
  if (w != NULL && mode != AT_POINT && x->degree == 0)
    y->same = x->same || interval_zero(w);
  else if (w != NULL)
    add_gradient(y, w, x);
  intervals_free(w, w != NULL ? n_terms : 0);
  y->degree = x->degree > 0 ? 2 : 0;
  y->same = y->same && !infinite;
  require(!every_arm || !infinite || x->degree == 0, "%s: near a root of 0 F need not be Lipschitz", place(at));
}

static void
follow(size_t at)
{
  const instruction *i = &prog.instructions[at];
  state *y = &states[at];
  const state *a = i->n > 0 ? &states[i->in[0]] : NULL, *b = i->n > 1 ? &states[i->in[1]] : NULL;
  size_t arm = y->arm == -1 ? 3 : 2; /* of both any: they must meet */
  uint8_t top = 0;
  n_followed += 1 + i->n;
  within(LIMIT_GRADIENTS, n_followed * (n_wrt + 1), "instructions and arguments times entries of wrt are more");
  y->s = intervals(n_terms);
  y->g = intervals(n_wrt);
  y->same = true;
  for (size_t k = 0; k < i->n; k++) {
    const state *x = &states[i->in[k]];
    if (i->kind == A_BRANCH && y->arm != BOTH_ARMS && k != arm)
      continue;
    top = x->degree > top ? x->degree : top;
  }
  if (i->kind == AN_INPUT || i->kind == A_CONSTANT)
    interval_set(y->s, i->c, i->c);
  if (i->kind == AN_INPUT && i->entry != NONE) {
    y->degree = 1;
    interval_set(&y->g[i->entry], &plus_one, &plus_one);
    for (size_t k = 1; k < n_terms && k <= n_steps; k++)
      interval_add(&y->s[k], &exactly_one, &arc[(k - 1) * n_wrt + i->entry]);
  }
  if (i->kind == A_SUM)
    follow_sum(y, i);
  if (i->kind == A_PRODUCT)
    follow_product(y, a, b);
  if (i->kind == A_QUOTIENT)
    follow_quotient(y, a, b);
  if (i->kind == AN_ANALYTIC)
    follow_analytic(at, a);
  if (i->kind == A_POINTWISE)
    follow_pointwise(at);
  if (i->kind == AN_ORDER)
    follow_order(at);
  if (i->kind == A_BRANCH)
    be_like(y, &states[i->in[arm]]);
  if (i->kind == A_NORM)
    follow_norm(at, top);
  for (size_t t = 0; t < n_terms; t++) {
    interval_round(&y->s[t]);
    limit_interval(&y->s[t]);
  }
  for (size_t e = 0; e < n_wrt; e++) {
    interval_round(&y->g[e]);
    limit_interval(&y->g[e]);
  }
  if (mode == AT_POINT)
    y->degree = top > y->degree ? top : y->degree; /* AD knows of no constants */
  else if (y->degree == 2)
    refine(at);
  else if (y->degree == 1 && all_zero(y->g, n_wrt))
    y->degree = 0;
  y->done = true;
}

/* Follows the program in demand order, from the beginning, with series of that many terms. */
static void
run(size_t terms)
{
  for (size_t i = 0; i < prog.n; i++) {
    intervals_free(states[i].s, states[i].done ? n_terms : 0);
    intervals_free(states[i].g, states[i].done ? n_wrt : 0);
    polynomial_clear(&states[i].p);
    states[i] = (state){0};
  }
  for (size_t i = 0; i < n_decisions; i++) {
    intervals_free(decisions[i].gradient, n_wrt);
    polynomial_clear(&decisions[i].q);
  }
  n_terms = terms;
  n_touched = n_used = n_decisions = n_followed = 0;
  stopped = moved = false;
  for (size_t o = 0, n = 0; (o < prog.n_outputs || n > 0) && !stopped;) {
    if (n == 0) {
      waiting[0] = prog.outputs[o++];
      next[n++] = 0;
    }
    size_t at = waiting[n - 1], wanted = NONE, *k = &next[n - 1];
    const instruction *i = &prog.instructions[at];
    size_t ask = i->kind == A_BRANCH ? 2 : i->n;
    while (*k < ask && states[i->in[*k]].done)
      ++*k;
    if (*k < ask)
      wanted = i->in[*k];
    else if (i->kind == A_BRANCH && states[at].arm == 0)
      choose_arm(at);
    for (size_t arm = 2; arm < 4 && *k == ask && i->kind == A_BRANCH; arm++)
      if (states[at].arm != (arm == 2 ? -1 : 1) && !states[i->in[arm]].done)
        wanted = i->in[arm];
    if (states[at].done)
      n--;
    else if (wanted != NONE) {
      waiting[n] = wanted;
      next[n++] = 0;
    } else if (!stopped)
      follow(at);
  }
}

/* ---- Evidence */

static void
next_rationals(rational *q, size_t n)
{
  for (size_t k = 0; k < n; k++)
    next_rational(&q[k]);
}

static const interval *
output_gradient(size_t k)
{
  return &states[prog.outputs[k / n_wrt]].g[k % n_wrt];
}

/* The output tends to its value at the point. */
static void
check_limit(void)
{
  for (size_t o = 0; o < prog.n_outputs && moved; o++)
    require(interval_compare(states[prog.outputs[o]].s, &values[o]) == 0,
            "output %zu jumps at the point, or cannot be told not to", o);
}

/* `arc R` and its steps: the pattern they follow. */
static void
follow_arc(void)
{
  next_line("arc");
  n_steps = next_number();
  require(n_steps <= MAX_ORDER, "an arc has %d steps at most", MAX_ORDER);
  arc = rationals(n_steps * n_wrt);
  for (size_t r = 0; r < n_steps; r++) {
    next_line("step");
    next_rationals(arc + r * n_wrt, n_wrt);
  }
  mode = ALONG_ARC;
  run(n_steps > 0 ? MAX_ORDER + 1 : 1);
  check_limit();
  for (size_t k = 0; k < n_steps * n_wrt; k++)
    mpq_clear(&arc[k]);
  free(arc);
}

static void
check_hull(size_t cells, bool whole)
{
  size_t n = prog.n_outputs * n_wrt;
  interval *sum = intervals(n);
  RATIONAL(weight);
  RATIONAL(total);
  for (size_t i = 0; i < cells; i++) {
    if (whole) {
      mpq_set(&weight, &plus_one);
    } else {
      next_line("cell");
      next_rational(&weight);
    }
    require(mpq_sgn(&weight) > 0, "a weight is not positive");
    follow_arc();
    mpq_add(&total, &total, &weight);
    for (size_t k = 0; k < n; k++)
      interval_add(&sum[k], output_gradient(k), &weight);
  }
  require(mpq_equal(&total, &plus_one), "the weights do not sum to 1");
  for (size_t k = 0; k < n; k++) {
    bool rational_both = interval_exact(&sum[k]) && interval_exact(&ad[k]);
    bool same = whole && !moved && states[prog.outputs[k / n_wrt]].same;
    require((same && !rational_both) || interval_compare(&sum[k], &ad[k]) == 0,
            "entry %zu of AD's output is not that of the gradients", k);
  }
  intervals_free(sum, n);
}

/* Decisions, all positive off a null set, whose positive combination is nowhere so: it is zero, or a sum
 * of squares of monomials, none times a positive number. */
static void
check_dead(void)
{
  size_t n = next_number(), from = 0;
  interval *sum = intervals(n_wrt);
  polynomial q = {0};
  RATIONAL(value);
  RATIONAL(t);
  require(n >= 1, "a combination of no decisions proves nothing");
  for (size_t i = 0; i < n; i++) {
    next_line("u");
    size_t k = next_number();
    next_rational(&value);
    require(k >= from && k < n_decisions, "decisions above, in increasing order, are expected");
    const decision *d = &decisions[k];
    require(mpq_sgn(&value) > 0, "positive values are expected");
    require(is_not_zero(d), "decision %zu may be zero", k);
    require(d->degree < 2 || d->q.known, "decision %zu is not known to be a polynomial", k);
    for (size_t e = 0; e < n_wrt && d->degree < 2; e++)
      interval_add(&sum[e], &d->gradient[e], &value);
    for (size_t m = 0; m < d->q.n && d->degree == 2; m++) {
      mpq_mul(&t, &value, &d->q.c[m]);
      add_term(&q, &t, d->q.e + m * n_wrt);
    }
    from = k + 1;
  }
  for (size_t e = 0; e < n_wrt && q.n > 0; e++) { /* q is known: 32 entries at most */
    unsigned char power[32] = {0};
    require(interval_exact(&sum[e]), "the combination of the decisions is not rational");
    power[e] = 1;
    if (mpq_sgn(&sum[e].lo) != 0)
      add_term(&q, &sum[e].lo, power);
    interval_set(&sum[e], &zero, &zero);
  }
  bool good = all_zero(sum, n_wrt);
  for (size_t m = 0; m < q.n; m++) {
    good = good && mpq_sgn(&q.c[m]) < 0;
    for (size_t e = 0; e < n_wrt; e++)
      good = good && q.e[m * n_wrt + e] % 2 == 0;
  }
  require(good, "the combination of the decisions is not zero, nor less by squares");
  intervals_free(sum, n_wrt);
  polynomial_clear(&q);
}

static void
put_number(const interval *x)
{
  RATIONAL(middle);
  mpq_add(&middle, &x->lo, &x->hi);
  mpq_div_2exp(&middle, &middle, 1);
  if (interval_exact(x))
    gmp_fprintf(account, "%Qd", &x->lo);
  else
    fprintf(account, "about %.12g", mpq_get_d(&middle));
}

/* AD's output, or v: (a, b), or for several outputs ((a, b), (c, d)). */
static void
put_rows(const interval *x)
{
  fputs(prog.n_outputs > 1 ? "((" : "(", account);
  for (size_t k = 0; k < prog.n_outputs * n_wrt; k++) {
    if (k > 0)
      fputs(k % n_wrt == 0 ? "), (" : ", ", account);
    put_number(&x[k]);
  }
  fputs(prog.n_outputs > 1 ? "))" : ")", account);
}

static void
dot(interval *y, const interval *v, bool output)
{
  interval_set(y, &zero, &zero);
  for (size_t k = 0; k < prog.n_outputs * n_wrt; k++)
    interval_addmul(y, &v[k], output ? &ad[k] : output_gradient(k));
}

/* The leaf at hand has AD's output as its gradient. */
static void
check_equal(void)
{
  for (size_t k = 0; k < prog.n_outputs * n_wrt; k++)
    require(interval_compare(output_gradient(k), &ad[k]) == 0, "entry %zu of AD's output is not this leaf's", k);
}

/* A leaf's <v, gradient> is certainly below AD's; the largest is kept. */
static void
check_below(const interval *v, const interval *ours, interval *most, bool first)
{
  INTERVAL(theirs);
  dot(&theirs, v, false);
  int order = interval_compare(ours, &theirs);
  if (order == 2)
    leave(UNDECIDED, "whether AD's output is separated from this leaf is not decided by %d bits", MAX_BITS);
  require(order == 1, "AD's output is not separated from this leaf");
  if (first || mpq_cmp(&theirs.hi, &most->hi) > 0)
    interval_set(most, &theirs.lo, &theirs.hi);
}

/* Every pattern near the point is a leaf or dead. With v (NULL: none) all leaves are below AD's output;
 * else they are equal to it. Returns their number. */
static size_t
check_tree(const interval *v, const interval *ours, interval *most)
{
  size_t depth = 0, leaves = 0;
  next_line("tree");
  mode = BY_CHOICES;
  do {
    if (line_is("branch")) {
      choices = grow(choices, depth, sizeof *choices);
      among = grow(among, depth, sizeof *among);
      choices[depth] = 0;
      among[depth] = next_number();
      require(among[depth++] >= 2, "a branch has two choices or more");
      continue;
    }
    dead = line_is("dead");
    if (!dead)
      next_line("leaf");
    n_choices = depth;
    run(1);
    require(n_used == depth, "there is no fork for each branch above");
    if (dead)
      check_dead();
    else {
      check_limit();
      leaves++;
    }
    if (!dead && v == NULL)
      check_equal();
    if (!dead && v != NULL)
      check_below(v, ours, most, leaves == 1);
    for (; depth > 0 && choices[depth - 1] + 1 == among[depth - 1];)
      depth--;
    if (depth > 0)
      choices[depth - 1]++;
  } while (depth > 0);
  require(leaves > 0, "a tree without a leaf");
  return leaves;
}

/* Writes the vector and the two numbers it keeps apart. */
static void
check_separator(void)
{
  size_t n = prog.n_outputs * n_wrt;
  interval *v = intervals(n);
  INTERVAL(ours);
  INTERVAL(most);
  next_line("v");
  for (size_t k = 0; k < n; k++) {
    next_rational(&v[k].lo);
    mpq_set(&v[k].hi, &v[k].lo);
  }
  dot(&ours, v, true);
  size_t leaves = check_tree(v, &ours, &most);
  fputs("It is separated by v = ", account);
  put_rows(v);
  fputs(": <v, AD> = ", account);
  put_number(&ours);
  fputs(", but <v, gradient> is at most ", account);
  put_number(&most);
  fprintf(account, "\nat every limit of gradients; there are %zu or fewer.\n", leaves);
}

static void
check_evidence(const char *verdict)
{
  bool bouligand = strcmp(verdict, "in-bouligand") == 0, outside = *verdict == 'n';
  next_line("evidence");
  const char *word = next_word();
  if (strcmp(word, "ad") == 0 && bouligand) {
    check_hull(1, true);
  } else if (strcmp(word, "hull") == 0 && !outside) {
    size_t n = next_number();
    require(n >= 1 && (n == 1 || !bouligand), "a hull has one cell or more; one for this verdict");
    check_hull(n, false);
  } else if (strcmp(word, "unanimous") == 0 && bouligand) {
    check_tree(NULL, NULL, NULL);
  } else {
    require(strcmp(word, "separator") == 0 && outside, "'%s' does not prove %s", word, verdict);
    check_separator();
  }
  last_line();
}

/* ---- Statement */

/* The program without lines that are comments. */
static void
put_text(bytes b)
{
  for (size_t i = 0; i < b.size; i++) {
    char c = (char)b.data[i], before = i > 0 ? (char)b.data[i - 1] : '\n';
    if (before == '\n' && c == '#') {
      while (i + 1 < b.size && b.data[i] != '\n')
        i++;
      continue;
    }
    if (c == '\r' && i + 1 < b.size && b.data[i + 1] == '\n')
      continue;
    if (before == '\n')
      fputs("  ", account);
    fputc(c == '\n' || c == '\t' ? c : printable(c), account);
    if (i + 1 == b.size && c != '\n')
      fputc('\n', account);
  }
}

static void
read_point(void)
{
  fputs("Point w:", account);
  for (size_t k = 0; k < prog.n_inputs; k++) {
    const program_input *in = &prog.inputs[k];
    next_line("at");
    require(strcmp(next_word(), in->name) == 0, "the values of input '%s' are expected", in->name);
    fprintf(account, "%s %s = %s", k > 0 ? "," : "", in->name, in->vector ? "(" : "");
    for (size_t e = 0; e < in->n; e++) {
      next_rational(prog.instructions[in->first + e].c);
      gmp_fprintf(account, "%s%Qd", e > 0 ? ", " : "", prog.instructions[in->first + e].c);
    }
    fputs(in->vector ? ")" : "", account);
  }
  fputs("\n", account);
}

static void
read_wrt(void)
{
  next_line("wrt");
  bool all = words < words_end && strcmp(words, "*") == 0;
  fputs("F is a function of:", account);
  if (all)
    next_word();
  for (size_t k = 0; k < prog.n_inputs; k++) {
    const program_input *in = &prog.inputs[k];
    if (!all && (words >= words_end || strcmp(words, in->name) != 0))
      continue;
    fprintf(account, " %s", all ? in->name : next_word());
    for (size_t e = 0; e < in->n; e++)
      prog.instructions[in->first + e].entry = n_wrt++;
  }
  require(words == words_end && n_wrt > 0, "'%s' is no input, or not in their order", words == words_end ? "" : words);
  fputs(all ? "\n" : "; the other inputs are fixed\n", account);
}

/* `left`, `right`, `unknown` or a rational; of ties `first`, `last`, `stable`, `mean`, `unknown` or
 * `hybrid B`. */
static void
next_proxy(proxy *p, bool ties)
{
  static const char *const names[] = {"left",   "right",   "unknown", "first", "last",
                                      "stable", "unknown", "mean",    "hybrid"};
  static const int kinds[] = {LEFT, RIGHT, UNKNOWN, FIRST, LAST, STABLE, UNKNOWN, FIRST, FIRST};
  size_t k = ties ? 3 : 0, end = ties ? 9 : 3;
  const char *word = next_word();
  fprintf(account, " %s", word);
  while (k < end && strcmp(word, names[k]) != 0)
    k++;
  require(k < 9, "'%s' is no rule for ties", word);
  if (k == 3 && !ties)
    words -= strlen(word) + 1;
  p->kind = k == 3 && !ties ? VALUE : kinds[k];
  p->value = rational_zero();
  if (k == 7)
    mpq_set(&p->value, &plus_one);
  if (p->kind == VALUE || k == 8)
    next_rational(&p->value);
  if (k == 8)
    gmp_fprintf(account, " %Qd", &p->value);
  fputs("\n", account);
}

/* `proxy` lines, then `tie` lines, of the operators that take theirs from here. */
static void
read_proxies(bool ties)
{
  for (kinked *o = kink_table; o->name != NULL; o++)
    for (size_t k = 0; k < (ties ? o->n_kinks == 0 : o->n_kinks) && o->used; k++) {
      next_line(ties ? "tie" : "proxy");
      require(strcmp(next_word(), o->name) == 0 && (ties || next_number() == k), "kink %zu of %s is expected", k,
              o->name);
      fprintf(account, ties ? "  %s, ties:" : "  %s, kink %zu:", o->name, k);
      next_proxy(&o->proxy[k], ties);
    }
}

static void
keep_results(void)
{
  ad = intervals(prog.n_outputs * n_wrt);
  values = intervals(prog.n_outputs);
  for (size_t k = 0; k < prog.n_outputs * n_wrt; k++)
    interval_add(&ad[k], output_gradient(k), &plus_one);
  for (size_t o = 0; o < prog.n_outputs; o++)
    interval_add(&values[o], states[prog.outputs[o]].s, &plus_one);
}

/* F is locally Lipschitz near the point: without that it has no generalized derivative to be a member of. */
static void
check_neighbourhood(void)
{
  near_value *near = allocate(prog.n, sizeof *near);
  every_arm = true;
  run(1);
  every_arm = false;
  for (size_t i = 0; i < prog.n; i++)
    near[i] = (near_value){states[i].done ? states[i].s : NULL, states[i].arm};
  check_lipschitz(&prog, near);
  free(near);
}

static const char *const meanings[][2] = {
    {"in-bouligand", "an element of the Bouligand subdifferential of F at w: a limit of gradients of F,\n"
                     "taken at points near w where F is differentiable"},
    {"in-clarke", "an element of the Clarke subdifferential of F at w: a convex combination of limits\n"
                  "of gradients of F, taken at points near w where F is differentiable"},
    {"not-in-clarke", "NOT an element of the Clarke subdifferential of F at w: neither a limit of\n"
                      "gradients of F, taken at points near w where F is differentiable, nor a convex\n"
                      "combination of such limits"}};

void
check_program(const char *folder, const char *verdict)
{
  size_t m = 0;
  while (strcmp(meanings[m][0], verdict) != 0)
    m++;
  bytes text = next_file(folder, "Program, whose output is F");
  put_text(text);
  program_read(&prog, text);
  states = allocate(prog.n, sizeof *states);
  waiting = allocate(prog.n + 1, sizeof *waiting);
  next = allocate(prog.n + 1, sizeof *next);
  read_point();
  read_wrt();
  next_line("profile");
  state_profile(next_name());
  read_proxies(false);
  read_proxies(true);
  mode = AT_POINT;
  run(1);
  for (size_t o = 0; o < prog.n_outputs; o++)
    require(states[prog.outputs[o]].same,
            "AD's output needs a proxy that is unknown, or a derivative that is infinite");
  keep_results();
  next_line("touched");
  require(next_number() == n_touched, "the number of touched instructions is %zu", n_touched);
  fprintf(account, "Touched instructions: %zu\nAD returns ", n_touched);
  check_neighbourhood();
  put_rows(ad);
  fprintf(account, ". It is\n%s.\n", meanings[m][1]);
  check_evidence(verdict);
  fflush(account);
}
