/* Windows: the largest of their entries, what is tied, and which entries are one function. */
#include "window.h"

#include <stdlib.h>
#include <string.h>

/* ---- Identity. Two entries are one function near the weights when they are constant with one
 * rational value, or have one number in same. */

static int order(size_t a, size_t b) {
  return (a > b) - (a < b);
}

static int compare_entries(const point *p, size_t s, size_t e, size_t s2, size_t e2) {
  size_t a = p->same[s][e], b = p->same[s2][e2];
  return a == 0 && b == 0 ? mpq_cmp(&p->y[s][e].lo, &p->y[s2][e2].lo) : order(a, b);
}

/* Constant 0: a place of a sum that is left out. */
static bool left_out(const point *p, const term *t, size_t sample) {
  if (t->step == NONE) return t->w == NULL && mpq_sgn(t->coef) == 0;
  size_t e = entry_of(p, t, sample);
  return p->same[t->step][e] == 0 && interval_zero(&p->y[t->step][e]);
}

/* The weights of two terms: entries of an initializer by their place, others by their value. */
static int compare_weights(const term *t, const term *u) {
  if (t->w != u->w) return order((uintptr_t)t->w, (uintptr_t)u->w);
  if (t->w == NULL || t->w->initializer) return order(t->at, u->at);
  return mpq_cmp(&t->w->value[t->at], &u->w->value[u->at]);
}

static struct { const point *p; const step *st; size_t sample; } sorted; /* what compare_features is of */

/* Orders two features of a step by their terms, place by place; 0 when they are one function. */
static int compare_features(const void *a, const void *b) {
  const point *p = sorted.p;
  const term *t = &sorted.st->terms[*(const size_t *)a * sorted.st->width];
  const term *u = &sorted.st->terms[*(const size_t *)b * sorted.st->width];
  for (const term *end = t + sorted.st->width; t < end; t++, u++) {
    bool out = left_out(p, t, sorted.sample), out2 = left_out(p, u, sorted.sample);
    if (out && out2) continue;
    int by = order(out, out2);
    if (by == 0) by = mpq_cmp(t->coef, u->coef);
    if (by == 0) by = compare_weights(t, u);
    if (by == 0) by = order(t->step == NONE, u->step == NONE);
    if (by == 0 && t->step != NONE)
      by = compare_entries(p, t->step, entry_of(p, t, sorted.sample), u->step, entry_of(p, u, sorted.sample));
    if (by != 0) return by;
  }
  return 0;
}

/* Numbers the features of one sample that are listed. */
static void number_sorted(point *p, size_t s, size_t sample, size_t *list, size_t n) {
  sorted.p = p; sorted.st = &p->net->steps[s]; sorted.sample = sample;
  qsort(list, n, sizeof *list, compare_features);
  for (size_t i = 0; i < n; i++) {
    p->n_same += i == 0 || compare_features(&list[i - 1], &list[i]) != 0;
    p->same[s][list[i] * p->net->batch + sample] = p->n_same;
  }
}

/* What an entry copies: the source of a copy, if that is no constant's; or the first tied entry of a
 * window that is not touched; NULL when it is something else. */
static const term *copied(const point *p, const step *st, size_t s, size_t e) {
  const term *t = terms_at(p, st, e);
  if (st->kind == WINDOW) return p->place[s][e] < TOUCHED ? &t[p->place[s][e]] : NULL;
  return st->copy && t->step != NONE ? t : NULL;
}

void window_identify(point *p, size_t s) {
  const step *st = &p->net->steps[s];
  size_t n = entries(p, s), batch = p->net->batch, *list = allocate(st->n, sizeof *list);
  bool functions = st->kind == LINEAR || st->kind == PIECEWISE || st->kind == OVER_ROOT;
  cell none = {.degree = p->degree};
  p->degree[s] = allocate(n, 1); p->same[s] = allocate(n, sizeof **p->same);
  cell_settle_step(&none, p, s, false);
  for (size_t b = 0; b < batch; b++) {
    size_t listed = 0;
    for (size_t e = b; e < n; e += batch) {
      const term *t = copied(p, st, s, e);
      if (p->degree[s][e] == 0 && interval_exact(&p->y[s][e])) continue;
      if (t != NULL) p->same[s][e] = p->same[t->step][entry_of(p, t, e)];
      else if (functions) list[listed++] = e / batch;
      else p->same[s][e] = ++p->n_same;
    }
    number_sorted(p, s, b, list, listed);
  }
  free(list);
}

/* ---- Values and ties */

void window_begin(point *p) {
  const network *net = p->net;
  p->same = allocate(net->n_steps, sizeof *p->same); p->degree = allocate(net->n_steps, sizeof *p->degree);
  for (size_t s = 0; s < net->n_steps; s++)
    if (net->steps[s].kind == WINDOW) p->last_window = s;
}

/* The place of an entry with the largest lower end: the largest of the window, if any is. */
static size_t largest(const point *p, const term *t, size_t width, size_t e) {
  const rational *top = NULL;
  size_t best = 0;
  for (size_t i = 0; i < width; i++) {
    const rational *x = t[i].step != NONE ? &p->y[t[i].step][entry_of(p, &t[i], e)].lo : NULL;
    if (x == NULL || (top != NULL && mpq_cmp(x, top) <= 0)) continue;
    top = x; best = i;
  }
  return best;
}

/* Is an entry equal to the largest? */
static bool is_tied(const point *p, size_t s, size_t e, size_t best) {
  const interval *x = &p->y[s][e], *y = &p->y[s][best];
  if (compare_entries(p, s, e, s, best) == 0) return true;
  if (mpq_cmp(&x->hi, &y->lo) < 0) return false;
  if (interval_exact(x) && interval_exact(y)) return true;
  leave(UNDECIDED, "cannot tell two entries of a window apart with intervals of %d bits", MAX_BITS);
}

/* Adds a tied entry to its option, which it may begin. */
static void add_option(const point *p, touch *t, size_t e) {
  size_t o = 0;
  while (o < t->n && compare_entries(p, t->from, t->at[o], t->from, e) != 0) o++;
  if (o == t->n) {
    t->at = grow(t->at, t->n, sizeof *t->at); t->tied = grow(t->tied, t->n, sizeof *t->tied);
    t->at[o] = e; t->tied[o] = 0; t->n++;
  }
  t->tied[o]++; t->last = o;
}

static void window_evaluate(point *p, size_t s, interval *y) {
  const step *st = &p->net->steps[s];
  p->place[s] = allocate(entries(p, s), sizeof **p->place);
  for (size_t e = 0; e < entries(p, s); e++) {
    const term *t = terms_at(p, st, e);
    size_t best = largest(p, t, st->width, e), from = t[best].step, top = entry_of(p, &t[best], e), first = NONE;
    touch new = {.step = s, .entry = e, .from = from};
    for (size_t i = 0; i < st->width; i++) {
      if (t[i].step == NONE || !is_tied(p, from, entry_of(p, &t[i], e), top)) continue;
      add_option(p, &new, entry_of(p, &t[i], e)); first = first == NONE ? i : first;
    }
    interval_set(&y[e], &p->y[from][top].lo, &p->y[from][top].hi);
    p->place[s][e] = new.n > 1 ? TOUCHED + p->n_touched : first;
    if (new.n > 1) touch_add(p, new);
    else free(new.at), free(new.tied);
  }
}

void other_evaluate(point *p, size_t s, interval *y) {
  if (p->net->steps[s].kind == OVER_ROOT) root_prepare(&p->net->steps[s]), root_multiply(p, s, y, p->y);
  if (p->net->steps[s].kind == WINDOW) window_evaluate(p, s, y);
}

/* ---- Derivatives */

/* For each option of entry e that counts: where it is, and what multiplies its derivative. */
static size_t options(const point *p, size_t s, size_t e, const rational *slope, const size_t **at,
                      const rational **by, size_t *alone) {
  const step *st = &p->net->steps[s];
  size_t place = p->place[s][e];
  if (place < TOUCHED) {
    *alone = entry_of(p, &terms_at(p, st, e)[place], e); *at = alone; *by = &plus_one;
    return 1;
  }
  const touch *t = &p->touched[place - TOUCHED];
  *at = t->at; *by = slope + t->slope;
  return t->n;
}

/* The step whose entries the windows of a step have. */
static size_t source(const step *st) {
  const term *t = st->terms;
  while (t->step == NONE) t++;
  return t->step;
}

static void window_tangents(const point *p, size_t s, const rational *slope, interval **d) {
  size_t from = source(&p->net->steps[s]), alone;
  const size_t *at; const rational *by;
  for (size_t e = 0; e < entries(p, s); e++)
    for (size_t n = options(p, s, e, slope, &at, &by, &alone), o = 0; o < n; o++)
      interval_add(&d[s][e], &d[from][at[o]], &by[o]);
}

static void window_pull(const point *p, size_t s, size_t e, const rational *slope, interval **adjoint) {
  size_t from = source(&p->net->steps[s]), alone;
  const size_t *at; const rational *by;
  for (size_t n = options(p, s, e, slope, &at, &by, &alone), o = 0; o < n; o++)
    interval_add(&adjoint[from][at[o]], &adjoint[s][e], &by[o]);
}

void other_tangents(const point *p, size_t s, const rational *slope, interval **d) {
  if (p->net->steps[s].kind == OVER_ROOT) root_multiply(p, s, d[s], d);
  if (p->net->steps[s].kind == WINDOW) window_tangents(p, s, slope, d);
}

bool other_pull(const point *p, size_t s, size_t e, const rational *slope, interval **adjoint) {
  kind which = p->net->steps[s].kind;
  if (which == OVER_ROOT) root_pull(p, s, e, adjoint);
  if (which == WINDOW) window_pull(p, s, e, slope, adjoint);
  return which == OVER_ROOT || which == WINDOW;
}

/* Have all options of touched window k the derivative of the first? */
static bool all_alike(const point *p, const rational *slope, size_t k) {
  for (size_t o = 1; o < p->touched[k].n; o++) {
    gradient(p, slope, k, 0, o);
    if (!all_zero(p->net->gradient, p->net->n_wrt)) return false;
  }
  return true;
}

uint8_t window_degree(cell *c, const point *p, size_t s, size_t e, bool tree) {
  const step *st = &p->net->steps[s];
  size_t place = p->place[s][e], k = place - TOUCHED;
  const uint8_t *degree = c->degree[source(st)];
  uint8_t worst = 0;
  if (place < TOUCHED) return degree[entry_of(p, &terms_at(p, st, e)[place], e)];
  const touch *t = &p->touched[k];
  for (size_t o = 0; o < t->n; o++) worst = degree[t->at[o]] > worst ? degree[t->at[o]] : worst;
  if (c->side == NULL) return worst == 0 ? 0 : 2;
  size_t side = c->side[k] > 0 ? (size_t)c->side[k] - 1 : 0;
  for (size_t o = 0; o < t->n; o++) mpq_set(&c->slope[t->slope + o], o == side ? &plus_one : &zero);
  c->flat[k] = worst == 0 || (tree && worst == 1 && c->side[k] == 0 && all_alike(p, c->slope, k));
  if (!c->flat[k] && c->side[k] == 0 && c->open == NONE) c->open = k;
  return c->flat[k] || c->side[k] != 0 ? degree[t->at[side]] : 2;
}

/* ---- Lines of a proof */

static bool last_takes; /* the last tied entry has what the first has otherwise */
static rational shared; /* B of `hybrid B`: 0 for first and last, 1 for mean */

static void read_rule(void) {
  next_line("tie");
  require(strcmp(next_word(), "MaxPool") == 0, "the tie rule of MaxPool is expected");
  const char *word = next_word();
  bool hybrid = strcmp(word, "hybrid") == 0, mean = strcmp(word, "mean") == 0;
  last_takes = strcmp(word, "last") == 0; shared = rational_zero();
  require(hybrid || mean || last_takes || strcmp(word, "first") == 0, "unknown tie rule '%s'", word);
  if (hybrid) next_rational(&shared);
  if (mean) mpq_set(&shared, &plus_one);
  fprintf(account, "  MaxPool, tied entries of a window: ");
  if (mean) fprintf(account, "the mean of their derivatives\n");
  else if (!hybrid) fprintf(account, "the %s's derivative\n", word);
  else gmp_fprintf(account, "1 - B of the first's derivative and B of their mean, B = %Qd\n", &shared);
}

size_t read_ties(const point *p, rational *ad) {
  size_t windows = 0;
  if (p->last_window != 0) read_rule();
  for (size_t k = 0; k < p->n_touched; k++) {
    const touch *t = &p->touched[k];
    rational *weight = &ad[t->slope], *whole = &weight[last_takes ? t->last : 0];
    size_t all = 0;
    if (!is_window(t)) continue;
    for (size_t o = 0; o < t->n; o++) all += t->tied[o];
    for (size_t o = 0; o < t->n; o++) {
      mpq_set_ui(&weight[o], t->tied[o], all); mpq_canonicalize(&weight[o]); mpq_mul(&weight[o], &weight[o], &shared);
    }
    mpq_add(whole, whole, &plus_one); mpq_sub(whole, whole, &shared); windows++;
  }
  return windows;
}

bool is_window(const touch *t) {
  return t->n > 1;
}

int tie_side(const touch *t) {
  return mpq_sgn(&shared) != 0 ? 0 : last_takes ? (int)t->last + 1 : 1;
}

bool next_side(const point *p, cell *c, size_t k) {
  int last = (int)p->touched[k].n, *side = &c->side[k];
  require(last <= 26, "%s has more than 26 options", kink(k));
  if (is_window(&p->touched[k])) *side = *side < last ? *side + 1 : 0;
  else *side = *side < 0 ? 1 : *side == 0 ? -1 : 0;
  return *side != 0;
}

int side_named(const point *p, size_t k, char c) {
  bool window = is_window(&p->touched[k]), letter = c >= 'a' && c <= 'z' && (size_t)(c - 'a') < p->touched[k].n;
  require(window ? letter : c == '-' || c == '+', "%s has no side '%c'", kink(k), c);
  return window ? c - 'a' + 1 : c == '+' ? 1 : -1;
}

size_t next_option(const point *p, const cell *c, size_t k) {
  if (!is_window(&p->touched[k])) return 0;
  const char *word = next_word();
  int side = side_named(p, k, *word);
  require(word[1] == '\0' && side != c->side[k], "'%s' is not another option than the one taken", word);
  return (size_t)side - 1;
}

/* Of the derivative of touched kink k's argument, turned to its side; or of the side's option less
 * option o. */
static int side_sign(const point *p, const cell *c, interval **d, size_t k, size_t o) {
  const touch *t = &p->touched[k];
  size_t side = is_window(t) ? (size_t)c->side[k] - 1 : 0;
  INTERVAL(x);
  interval_add(&x, &d[t->from][t->at[side]], c->side[k] < 0 ? &minus_one : &plus_one);
  if (is_window(t)) interval_add(&x, &d[t->from][t->at[o]], &minus_one);
  return interval_sign(&x, kink(k));
}

void note_moves(const point *p, const cell *c, interval **d, bool *moved) {
  for (size_t k = 0; k < p->n_touched; k++)
    for (size_t o = 0; o < p->touched[k].n; o++) {
      bool *done = &moved[p->touched[k].slope + o], own = is_window(&p->touched[k]) && (int)o + 1 == c->side[k];
      if (*done || own || c->flat[k]) continue;
      require(d != NULL, "no direction moves %s", kink(k));
      int sign = side_sign(p, c, d, k, o);
      require(sign >= 0, "%s moves to the wrong side", kink(k));
      *done = sign > 0;
    }
}

void must_be_still(const point *p, const cell *c, interval **d) {
  for (size_t k = 0; k < p->n_touched; k++)
    for (size_t o = 0; o < p->touched[k].n && c->side[k] == 0 && !c->flat[k]; o++)
      require(interval_zero(&d[p->touched[k].from][p->touched[k].at[o]]),
              "%s has not been branched on, and moves along v", kink(k));
}
