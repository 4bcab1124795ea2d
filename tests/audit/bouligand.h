/* Limits of gradients of a network's loss by their definition, in an arithmetic of their own: every step is evaluated on
 * triples of a value and its gradient, a touched kink being passed by a side that is chosen, a window by one of its largest entries.
 *
 * Where every argument is piecewise linear in the parameters, a choice of sides is followed near w exactly when the strict system
 * of what the sides ask has a solution; so all limits are listed, by a search that leaves a branch when the system has none (by
 * Gordan: when 0 is in the hull of its rows). In other networks limits are found along directions. */
#ifndef CLARKE_TESTS_AUDIT_BOULIGAND_H
#define CLARKE_TESTS_AUDIT_BOULIGAND_H

#include "fraction.h"
#include "op/profile.h"
#include "network/derive/loss.h"

enum { LIMITS_DIM = 12, LIMITS_CELLS = 600, LIMITS_ROWS = 400, LIMITS_DEPTH = 400, LIMITS_WAYS = 12 };

typedef struct {
  fraction v, g[LIMITS_DIM];
} slope;

/* How kinks are passed: as AD does, along directions, or by a list of choices. */
typedef enum { PASS_AD, PASS_ALONG, PASS_CHOSEN } passing;

typedef struct {
  const clarke_graph *g;
  const clarke_profile *profile;
  const clarke_loss *loss;
  const clarke_tensor *x;
  size_t dim, samples, *base; /* of each parameter's entries among those of wrt */
  slope **value;              /* by value: features x samples */
  passing pass;
  size_t n_ways;
  fraction way[LIMITS_WAYS][LIMITS_DIM]; /* ALONG: the first dominates */
  bool generic;               /* ALONG: every touched argument that moves has left its kink */
  size_t depth, forced, option[LIMITS_DEPTH]; /* CHOSEN: the first `forced` are given; the last of them and what follows it may grow */
  bool dead;
  size_t n_rows;
  fraction row[LIMITS_ROWS][LIMITS_DIM];
  size_t touched, windows, most_options; /* of the last evaluation */
} limits;

typedef struct {
  size_t n;
  bool all;
  fraction (*gradient)[LIMITS_DIM];
} limit_set;

/* --- small things ------------------------------------------------------------------------------------ */

static inline void
limits_begin(limits *l, const clarke_graph *g, const clarke_tensor *x, const clarke_loss *loss,
             const clarke_profile *profile)
{
  memset(l, 0, sizeof *l);
  l->g = g;
  l->x = x;
  l->loss = loss;
  l->profile = profile;
  l->samples = x->dims[0];
  l->base = calloc(g->n_parameters + 1, sizeof *l->base);
  l->value = calloc(g->n_values + 1, sizeof *l->value);
  for (size_t p = 0; p < g->n_parameters; p++) {
    l->base[p] = l->dim;
    l->dim += g->parameters[p].wrt ? g->parameters[p].count : 0;
  }
  if (l->dim > LIMITS_DIM)
    ck_abort_msg("too many parameters for the limits");
  for (size_t v = 0; v < g->n_values; v++)
    if (!g->values[v].constant)
      l->value[v] = calloc(g->values[v].count * l->samples, sizeof **l->value);
}

static inline void
limits_end(limits *l)
{
  for (size_t v = 0; v < l->g->n_values; v++)
    free(l->value[v]);
  free(l->value);
  free(l->base);
}

static inline slope
slope_zero(const limits *l)
{
  slope s;

  s.v = whole(0);
  for (size_t k = 0; k < l->dim; k++)
    s.g[k] = whole(0);
  return s;
}

static inline bool
same_gradient(const limits *l, const slope *a, const slope *b)
{
  for (size_t k = 0; k < l->dim; k++)
    if (!same(a->g[k], b->g[k]))
      return false;
  return true;
}

/* to += by * a */
static inline void
add_times(const limits *l, slope *to, const slope *a, fraction by)
{
  if (by.n == 0)
    return;
  to->v = plus(to->v, times(by, a->v));
  for (size_t k = 0; k < l->dim; k++)
    if (a->g[k].n != 0)
      to->g[k] = plus(to->g[k], times(by, a->g[k]));
}

/* to += a * b */
static inline void
add_product_of(const limits *l, slope *to, const slope *a, const slope *b)
{
  fraction v = plus(to->v, times(a->v, b->v));

  add_times(l, to, a, b->v);
  add_times(l, to, b, a->v);
  to->v = v;
}

/* An entry of a constant; a parameter of wrt moves. */
static inline slope
constant_entry(const limits *l, size_t value, size_t entry)
{
  const clarke_value *v = &l->g->values[value];
  slope s = slope_zero(l);

  s.v = fraction_of_double(v->real[entry]);
  if (v->parameter != CLARKE_NONE && l->g->parameters[v->parameter].wrt)
    s.g[l->base[v->parameter] + (v->origin != NULL ? v->origin[entry] : entry)] = whole(1);
  return s;
}

static inline slope
entry_of(const limits *l, size_t value, size_t f, size_t j)
{
  return l->g->values[value].constant ? constant_entry(l, value, f) : l->value[value][f * l->samples + j];
}

/* The root of a fraction that has a rational one. */
static inline fraction
root_of(fraction a)
{
  wide n = 0, d = 1;

  while (n * n < a.n)
    n++;
  while (d * d < a.d)
    d++;
  if (n * n != a.n || d * d != a.d)
    ck_abort_msg("a root is not rational");
  return ratio(n, d);
}

/* --- sides --------------------------------------------------------------------------------------------- */

static inline int
sign_along(const limits *l, const slope *a)
{
  for (size_t w = 0; w < l->n_ways; w++) {
    fraction sum = whole(0);

    for (size_t k = 0; k < l->dim; k++)
      sum = plus(sum, times(a->g[k], l->way[w][k]));
    if (sum.n != 0)
      return sign_of(sum);
  }
  return 0;
}

/* One more row, its first nonzero entry made 1 or -1; each is kept once. */
static inline void
add_row(limits *l, const slope *a, const slope *less)
{
  fraction row[LIMITS_DIM], by = whole(0);

  for (size_t k = 0; k < l->dim; k++) {
    row[k] = less != NULL ? minus(a->g[k], less->g[k]) : a->g[k];
    if (by.n == 0 && row[k].n != 0)
      by = ratio(row[k].d, row[k].n < 0 ? -row[k].n : row[k].n);
  }
  for (size_t k = 0; k < l->dim; k++)
    row[k] = times(row[k], by);
  for (size_t i = 0; i < l->n_rows; i++)
    if (memcmp(l->row[i], row, l->dim * sizeof *row) == 0)
      return;
  if (l->n_rows == LIMITS_ROWS)
    ck_abort_msg("too many rows for the limits");
  memcpy(l->row[l->n_rows++], row, l->dim * sizeof *row);
}

/* Has the system of all rows a solution? */
static inline bool
rows_solvable(const limits *l)
{
  static fraction flat[LIMITS_ROWS * LIMITS_DIM], zero[LIMITS_DIM];

  for (size_t k = 0; k < l->dim; k++)
    zero[k] = whole(0);
  for (size_t i = 0; i < l->n_rows; i++)
    memcpy(&flat[i * l->dim], l->row[i], l->dim * sizeof *flat);
  return l->n_rows == 0 || !in_hull_of(flat, l->n_rows, zero, l->dim);
}

/* The next choice, among n options: what option o asks is that asks[o] exceed all others (kinks: of the argument and
 * its negative, of which one is greater than the other). */
static inline size_t
next_choice(limits *l, const slope *asks, size_t n)
{
  size_t at = l->depth++, first = at < l->forced ? l->option[at] : 0, rows = l->n_rows;

  if (at >= LIMITS_DEPTH)
    ck_abort_msg("too many choices for the limits");
  for (size_t o = first; o < n && !l->dead; o++) {
    for (size_t i = 0; i < n; i++)
      if (i != o)
        add_row(l, &asks[o], &asks[i]);
    l->option[at] = o;
    if (at + 1 < l->forced || rows_solvable(l))
      return o;
    l->n_rows = rows;
  }
  l->dead = true;
  return 0;
}

/* The option taken among some of different gradients. */
static inline size_t
take_option(limits *l, const slope *asks, size_t n)
{
  size_t best = 0;

  l->most_options = n > l->most_options ? n : l->most_options;
  if (l->pass == PASS_CHOSEN)
    return next_choice(l, asks, n);
  for (size_t o = 1; o < n; o++) {
    slope gap = asks[o];

    add_times(l, &gap, &asks[best], whole(-1));
    best = sign_along(l, &gap) > 0 ? o : best;
  }
  for (size_t o = 0; o < n; o++) {
    slope gap = asks[o];

    add_times(l, &gap, &asks[best], whole(-1));
    l->generic = l->generic && (o == best || sign_along(l, &gap) != 0);
  }
  return best;
}

/* --- steps --------------------------------------------------------------------------------------------- */

static inline slope
sum_entry(const limits *l, const clarke_step *s, size_t f, size_t j)
{
  slope y = slope_zero(l);

  for (size_t i = 0; i < s->n_in; i++) {
    const clarke_operand *o = &s->in[i];
    size_t from = o->map != NULL ? o->map[f] : f;

    if (from != CLARKE_NONE) {
      slope x = entry_of(l, o->value, from, j);

      add_times(l, &y, &x, s->kind == CLARKE_SUM ? fraction_of_double(o->coef) : whole(1));
    }
  }
  return y;
}

static inline slope
scale_entry(const limits *l, const clarke_step *s, size_t f, size_t j)
{
  slope x = entry_of(l, s->in[0].value, s->in[0].map != NULL ? s->in[0].map[f] : f, j);
  slope c = entry_of(l, s->in[1].value, s->in[1].map != NULL ? s->in[1].map[f] : f, j), y = slope_zero(l);

  if (s->root)
    c.v = root_of(plus(c.v, fraction_of_mpq(s->epsilon)));
  if (s->divide || s->root) { /* 1 / c, of derivative -c' / c^2 */
    fraction one = ratio(c.v.d, c.v.n);

    for (size_t k = 0; k < l->dim; k++)
      c.g[k] = times(c.g[k], times(whole(-1), times(one, one)));
    c.v = one;
  }
  add_product_of(l, &y, &x, &c);
  return y;
}

static inline slope
dense_entry(const limits *l, const clarke_step *s, size_t f, size_t j)
{
  const clarke_dense *d = &s->dense;
  size_t r = f % d->repeat, o = f / d->repeat % d->outer, b = f / d->repeat / d->outer;
  slope y = slope_zero(l);

  for (size_t i = 0; i < d->inner; i++) {
    size_t at = d->transposed ? i * d->outer + o : o * d->inner + i;
    slope w = constant_entry(l, d->weight, at + (d->grouped ? b * d->inner * d->outer : 0));
    slope x = entry_of(l, s->in[0].value, (b * d->inner + i) * d->repeat + r, j);

    add_product_of(l, &y, &x, &w);
  }
  return y;
}

static inline fraction
side_slope(const clarke_pieces *p, size_t piece, fraction x)
{
  return plus(fraction_of_mpq(p->coef[piece][1]), times(whole(2), times(fraction_of_mpq(p->coef[piece][2]), x)));
}

static inline fraction
proxy_slope(const limits *l, const clarke_step *s, size_t k, fraction x)
{
  const clarke_proxy *p = clarke_profile_find(l->profile, s->op, s->pieces.first_kink + k);

  return p->kind == CLARKE_PROXY_VALUE ? fraction_of_mpq(p->value)
                                       : side_slope(&s->pieces, k + (p->kind == CLARKE_PROXY_RIGHT), x);
}

static inline slope
piecewise_entry(limits *l, const clarke_step *s, size_t f, size_t j)
{
  slope x = entry_of(l, s->in[0].value, f, j), y = slope_zero(l), asks[2];
  const clarke_pieces *p = &s->pieces;
  size_t piece = 0;
  fraction by;

  if (p->slope != CLARKE_NONE)
    ck_abort_msg("no PRelu in the limits");
  while (piece < p->n_kinks && sign_of(minus(x.v, fraction_of_mpq(p->kink[piece]))) > 0)
    piece++;
  by = side_slope(p, piece, x.v);
  if (piece < p->n_kinks && same(x.v, fraction_of_mpq(p->kink[piece])) && !same(by, side_slope(p, piece + 1, x.v))) {
    l->touched++;
    asks[0] = asks[1] = slope_zero(l);
    add_times(l, &asks[0], &x, whole(-1));
    asks[1] = x;
    if (l->pass == PASS_AD)
      by = proxy_slope(l, s, piece, x.v);
    else if (!same_gradient(l, &asks[0], &asks[1]))
      by = side_slope(p, piece + take_option(l, asks, 2), x.v);
  }
  add_times(l, &y, &x, by);
  y.v = plus(fraction_of_mpq(p->coef[piece][0]),
             times(x.v, plus(fraction_of_mpq(p->coef[piece][1]), times(x.v, fraction_of_mpq(p->coef[piece][2])))));
  return y;
}

/* (1 - beta) of the first or the last, and beta of the mean, of the n largest entries. */
static inline slope
tie_entry(const limits *l, const clarke_step *s, const slope *tied, size_t n)
{
  const clarke_tie_rule *rule = clarke_profile_tie(l->profile, s->op);
  fraction beta = fraction_of_mpq(rule->beta);
  slope y = slope_zero(l);

  add_times(l, &y, &tied[rule->tie == CLARKE_TIE_LAST ? n - 1 : 0], minus(whole(1), beta));
  for (size_t i = 0; i < n; i++)
    add_times(l, &y, &tied[i], times(beta, ratio(1, (wide)n)));
  return y;
}

static inline slope
max_entry(limits *l, const clarke_step *s, size_t f, size_t j)
{
  slope *tied = malloc(s->width * sizeof *tied), y;
  size_t n = 0, kinds = 0;

  for (size_t i = 0; i < s->width; i++) {
    size_t from = s->in[0].map[f * s->width + i];
    slope x;

    if (from == CLARKE_NONE)
      continue;
    x = entry_of(l, s->in[0].value, from, j);
    if (n > 0 && sign_of(minus(x.v, tied[0].v)) > 0)
      n = 0;
    if (n == 0 || same(x.v, tied[0].v))
      tied[n++] = x;
  }
  if (l->pass == PASS_AD)
    y = tie_entry(l, s, tied, n);
  else {
    for (size_t i = 0; i < n; i++) {
      bool new = true;

      for (size_t k = 0; k < kinds; k++)
        new = new && !same_gradient(l, &tied[i], &tied[k]);
      if (new)
        tied[kinds++] = tied[i];
    }
    l->windows += kinds > 1;
    y = tied[kinds > 1 ? take_option(l, tied, kinds) : 0];
  }
  free(tied);
  return y;
}

static inline slope
step_entry(limits *l, const clarke_step *s, size_t f, size_t j)
{
  switch (s->kind) {
  case CLARKE_GATHER:
  case CLARKE_SUM:
    return sum_entry(l, s, f, j);
  case CLARKE_SCALE:
    return scale_entry(l, s, f, j);
  case CLARKE_DENSE:
    return dense_entry(l, s, f, j);
  case CLARKE_PIECEWISE:
    return piecewise_entry(l, s, f, j);
  case CLARKE_MAX:
    return max_entry(l, s, f, j);
  default:
    ck_abort_msg("no such step in the limits");
  }
}

/* The loss of the outputs: their sum, or the mean of the squares of what they lack to the targets. */
static inline slope
limits_loss(const limits *l)
{
  const clarke_value *out = &l->g->values[l->g->output];
  slope total = slope_zero(l);

  for (size_t f = 0; f < out->count; f++)
    for (size_t j = 0; j < l->samples; j++) {
      slope y = entry_of(l, l->g->output, f, j), by = slope_zero(l);

      if (l->loss->kind == CLARKE_LOSS_SUM) {
        add_times(l, &total, &y, whole(1));
        continue;
      }
      y.v = minus(y.v, fraction_of_double(l->loss->y->real[j * out->count + f]));
      add_times(l, &by, &y, ratio(1, (wide)(out->count * l->samples)));
      add_product_of(l, &total, &y, &by);
    }
  return total;
}

/* The loss and its gradient, kinks passed as `pass` says. */
static inline slope
limits_evaluate(limits *l, passing pass)
{
  const clarke_value *in = &l->g->values[l->g->input];

  l->pass = pass;
  l->generic = true;
  l->dead = false;
  l->depth = l->n_rows = l->touched = l->windows = l->most_options = 0;
  for (size_t f = 0; f < in->count; f++)
    for (size_t j = 0; j < l->samples; j++) {
      slope *x = &l->value[l->g->input][f * l->samples + j];

      *x = slope_zero(l);
      x->v = fraction_of_double(l->x->real[j * in->count + f]);
    }
  for (size_t i = 0; i < l->g->n_steps && !l->dead; i++) {
    const clarke_step *s = &l->g->steps[i];

    for (size_t f = 0; f < l->g->values[s->out].count; f++)
      for (size_t j = 0; j < l->samples && !l->dead; j++)
        l->value[s->out][f * l->samples + j] = step_entry(l, s, f, j);
  }
  return l->dead ? slope_zero(l) : limits_loss(l);
}

/* --- the sets ------------------------------------------------------------------------------------------ */

static inline void
add_limit(limit_set *set, const limits *l, const slope *s)
{
  for (size_t i = 0; i < set->n; i++)
    if (memcmp(set->gradient[i], s->g, l->dim * sizeof *s->g) == 0)
      return;
  set->gradient = realloc(set->gradient, (set->n + 1) * sizeof *set->gradient);
  memcpy(set->gradient[set->n++], s->g, l->dim * sizeof *s->g);
}

/* All limits, of a network piecewise linear in its parameters; `all` is false when there are too many. */
static inline void
all_limits_of(limit_set *set, limits *l)
{
  size_t runs = 0;

  memset(set, 0, sizeof *set);
  for (l->forced = 0; runs < LIMITS_CELLS; runs++) {
    slope s = limits_evaluate(l, PASS_CHOSEN);

    if (!l->dead)
      add_limit(set, l, &s);
    else
      l->depth--;
    if (l->depth == 0)
      break;
    l->forced = l->depth;
    l->option[l->forced - 1]++;
  }
  set->all = runs < LIMITS_CELLS;
}

static inline bool
in_limits(const limit_set *set, const limits *l, const slope *s)
{
  for (size_t i = 0; i < set->n; i++)
    if (memcmp(set->gradient[i], s->g, l->dim * sizeof *s->g) == 0)
      return true;
  return false;
}

static inline bool
in_limits_hull(const limit_set *set, const limits *l, const slope *s)
{
  fraction *flat = malloc((set->n * l->dim + 1) * sizeof *flat);
  bool inside;

  for (size_t i = 0; i < set->n; i++)
    memcpy(&flat[i * l->dim], set->gradient[i], l->dim * sizeof *flat);
  inside = in_hull_of(flat, set->n, s->g, l->dim);
  free(flat);
  return inside;
}

#endif
