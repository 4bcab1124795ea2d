/* Every kind of instruction, followed. */
#include "check/program/program_follow.h"
#include "check/base/allocate.h"
#include "check/base/limit.h"
#include "check/program/program_fork.h"
#include "check/program/program_norm.h"
#include "check/program/program_series.h"

#include <stdlib.h>
#include <string.h>

static size_t n_touched, n_followed, *waiting, *next;
static bool every_arm; /* at the point: with both arms of branches whose comparands are equal */
static size_t n_steps;
static const rational *arc;
static bool moved; /* a branch takes not the arm that it takes at the point */

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
  size_t o = 0;
  while (strcmp(kink_operator(o)->name, i->name) != 0)
    o++;
  return i->proxy.given ? &i->proxy : &kink_operator(o)->proxy[k + (i->pieces != NULL ? i->pieces->first : 0)];
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
  bool touched = kink && !mpq_equal(&left, &right), agree = true, up = kink && mpq_cmp(&left, &right) < 0;
  const proxy *ours = touched ? proxy_of(i, k) : NULL;
  const rational *value = !touched ? NULL : ours->kind == LEFT ? &left : ours->kind == RIGHT ? &right : &ours->value;
  bool known = !touched || ours->kind != UNKNOWN;
  n_touched += touched;
  if (touched && mode != AT_POINT) {
    int side = sign_near(at, *i->in, NONE);
    bool above = side == 1;
    y->open = side == ANY_SIDE;
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
  if (y->open) {
    interval_set(&slope, up ? &left : &right, up ? &right : &left);
    y->degree = 2;
  }
  y->same = mode == AT_POINT ? known : agree;
  add_gradient(y, &slope, x);
}

/* Takes numbers from the *m left, from the top (up: the bottom), until the rank-th: near the point. NONE: it is left open
 * which of the *m it is that are left then. */
static size_t
extreme(size_t at, size_t *left, size_t *m, size_t rank, bool up)
{
  size_t *candidates = allocate(*m, sizeof *candidates), *copy = allocate(*m, sizeof *copy), taken = NONE;
  while (taken == NONE) {
    size_t n = 0, kept = 0;
    for (size_t k = 0; k < *m; k++) {
      for (copy[k] = 0; copy[k] < n && !identical(candidates[copy[k]], left[k]);)
        copy[k]++;
      if (copy[k] == n)
        candidates[n++] = left[k];
    }
    size_t c = n > 1 ? fork_at(at, n, candidates, up) : 0;
    if (c == NONE)
      break;
    for (size_t k = 0; k < *m; k++)
      if (copy[k] != c)
        left[kept++] = left[k];
    if (rank <= *m - kept)
      taken = candidates[c];
    else
      rank -= *m - kept;
    *m = kept;
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
  size_t n_left = n;
  if (mode != AT_POINT)
    taken = extreme(at, left, &n_left, up ? n + 1 - rank : rank, up);
  y->open = taken == NONE;
  be_like(y, &states[y->open ? *left : taken]);
  y->part = y->open ? *left : taken;
  if (y->open) {
    y->degree = 2;
    for (size_t k = 1; k < n_left; k++)
      for (size_t e = 0; e < n_wrt; e++)
        interval_join(&y->g[e], &states[left[k]].g[e]);
  }
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
  require(sign != ANY_SIDE, "%s: the arm of a branch cannot be left open", place(at));
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
  y->same = y->same && (!infinite || (mode == AT_POINT && x->degree == 0));
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
    n_touched += follow_norm(at, top);
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
run(way how, size_t terms)
{
  forks_clear();
  walk_clear(how, terms);
  n_touched = n_followed = 0;
  moved = false;
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

void
follow_point(bool all)
{
  if (waiting == NULL) {
    waiting = allocate(prog.n + 1, sizeof *waiting);
    next = allocate(prog.n + 1, sizeof *next);
  }
  every_arm = all;
  run(AT_POINT, 1);
  every_arm = false;
}

void
follow_arc(const rational *steps, size_t n, size_t terms)
{
  arc = steps;
  n_steps = n;
  run(ALONG_ARC, terms);
}

void
follow_choices(void)
{
  run(BY_CHOICES, 1);
}

size_t
follow_touched(void)
{
  return n_touched;
}

bool
follow_open(void)
{
  for (size_t i = 0; i < prog.n; i++)
    if (states[i].open)
      return true;
  return false;
}

bool
follow_moved(void)
{
  return moved;
}
