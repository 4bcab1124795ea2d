/* Every kind of instruction, followed. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* qsort_r */
#endif
#include "check/program/program_follow.h"
#include "check/base/allocate.h"
#include "check/base/limit.h"
#include "check/program/power_series.h"
#include "check/program/program_fork.h"

#include <stdlib.h>
#include <string.h>

static void
be_like(walk *w, state *y, const state *x)
{
  for (size_t k = 0; k < w->n_terms; k++)
    interval_set(&y->s[k], &x->s[k].lo, &x->s[k].hi);
  add_gradient(w, y, &exactly_one, x);
  y->degree = x->degree;
}

const proxy *
proxy_of(const walk *w, const instruction *i, size_t k)
{
  size_t o = 0;
  while (strcmp(kink_operator(&w->prog, o)->name, i->name) != 0)
    o++;
  return i->proxy.given ? &i->proxy
                        : &kink_operator(&w->prog, o)->proxy[k + (i->pieces != NULL ? i->pieces->first : 0)];
}

/* Does AD leave out what it multiplies by 0, on a flat piece or at a kink? These multiply. */
static bool
masks(const instruction *i)
{
  static const char *const multiply[] = {"Abs", "LeakyRelu", "Elu", "Max", "Min"};
  for (size_t k = 0; k < sizeof multiply / sizeof *multiply; k++)
    if (strcmp(i->name, multiply[k]) == 0)
      return false;
  return true;
}

void
slope_on(rational *slope, const pieces *p, size_t k, const rational *x)
{
  mpq_mul(slope, &p->piece[k][2], x);
  mpq_add(slope, slope, slope);
  mpq_add(slope, slope, &p->piece[k][1]);
}

/* The series of piece k at x and its slope there; its degree, that of x being d. */
static uint8_t
piece_at(walk *w, interval *s, interval *slope, const pieces *p, size_t k, const interval *x, uint8_t d)
{
  interval *t = intervals(w->n_terms), *by = intervals(w->n_terms);
  RATIONAL(twice);
  const rational *c = p->piece[k];
  bool exponential = p->elu && k == 0;
  if (exponential) { /* c1 (exp(x) - 1) */
    w->prog.smooth->series(t, by, "exp", x, w->n_terms);
    interval_add(t, &exactly_one, &minus_one);
    interval_add(slope, by, &c[1]);
  } else {
    series_mul(t, x, x, w->n_terms);
    mpq_add(&twice, &c[2], &c[2]);
    interval_add(s, &exactly_one, &c[0]);
    interval_add(slope, &exactly_one, &c[1]);
    interval_add(slope, x, &twice);
  }
  for (size_t j = 0; j < w->n_terms; j++) {
    interval_add(&s[j], exponential ? &t[j] : &x[j], &c[1]);
    if (!exponential)
      interval_add(&s[j], &t[j], &c[2]);
    interval_round(&s[j]);
  }
  intervals_free(t, w->n_terms);
  intervals_free(by, w->n_terms);
  if (d == 0 || (mpq_sgn(&c[1]) == 0 && mpq_sgn(&c[2]) == 0))
    return 0;
  return exponential || mpq_sgn(&c[2]) != 0 ? 2 : d;
}

static void
follow_pointwise(walk *w, size_t at)
{
  const instruction *i = &w->prog.instructions[at];
  const pieces *p = i->pieces;
  const state *x = &w->states[*i->in];
  state *y = &w->states[at];
  size_t k = 0;
  INTERVAL(slope);
  RATIONAL(left);
  RATIONAL(right);
  int sign = 1;
  for (; k<p->n_kinks; k += sign> 0) {
    interval kink = {p->at[k], p->at[k]};
    sign = interval_compare(x->s, &kink);
    if (sign == 2)
      leave(UNDECIDED, "%s: on which side of a kink is not decided by %d bits", place(w, at).text, MAX_BITS);
    if (sign <= 0)
      break;
  }
  bool kink = k < p->n_kinks && sign == 0;
  if (kink) {
    slope_on(&left, p, k, &p->at[k]);
    slope_on(&right, p, k + 1, &p->at[k]);
  }
  bool touched = kink && !mpq_equal(&left, &right), agree = true, up = kink && mpq_cmp(&left, &right) < 0;
  const proxy *ours = touched ? proxy_of(w, i, k) : NULL;
  const rational *value = !touched ? NULL : ours->kind == LEFT ? &left : ours->kind == RIGHT ? &right : &ours->value;
  bool known = !touched || ours->kind != UNKNOWN;
  w->n_touched += touched;
  if (touched && w->mode != AT_POINT) {
    int side = sign_near(w, at, *i->in, NONE);
    bool above = side == 1;
    y->open = side == ANY_SIDE;
    agree = (known && mpq_equal(value, above ? &right : &left)) || (x->same && all_zero(x->g, w->n_wrt));
    k += above;
  }
  if (kink && !touched && leading(w, *i->in, NONE) > 0)
    k++; /* elu with parameter 1: smooth, not analytic */
  y->degree = piece_at(w, y->s, &slope, p, k, x->s, x->degree);
  y->part = kink && w->mode == AT_POINT ? NONE : k;
  if (kink && !touched && p->elu && x->degree > 0) {
    y->degree = 2;
    y->part = 0; /* no polynomial */
  }
  if (touched && w->mode == AT_POINT)
    interval_set(&slope, value, value);
  if (y->open) {
    interval_set(&slope, up ? &left : &right, up ? &right : &left);
    y->degree = 2;
  }
  y->same = w->mode == AT_POINT ? known : agree;
  bool flat = mpq_sgn(&p->piece[k][1]) == 0 && mpq_sgn(&p->piece[k][2]) == 0; /* a slope that is computed is no mask */
  y->masked = x->masked || (masks(i) && known && (touched ? mpq_sgn(value) == 0 : flat));
  add_gradient(w, y, &slope, x);
}

/* Takes numbers from the *m left, from the top (up: the bottom), until the rank-th: near the point. NONE: it is left open
 * which of the *m it is that are left then. */
static size_t
extreme(walk *w, size_t at, size_t *left, size_t *m, size_t rank, bool up)
{
  size_t *candidates = allocate(*m, sizeof *candidates), *copy = allocate(*m, sizeof *copy), taken = NONE;
  while (taken == NONE) {
    size_t n = 0, kept = 0;
    for (size_t k = 0; k < *m; k++) {
      for (copy[k] = 0; copy[k] < n && !identical(w, candidates[copy[k]], left[k]);)
        copy[k]++;
      if (copy[k] == n)
        candidates[n++] = left[k];
    }
    size_t c = n > 1 ? fork_at(w, at, n, candidates, up) : 0;
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
compare_low_ends(const void *a, const void *b, void *of)
{
  const state *x = of;
  return mpq_cmp(&x[*(const size_t *)b].s->lo, &x[*(const size_t *)a].s->lo);
}

/* Where some entry is certain to have the rank, it has it by the lower ends too. */
size_t
find_tied(walk *w, size_t at, size_t *tied, size_t *rank)
{
  const instruction *i = &w->prog.instructions[at];
  size_t above = 0, n = 0;
  bool open = false;
  memcpy(tied, i->in, i->n * sizeof *tied);
  qsort_r(tied, i->n, sizeof *tied, compare_low_ends, w->states);
  size_t k = tied[i->rank - 1];
  for (size_t j = 0; j < i->n; j++) {
    int sign = i->in[j] == k ? 0 : interval_compare(w->states[i->in[j]].s, w->states[k].s);
    open = open || sign == 2;
    above += sign == 1;
    if (sign == 0)
      tied[n++] = i->in[j];
  }
  if (open)
    leave(UNDECIDED, "%s: numbers not told apart with %d bits", place(w, at).text, MAX_BITS);
  within(LIMIT_TIES, n, "%s: %zu entries are tied", place(w, at).text, n);
  *rank = i->rank - above;
  return n;
}

/* (1 - beta) e_j + beta times the mean: they sum to 1. */
void
tied_share(rational *c, const walk *w, const instruction *i, size_t n, size_t rank, size_t k)
{
  const proxy only = {.kind = FIRST, .value = zero}, *p = n > 1 ? proxy_of(w, i, 0) : &only;
  size_t j = p->kind == FIRST ? 0 : p->kind == LAST ? n - 1 : n - rank;
  mpq_set_ui(c, 1, n);
  mpq_mul(c, c, &p->value);
  if (k == j) {
    mpq_add(c, c, &plus_one);
    mpq_sub(c, c, &p->value);
  }
}

static void
follow_order(walk *w, size_t at)
{
  const instruction *i = &w->prog.instructions[at];
  state *y = &w->states[at];
  size_t *tied = allocate(i->n, sizeof *tied), *left = allocate(i->n, sizeof *left), rank,
         n = find_tied(w, at, tied, &rank), taken = tied[0];
  INTERVAL(share);
  w->n_touched += n > 1;
  memcpy(left, tied, n * sizeof *tied);
  bool up = 2 * rank > n + 1;
  size_t n_left = n;
  w->vague = false;
  if (w->mode != AT_POINT)
    taken = extreme(w, at, left, &n_left, up ? n + 1 - rank : rank, up);
  y->open = taken == NONE;
  be_like(w, y, &w->states[y->open ? *left : taken]);
  y->part = y->open ? *left : w->mode == AT_POINT && n > 1 ? NONE : taken;
  if (y->open) {
    y->degree = 2;
    for (size_t k = 1; k < n_left; k++)
      for (size_t e = 0; e < w->n_wrt; e++)
        interval_join(&y->g[e], &w->states[left[k]].g[e]);
  }
  if (w->vague) { /* along the lines it is what is taken, near them perhaps another */
    y->open = true;
    y->degree = 2;
  }
  for (size_t k = 0; k < w->n_wrt && w->mode == AT_POINT; k++)
    interval_set(&y->g[k], &zero, &zero);
  y->same = n == 1 || proxy_of(w, i, 0)->kind != UNKNOWN;
  y->masked = y->masked || masks(i); /* as all its arguments are, or of those that have a share */
  for (size_t k = 0; k < n; k++) {
    const state *x = &w->states[tied[k]];
    RATIONAL(c);
    tied_share(&c, w, i, n, rank, k);
    interval_set(&share, &c, &c);
    y->masked = y->masked && (x->masked || (masks(i) && mpq_sgn(&c) == 0));
    if (w->mode == AT_POINT)
      add_gradient(w, y, &share, x);
    if (w->mode == AT_POINT)
      y->degree = x->degree > y->degree ? x->degree : y->degree;
    if (mpq_sgn(&c) == 0 || w->mode == AT_POINT)
      continue;
    y->same = y->same && x->same;
    for (size_t e = 0; e < w->n_wrt && tied[k] != taken; e++)
      y->same = y->same && interval_compare(&x->g[e], &y->g[e]) == 0;
  }
  free(tied);
  free(left);
}

/* The comparison of a BRANCH. */
static void
choose_arm(walk *w, size_t at)
{
  const instruction *i = &w->prog.instructions[at];
  size_t a = i->in[0], b = i->in[1], before = w->fork.n_decisions;
  int sign = a == b ? 0 : interval_compare(w->states[a].s, w->states[b].s);
  bool touched = sign == 0, sure = false;
  if (sign == 2)
    leave(UNDECIDED, "%s: a comparison is not decided with %d bits", place(w, at).text, MAX_BITS);
  w->n_touched += touched;
  if (w->every_arm && touched && a != b && (w->states[a].degree > 0 || w->states[b].degree > 0)) {
    w->states[at].arm = BOTH_ARMS;
    return;
  }
  if (touched && w->mode != AT_POINT)
    sign = sign_near(w, at, a, b);
  require(sign != ANY_SIDE, "%s: the arm of a branch cannot be left open", place(w, at).text);
  /* == and != part where the difference stays zero: in a tree it must be known not to. */
  if (w->fork.n_decisions == before || strchr("=!", *i->relation) == NULL)
    sure = true;
  else
    sure = is_not_zero(w, &w->fork.decisions[before]);
  require(sure, "%s: the two sides of == or != may be equal near the point", place(w, at).text);
  bool holds = relation_holds(i->relation, sign);
  w->states[at].arm = holds ? 1 : -1;
  w->moved = w->moved || (touched && holds != relation_holds(i->relation, 0));
}

static void
follow_quotient(walk *w, state *y, const state *a, const state *b)
{
  INTERVAL(c);
  series_div(y->s, a->s, b->s, w->n_terms);
  series_div(&c, &exactly_one, b->s, 1); /* 1 / b, - y / b */
  add_gradient(w, y, &c, a);
  interval_mul(&c, &c, y->s);
  mpq_neg(&c.lo, &c.lo);
  mpq_neg(&c.hi, &c.hi);
  mpq_swap(&c.lo, &c.hi);
  add_gradient(w, y, &c, b);
  bool nothing = a->degree == 0 && interval_zero(a->s);
  y->degree = nothing ? 0 : b->degree == 0 ? a->degree : 2;
}

static void
follow_product(walk *w, state *y, const state *a, const state *b)
{
  series_mul(y->s, a->s, b->s, w->n_terms);
  add_gradient(w, y, b->s, a);
  add_gradient(w, y, a->s, b);
  bool nothing = (a->degree == 0 && interval_zero(a->s)) || (b->degree == 0 && interval_zero(b->s));
  y->degree = nothing ? 0 : a->degree + b->degree > 2 ? 2 : a->degree + b->degree;
}

static void
follow_sum(walk *w, state *y, const instruction *i)
{
  for (size_t k = 0; k < i->n; k++) {
    const state *x = &w->states[i->in[k]];
    for (size_t t = 0; t < w->n_terms; t++)
      add_limited(&y->s[t], &x->s[t], &i->c[k]);
    for (size_t e = 0; e < w->n_wrt; e++)
      add_limited(&y->g[e], &x->g[e], &i->c[k]);
    if (mpq_sgn(&i->c[k]) == 0)
      continue;
    y->degree = x->degree > y->degree ? x->degree : y->degree;
    y->same = y->same && x->same;
  }
}

/* The argument's derivative is looked at where the pattern makes it constant too: AD's need not be 0 there. */
static void
follow_analytic(walk *w, size_t at, const state *x)
{
  const instruction *i = &w->prog.instructions[at];
  state *y = &w->states[at];
  bool root = strcmp(i->name, "sqrt") == 0 && interval_zero(x->s);
  bool infinite = root && (w->mode == AT_POINT || x->degree == 0);
  interval *by = infinite ? NULL : intervals(w->n_terms);
  w->prog.smooth->series(y->s, by, i->name, x->s, w->n_terms);
  if (by != NULL && w->mode != AT_POINT && x->degree == 0)
    y->same = x->same || interval_zero(by);
  else if (by != NULL)
    add_gradient(w, y, by, x);
  intervals_free(by, by != NULL ? w->n_terms : 0);
  y->degree = x->degree > 0 && !(w->every_arm && root) ? 2 : 0; /* or it is refused (program_lipschitz.h) */
  bool stopped =
      x->masked && !(w->mode == AT_POINT && w->lines != NULL && x->degree > 0); /* a tangent of 0 over 0 is NaN */
  y->same = y->same && (!infinite || stopped);
}

/* An entry of wrt. */
static void
follow_entry(const walk *w, state *y, size_t entry)
{
  y->degree = 1;
  y->masked = false;
  for (size_t k = 0; k < w->n_wrt && w->lines != NULL; k++)
    interval_add(&y->g[k], &exactly_one, &w->lines[k * w->n_entries + entry]);
  if (w->lines == NULL)
    interval_set(&y->g[entry], &plus_one, &plus_one);
  for (size_t k = 1; k < w->n_terms && k <= w->n_steps; k++)
    interval_add(&y->s[k], &exactly_one, &w->arc[(k - 1) * w->n_wrt + entry]);
}

static void
follow(walk *w, size_t at)
{
  const instruction *i = &w->prog.instructions[at];
  state *y = &w->states[at];
  const state *a = i->n > 0 ? &w->states[i->in[0]] : NULL, *b = i->n > 1 ? &w->states[i->in[1]] : NULL;
  size_t arm = y->arm == -1 ? 3 : 2; /* of both any: they must meet */
  uint8_t top = 0;
  w->n_followed += 1 + i->n;
  within(LIMIT_GRADIENTS, w->n_followed * (w->n_wrt + 1), "instructions and arguments times entries of wrt are more");
  y->s = intervals(w->n_terms);
  y->g = intervals(w->n_wrt);
  y->same = y->masked = true;
  for (size_t k = 0; k < i->n; k++) {
    const state *x = &w->states[i->in[k]];
    if (i->kind == A_BRANCH && y->arm != BOTH_ARMS && k != arm)
      continue;
    y->masked = y->masked && x->masked;
    top = x->degree > top ? x->degree : top;
  }
  if (i->kind == AN_INPUT || i->kind == A_CONSTANT)
    interval_set(y->s, i->c, i->c);
  if (i->kind == AN_INPUT && i->entry != NONE)
    follow_entry(w, y, i->entry);
  if (i->kind == A_SUM)
    follow_sum(w, y, i);
  if (i->kind == A_PRODUCT)
    follow_product(w, y, a, b);
  if (i->kind == A_QUOTIENT)
    follow_quotient(w, y, a, b);
  if (i->kind == AN_ANALYTIC)
    follow_analytic(w, at, a);
  if (i->kind == A_POINTWISE)
    follow_pointwise(w, at);
  if (i->kind == AN_ORDER)
    follow_order(w, at);
  if (i->kind == A_BRANCH)
    be_like(w, y, &w->states[i->in[arm]]);
  if (i->kind == A_NORM)
    w->n_touched += w->prog.smooth->norm(w, at, top);
  for (size_t t = 0; t < w->n_terms; t++) {
    interval_round(&y->s[t]);
    limit_interval(&y->s[t]);
  }
  for (size_t e = 0; e < w->n_wrt; e++) {
    interval_round(&y->g[e]);
    limit_interval(&y->g[e]);
  }
  bool parts = y->arm == BOTH_ARMS || (i->kind == A_POINTWISE && y->part == NONE);
  if (w->mode == AT_POINT)
    y->degree = top > y->degree && (!w->every_arm || parts) ? top : y->degree; /* AD knows of no constants */
  else if (y->degree == 2)
    refine(w, at);
  else if (y->degree == 1 && all_zero(y->g, w->n_wrt))
    y->degree = 0;
  y->done = true;
}

/* Follows the program in demand order, from the beginning, with series of that many terms. */
static void
run(walk *w, way how, size_t terms)
{
  forks_clear(w);
  walk_clear(w, how, terms);
  w->n_touched = w->n_followed = 0;
  w->moved = false;
  for (size_t o = 0, n = 0; (o < w->prog.n_outputs || n > 0) && !w->fork.stopped;) {
    if (n == 0) {
      w->waiting[0] = w->prog.outputs[o++];
      w->next[n++] = 0;
    }
    size_t at = w->waiting[n - 1], wanted = NONE, *k = &w->next[n - 1];
    const instruction *i = &w->prog.instructions[at];
    size_t ask = i->kind == A_BRANCH ? 2 : i->n;
    while (*k < ask && w->states[i->in[*k]].done)
      ++*k;
    if (*k < ask)
      wanted = i->in[*k];
    else if (i->kind == A_BRANCH && w->states[at].arm == 0)
      choose_arm(w, at);
    for (size_t arm = 2; arm < 4 && *k == ask && i->kind == A_BRANCH; arm++)
      if (w->states[at].arm != (arm == 2 ? -1 : 1) && !w->states[i->in[arm]].done)
        wanted = i->in[arm];
    if (w->states[at].done)
      n--;
    else if (wanted != NONE) {
      w->waiting[n] = wanted;
      w->next[n++] = 0;
    } else if (!w->fork.stopped)
      follow(w, at);
  }
}

void
follow_point(walk *w, bool all)
{
  if (w->waiting == NULL) {
    w->waiting = allocate(w->prog.n + 1, sizeof *w->waiting);
    w->next = allocate(w->prog.n + 1, sizeof *w->next);
  }
  w->every_arm = all;
  run(w, AT_POINT, 1);
  w->every_arm = false;
}

void
follow_arc(walk *w, const rational *steps, size_t n, size_t terms)
{
  w->arc = steps;
  w->n_steps = n;
  run(w, ALONG_ARC, terms);
}

void
follow_other(walk *w, way how)
{
  run(w, how, 1);
}

size_t
follow_touched(walk *w)
{
  return w->n_touched;
}

bool
follow_open(walk *w)
{
  for (size_t i = 0; i < w->prog.n; i++)
    if (w->states[i].open)
      return true;
  return false;
}

bool
follow_moved(walk *w)
{
  return w->moved;
}
