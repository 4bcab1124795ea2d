/* Touched kinks; windows, the largest of their entries and what is tied. */
#include "check/kernel/window.h"
#include "check/base/allocate.h"
#include "check/kernel/gradient.h"
#include "check/kernel/identity.h"
#include "check/base/lines.h"
#include "check/kernel/names.h"
#include "check/kernel/smooth.h"

#include <stdlib.h>
#include <string.h>

/* ---- Touched kinks and windows */

void
touch_add(point *p, touch t)
{
  pthread_mutex_lock(&p->touching);
  p->touched = grow(p->touched, p->n_touched, sizeof t);
  p->touched[p->n_touched++] = t;
  pthread_mutex_unlock(&p->touching);
}

static int
touch_order(const void *a, const void *b)
{
  const touch *t = a, *u = b;
  return t->step != u->step ? (t->step > u->step) - (t->step < u->step) : (t->entry > u->entry) - (t->entry < u->entry);
}

void
touches_number(point *p)
{
  if (p->n_touched > 0)
    qsort(p->touched, p->n_touched, sizeof *p->touched, touch_order);
  for (size_t k = 0; k < p->n_touched; k++) {
    touch *t = &p->touched[k];
    p->y[t->step][t->entry] = value_at(p, t->step, t->entry);
    t->slope = p->n_slopes;
    p->n_slopes += t->n;
    p->place[t->step][t->entry] = TOUCHED + k;
  }
}

/* ---- Values and ties */

/* The operators with windows, by the names that profiles have for them, sorted. */
static const char *const operators[N_TIE_RULES] = {"GlobalMaxPool", "MaxPool",   "Maximum",   "Minimum", "ReduceMax",
                                                   "ReduceMin",     "SharedMax", "SharedMin", "Sorted",  "TopK"};

/* Which of the operators with tie rules a step that has windows is of. */
static size_t
rule_of(const point *p, size_t s)
{
  const char *op = network_rule(p->net->steps[s].op);
  size_t i = 0;
  while (i < N_TIE_RULES && strcmp(operators[i], op) != 0)
    i++;
  expect(i < N_TIE_RULES, "windows of %s, which has no tie rule", op);
  return i;
}

void
window_begin(point *p)
{
  const network *net = p->net;
  expect(pthread_mutex_init(&p->touching, NULL) == 0, "no threads");
  p->same = allocate(net->n_steps, sizeof *p->same);
  p->degree = allocate(net->n_steps, sizeof *p->degree);
  for (size_t s = 0; s < net->n_steps; s++)
    if (net->steps[s].kind == WINDOW)
      p->ties[rule_of(p, s)].used = true;
  p->n_same = allocate(net->apart, sizeof *p->n_same);
  p->constants = allocate(net->apart, sizeof *p->constants);
  for (size_t s = 0; s < net->n_steps; s++) {
    p->degree[s] = allocate(entries(p, s), 1);
    p->same[s] = allocate(net->apart, sizeof **p->same);
  }
}

/* The marked entry with the largest lower end: the largest of all, if any is known to be. Entries of one identity count
 * once. */
static source
largest(const point *p, const step *st, size_t e, const bool *among)
{
  source best = {NONE, 0};
  for (size_t i = 0; i < st->width; i++) {
    source x = term_at(p, st, e, i).x;
    size_t at = entry_of(p, x, e), top = entry_of(p, best, e);
    if (!among[i] || (best.step != NONE && one_identity(p, x.step, at, x.step, top)))
      continue;
    if (best.step == NONE || mpq_cmp(&value_at(p, x.step, at)->lo, &value_at(p, x.step, top)->lo) > 0)
      best = x;
  }
  return best;
}

/* Is an entry equal to the largest? (What is not exact is a smooth step's, of which there are rules.) */
static bool
is_tied(const point *p, size_t s, size_t e, size_t best)
{
  if (one_identity(p, s, e, s, best))
    return true;
  const interval *x = value_at(p, s, e), *y = value_at(p, s, best);
  if (mpq_cmp(&x->hi, &y->lo) < 0)
    return false;
  if (interval_exact(x) && interval_exact(y))
    return true;
  if (p->net->smooth->cancels(p, s, e, best))
    return true;
  leave(UNDECIDED, "cannot tell two entries of a window apart with intervals of %d bits", MAX_BITS);
}

/* Adds a tied entry to its option, which it may begin. */
static void
add_option(const point *p, touch *t, size_t e)
{
  size_t o = 0;
  while (o < t->n && !one_identity(p, t->from, t->at[o], t->from, e))
    o++;
  if (o == t->n) {
    t->at = grow(t->at, t->n, sizeof *t->at);
    t->tied = grow(t->tied, t->n, sizeof *t->tied);
    t->at[o] = e;
    t->n++;
  }
  t->tied[o]++;
  t->last = o;
}

size_t
window_place(point *p, size_t s, size_t e, const bool *among)
{
  const step *st = &p->net->steps[s];
  source best = largest(p, st, e, among);
  size_t first = NONE;
  touch new = {.step = s, .entry = e, .from = best.step};
  for (size_t i = 0; i < st->width; i++) {
    source x = term_at(p, st, e, i).x;
    if (!among[i] || !is_tied(p, x.step, entry_of(p, x, e), entry_of(p, best, e)))
      continue;
    add_option(p, &new, entry_of(p, x, e));
    first = first == NONE ? i : first;
  }
  if (new.n > 1)
    touch_add(p, new);
  else {
    free(new.at);
    free(new.tied);
  }
  return new.n > 1 ? TOUCHED + first : first;
}

/* ---- Lines of a proof */

static void
read_rule(point *p, size_t i)
{
  const char *op = operators[i];
  next_line("tie");
  require(strcmp(next_word(), op) == 0, "the tie rule of %s is expected", op);
  const char *name = next_word(), *word = name;
  bool hybrid = strcmp(word, "hybrid") == 0, mean = strcmp(word, "mean") == 0, last = strcmp(word, "last") == 0;
  rational *shared = &p->ties[i].shared;
  p->ties[i].last = last;
  *shared = rational_zero();
  bool sorts = strcmp(op, "Sorted") == 0 || strcmp(op, "TopK") == 0;
  require((!sorts && (hybrid || mean || last)) || strcmp(word, "first") == 0, "unknown tie rule '%s'", word);
  if (hybrid)
    next_rational(shared);
  if (mean)
    mpq_set(shared, &plus_one);
  fprintf(account, "  %s, tied entries of a window: ", op);
  if (mean)
    fprintf(account, "the mean of their derivatives\n");
  else if (!hybrid)
    fprintf(account, "the %s's derivative\n", word);
  else
    gmp_fprintf(account, "1 - B of the first's derivative and B of their mean, B = %Qd\n", shared);
}

size_t
read_ties(point *p, rational *ad)
{
  size_t windows = 0;
  for (size_t i = 0; i < N_TIE_RULES; i++)
    if (p->ties[i].used)
      read_rule(p, i);
  for (size_t k = 0; k < p->n_touched; k++) {
    const touch *t = &p->touched[k];
    if (!is_window(t))
      continue;
    size_t all = 0, i = rule_of(p, t->step);
    const rational *shared = &p->ties[i].shared;
    rational *weight = &ad[t->slope], *whole = &weight[p->ties[i].last ? t->last : 0];
    for (size_t o = 0; o < t->n; o++)
      all += t->tied[o];
    for (size_t o = 0; o < t->n; o++) {
      mpq_set_ui(&weight[o], t->tied[o], all);
      mpq_canonicalize(&weight[o]);
      mpq_mul(&weight[o], &weight[o], shared);
    }
    mpq_add(whole, whole, &plus_one);
    mpq_sub(whole, whole, shared);
    windows++;
  }
  return windows;
}

int
own_side(const point *p, const rational *ad, size_t k)
{
  const touch *t = &p->touched[k];
  const tie_rule *rule = &p->ties[is_window(t) ? rule_of(p, t->step) : 0];
  if (!is_window(t))
    return mpq_equal(&ad[t->slope], &t->left) ? -1 : mpq_equal(&ad[t->slope], &t->right);
  return mpq_sgn(&rule->shared) != 0 ? 0 : rule->last ? (int)t->last + 1 : 1; /* 0: it takes several */
}

/* {27}, {28}, ...: options that are no letter. Goes on to the last character. */
static size_t
option_numbered(const char **text)
{
  size_t n = 0;
  for (++*text; **text >= (n > 0 ? '0' : '1') && **text <= '9' && n < 100000; ++*text)
    n = 10 * n + (size_t)(**text - '0');
  return **text == '}' && n > LETTERS ? n : 0;
}

int
side_named(const point *p, size_t k, const char **text)
{
  char c = **text;
  bool window = is_window(&p->touched[k]);
  size_t option = c >= 'a' && c <= 'z' ? (size_t)(c - 'a') + 1 : c == '{' ? option_numbered(text) : 0;
  require(window ? option > 0 && option <= p->touched[k].n : c == '-' || c == '+', "%s has no side '%c'",
          kink(p, k).text, c);
  ++*text;
  return window ? (int)option : c == '+' ? 1 : -1;
}

/* Is the gradient of the argument zero, or of the side's option less option o? (Without a side, of the first.) */
static bool
rests(const point *p, const cell *c, size_t k, size_t o)
{
  size_t side = is_window(&p->touched[k]) && c->side[k] > 0 ? (size_t)c->side[k] - 1 : 0;
  return kink_gradient(p, c->slope, c, k, side, o, true) && zeros(p->net->gradient, p->net->n_wrt);
}

/* The sign of the derivative of touched kink k's argument, turned to its side; or of the side's option less option o. */
static int
side_sign(const point *p, const cell *c, const motion *d, size_t k, size_t o)
{
  const touch *t = &p->touched[k];
  size_t side = is_window(t) ? (size_t)c->side[k] - 1 : 0;
  INTERVAL(x);
  interval_add(&x, tangent_at(d, t->from, t->at[side]), c->side[k] < 0 ? &minus_one : &plus_one);
  if (is_window(t))
    interval_add(&x, tangent_at(d, t->from, t->at[o]), &minus_one);
  if (interval_open(&x) && rests(p, c, k, o))
    return 0;
  return interval_sign(&x, kink(p, k).text);
}

/* Does touched kink k ask nothing? A flat argument does not, nor does the side itself among a window's options. */
static bool
asks_nothing(const point *p, const cell *c, size_t k, size_t o)
{
  return c->flat[k] || (is_window(&p->touched[k]) && (int)o + 1 == c->side[k]);
}

void
note_moves(const point *p, const cell *c, const motion *d, bool *moved)
{
  for (size_t k = 0; k < p->n_touched; k++)
    for (size_t o = 0; o < p->touched[k].n; o++) {
      bool *done = &moved[p->touched[k].slope + o];
      if (*done || asks_nothing(p, c, k, o) || c->side[k] == 0)
        continue;
      int sign = side_sign(p, c, d, k, o);
      require(sign >= 0, "%s moves to the wrong side", kink(p, k).text);
      *done = sign > 0;
    }
}

void
must_move(const point *p, const cell *c, const bool *moved, bool may_rest)
{
  for (size_t k = 0; k < p->n_touched; k++)
    for (size_t o = 0; o < p->touched[k].n; o++) {
      if (moved[p->touched[k].slope + o] || asks_nothing(p, c, k, o) || (may_rest && rests(p, c, k, o)))
        continue;
      require(c->side[k] != 0, "%s does not rest, and what AD does gives it no side", kink(p, k).text);
      require(false, "no direction moves %s", kink(p, k).text);
    }
}

/* What has no side and is not flat must not move: its side does not matter. */
static void
must_be_still(const point *p, const cell *c, const motion *d)
{
  for (size_t k = 0; k < p->n_touched; k++)
    for (size_t o = 0; o < p->touched[k].n && c->side[k] == 0 && !c->flat[k]; o++)
      require(interval_zero(tangent_at(d, p->touched[k].from, p->touched[k].at[o])),
              "%s has not been branched on, and moves along v", kink(p, k).text);
}

void
add_loss_tangent(interval *to, const point *p, const rational *slope, const rational *by, const cell *still)
{
  INTERVAL(t);
  motion d = tangents(p, slope);
  if (still != NULL)
    must_be_still(p, still, &d);
  tangent_loss(&t, &d);
  tangents_free(&d);
  interval_add(to, &t, by);
}
