/* Recorded gradients (record.h): of a value, the sum of what all that read it hand back. */
#include "check/record/record_gather.h"
#include "check/base/allocate.h"
#include "check/record/record_product.h"

#include <stdlib.h>
#include <string.h>

/* The sum of feature `from` of v's step; of a constant that of its entry. */
static size_t
sum_of(const gather *g, size_t from, size_t b)
{
  size_t i = g->place[from];
  require(i != NONE, "a node reads an entry that its input does not hold");
  return i * record_samples(g->r, g->v) + (g->v->constant != NULL ? 0 : b);
}

static void
add_one(const gather *g, size_t from, size_t b, const coefficient *c, const recorded *a, const recorded *x,
        unsigned long narrow)
{
  size_t i = sum_of(g, from, b);
  if (g->doubles != NULL)
    filter_add(&g->doubles[i], c, a, x);
  else if (g->asked[i])
    sum_add(&g->sums[i], &g->r->unit, g->type, c, a, x, narrow);
}

static void
add_number(const gather *g, size_t from, size_t b, const rational *q)
{
  size_t i = sum_of(g, from, b);
  if (g->doubles != NULL)
    filter_add_number(&g->doubles[i], q);
  else if (g->asked[i])
    sum_add_number(&g->sums[i], &g->r->unit, q);
}

/* ---- What steps hand back; h: the gradient of entry f for sample b */

static bool
reads_it(const gather *g, source x)
{
  return g->v->constant == NULL && x.step == g->v->step;
}

static void
back_linear(const gather *g, const step *st, size_t f, size_t b, const recorded *h)
{
  coefficient *c = &g->r->kept->last[1][LINEAR];
  const factor *w = &st->factors[st->factor_row[f] * st->width];
  const source *x = &st->sources[st->source_row[f] * st->width];
  unsigned long taken = record_narrow(g->r, st, g->type);
  for (size_t i = 0; i < st->width; i++) {
    bool other = x[i].step < PADDING;
    if (x[i].step == PADDING || !(reads_it(g, x[i]) || (g->v->constant != NULL && w[i].w == g->v->constant)))
      continue;
    bool turned = g->v->negated != (mpq_sgn(w[i].coef) < 0); /* of a constant, whose coefficient is 1 or -1 */
    coefficient_set(c, &g->r->unit, g->v->constant == NULL ? w[i].coef : turned ? &minus_one : &plus_one);
    unsigned long narrow = record_narrow_term(taken, &w[i], x[i], true);
    if (g->v->constant == NULL)
      add_one(g, x[i].from, b, c, h, w[i].w != NULL ? &w[i].w->whole[w[i].at] : NULL, narrow);
    else
      add_one(g, w[i].at, b, c, h, other ? record_read(g->r, x[i], b) : NULL, narrow);
  }
}

static void
back_product(const gather *g, const step *st, size_t f, size_t b, const recorded *h)
{
  coefficient *c = &g->r->kept->last[1][PRODUCT];
  const source *x = &st->sources[st->source_row[f] * st->width];
  unsigned long narrow = record_narrow(g->r, st, g->type);
  coefficient_set(c, &g->r->unit, &plus_one);
  for (size_t i = 0; i < st->width; i++)
    if (reads_it(g, x[i]) && x[i ^ 1].step != PADDING)
      add_one(g, x[i].from, b, c, h, record_read(g->r, x[i ^ 1], b), narrow);
}

/* AD's slope at the recorded argument. */
static const rational *
slope_of(const record *r, const step *st, const recorded *x)
{
  size_t piece = record_piece(r, st, x);
  if (piece < AT_KINK)
    return &st->piece[piece][1];
  size_t k = piece - AT_KINK;
  const ad_slope *given = record_proxy(r, st, k);
  return given->left ? &st->piece[k][1] : given->right ? &st->piece[k + 1][1] : &given->value;
}

static void
back_piece(const gather *g, const step *st, size_t f, size_t b, const recorded *h)
{
  coefficient *c = &g->r->kept->last[1][PIECEWISE];
  source x = st->sources[st->source_row[f]];
  if (!reads_it(g, x))
    return;
  coefficient_set(c, &g->r->unit, slope_of(g->r, st, record_read(g->r, x, b)));
  add_one(g, x.from, b, c, h, NULL, 0);
}

/* To the recorded winner; where none was recorded, to the first of the largest. */
static void
back_window(const gather *g, const step *st, size_t f, size_t b, const recorded *h)
{
  coefficient *c = &g->r->kept->last[1][WINDOW];
  size_t i = g->winners != NULL ? record_named(g->r, st, g->pooled, g->winners, f, b) : record_winner(g->r, st, f, b);
  require(i != NONE, "an index of '%s' is of no entry of its window", st->node->out[0]);
  source x = st->sources[st->source_row[f] * st->width + i];
  coefficient_set(c, &g->r->unit, &plus_one);
  if (reads_it(g, x))
    add_one(g, x.from, b, c, h, NULL, 0);
}

/* What a step hands back as products of matrices, n sums: of features of the value's step, or of terms of rows of factors. */
static void
back_product_of(const gather *g, const step *st, const filter *of, size_t n)
{
  size_t samples = g->v->constant == NULL ? g->r->p->net->batch : 1;
  for (size_t i = 0; i < n * samples; i++) {
    const factor *w = g->v->constant != NULL ? &st->factors[i] : NULL;
    if (of[i].terms == 0 || (w != NULL && w->w != g->v->constant))
      continue;
    size_t at = sum_of(g, w == NULL ? i / samples : w->at, i % samples);
    filter_join(&g->doubles[at], &of[i], w != NULL && g->v->negated != (mpq_sgn(w->coef) < 0));
  }
}

static void
back_matrices(const gather *g, const step *st, const graph_value *w, const tensor *t)
{
  const network *net = g->r->p->net;
  bool constant = g->v->constant != NULL;
  filter *of = constant ? product_weights(g->r, st, w, t) : product_inputs(g->r, st, w, t, g->v->step);
  back_product_of(g, st, of, constant ? st->n_factors : net->steps[g->v->step].n);
  free(of);
}

static void
back_step(gather *g, const step *st)
{
  const graph_value *w = network_value(g->r->p->net, st->node->out[0]);
  const tensor *t = gather_given(g->r, w);
  if (g->doubles != NULL && !g->r->exact && product_fits(g->r, st)) {
    back_matrices(g, st, w, t);
    return;
  }
  g->winners = st->kind == WINDOW ? record_winners(g->r, st, &g->pooled) : NULL;
  for (size_t f = 0; f < st->n; f++)
    for (size_t b = 0; b < g->r->p->net->batch; b++)
      (st->kind == LINEAR      ? back_linear
       : st->kind == PRODUCT   ? back_product
       : st->kind == PIECEWISE ? back_piece
                               : back_window)(g, st, f, b, record_entry(g->r, w, t, f, b));
}

/* ---- What values that only move entries hand back */

static void
back_copy(gather *g, const graph_value *w)
{
  coefficient *c = &g->r->kept->last[1][INPUT];
  const tensor *t = gather_given(g->r, w);
  if (t == NULL) {
    g->unknown = true;
    return;
  }
  coefficient_set(c, &g->r->unit, w->negated != g->v->negated ? &minus_one : &plus_one);
  for (size_t i = 0; i < w->count; i++)
    for (size_t b = 0; b < record_samples(g->r, w); b++)
      add_one(g, w->map[i], b, c, record_entry(g->r, w, t, i, b), NULL, 0);
}

/* ---- What reads a value */

/* The inputs of a node that are of a step or constant of `via`: only values of it? Else terms could not be told apart. */
static bool
reads_alone(const gather *g, const node *n)
{
  bool alone = true;
  for (size_t i = 0; i < n->n_in && alone; i++) {
    const graph_value *w = network_value(g->r->p->net, n->in[i]);
    bool shares = false, known = false;
    for (size_t k = 0; w != NULL && k < g->n_via; k++) {
      shares = shares || gather_shares(g->via[k], w);
      known = known || strcmp(g->via[k]->name, w->name) == 0;
    }
    alone = known || !shares;
  }
  return alone;
}

/* May the node's first output alone be read? What comes back through another one would be missing. */
static bool
makes_one(const gather *g, const node *n)
{
  bool one = true;
  for (size_t i = 1; i < n->n_out; i++)
    one = one && network_value(g->r->p->net, n->out[i]) == NULL;
  return one;
}

/* w has no recorded gradient: what reads it hands back in its place. */
static void
add_via(gather *g, const graph_value *w)
{
  bool noted = false;
  for (size_t k = 0; k < g->n_via; k++)
    noted = noted || g->via[k] == w;
  if (!noted)
    g->via[g->n_via++] = w;
}

/* A node reads u, and moves its entries to w. */
static void
follow_copy(gather *g, const graph_value *u, const graph_value *w)
{
  if (record_find(g->r, "gradient", w->name) == NULL)
    add_via(g, w);
  else if (gather_shares(u, g->v))
    back_copy(g, w);
  else
    g->unknown = true;
}

/* Node `place` reads u, which is v or behind it. */
static void
follow_node(gather *g, const graph_value *u, size_t place)
{
  const node *n = &g->r->m->nodes[place];
  const graph_value *w = network_value(g->r->p->net, n->out[0]);
  bool noted = false;
  if (w == NULL || !makes_one(g, n)) {
    g->unknown = true;
    return;
  }
  if (gather_shares(u, w) && (w->constant != NULL || !record_makes(g->r, w))) {
    follow_copy(g, u, w);
    return;
  }
  for (size_t i = 0; i < g->n_nodes; i++)
    noted = noted || g->nodes[i] == place;
  if (noted)
    return;
  g->nodes[g->n_nodes++] = place;
  if (record_find(g->r, "gradient", w->name) == NULL)
    add_via(g, w);
}

/* A node of a plain rule, whose inputs and output's gradient were recorded, and which hands nothing back but to v: its terms are
 * exact. */
static bool
is_exact(const gather *g, size_t place)
{
  const node *n = &g->r->m->nodes[place];
  const step *st = record_step(g->r, place);
  bool exact = st != NULL && (g->v->constant == NULL || st->kind == LINEAR)
               && gather_given(g->r, network_value(g->r->p->net, n->out[0])) != NULL && record_reads(g->r, st);
  for (size_t i = 0; i < n->n_in && exact; i++)
    for (size_t k = 1; k < g->n_via && exact; k++)
      exact = strcmp(n->in[i], g->via[k]->name) != 0 || gather_shares(g->via[k], g->v);
  return exact;
}

static void
back_nodes(gather *g)
{
  size_t composed = 0;
  for (size_t i = 0; i < g->n_nodes && !g->unknown; i++) {
    size_t place = g->nodes[i];
    g->unknown = !reads_alone(g, &g->r->m->nodes[place]);
    if (g->unknown)
      return;
    if (is_exact(g, place))
      back_step(g, record_step(g->r, place));
    else
      g->nodes[composed++] = place;
  }
  if (composed > 0 && !g->unknown && g->doubles != NULL)
    gather_chain(g, g->nodes, composed);
}

static bool
reads(const node *n, const char *name)
{
  for (size_t i = 0; i < n->n_in; i++)
    if (strcmp(n->in[i], name) == 0)
      return true;
  return false;
}

static void
back_cross_entropy(gather *g)
{
  const graph_value *v = g->v;
  size_t batch = g->r->p->net->batch;
  cotangent **to = allocate(v->count, sizeof *to);
  if (g->composed == NULL)
    g->composed = cotangents_new(v->count * batch, g->rough);
  for (size_t b = 0; b < batch; b++) {
    node_pass p = {.r = g->r, .n = 1, .first = b, .type = g->type, .doubles = g->rough};
    for (size_t i = 0; i < v->count; i++)
      to[i] = &g->composed[i * batch + b];
    loss_back(&p, v, b, to);
  }
  free(to);
}

/* The loss's own: the scale, or scale 2 / N (output - y). */
static void
back_loss(gather *g)
{
  const point *p = g->r->p;
  const graph_value *v = g->v;
  coefficient c = {.q = NULL}, d = {.q = NULL};
  RATIONAL(share);
  RATIONAL(minus);
  mpq_set_ui(&share, p->loss == LOSS_MSE ? 2 : 1, p->loss == LOSS_MSE ? p->net->batch * v->count : 1);
  mpq_canonicalize(&share);
  mpq_mul(&share, &share, &g->r->scale);
  mpq_neg(&minus, &share);
  coefficient_set(&c, &g->r->unit, &share);
  coefficient_set(&d, &g->r->unit, &minus);
  if (p->loss != LOSS_SUM)
    g->unknown = g->unknown || !record_known(g->r, v->step) || p->target->real != (p->loss == LOSS_MSE);
  if (p->loss == LOSS_CE && !g->unknown && g->doubles != NULL)
    back_cross_entropy(g);
  for (size_t i = 0; i < v->count && !g->unknown && p->loss != LOSS_CE; i++)
    for (size_t b = 0; b < p->net->batch; b++) {
      source x = {v->step, v->map[i]};
      if (p->loss == LOSS_SUM) {
        add_number(g, x.from, b, &share);
        continue;
      }
      add_one(g, x.from, b, &c, record_read(g->r, x, b), NULL, 0);
      add_one(g, x.from, b, &d, &p->target->whole[b * v->count + i], NULL, 0);
    }
  mpz_clear(&c.times);
  mpz_clear(&d.times);
}

/* The place of each feature, or entry of a constant, in v; false when one is there twice. */
static bool
find_places(gather *g)
{
  const graph_value *v = g->v;
  size_t n = v->constant != NULL ? v->constant->count : g->r->p->net->steps[v->step].n;
  g->place = allocate(n, sizeof *g->place);
  for (size_t i = 0; i < n; i++)
    g->place[i] = NONE;
  for (size_t i = 0; i < v->count; i++) {
    if (g->place[v->map[i]] != NONE)
      return false;
    g->place[v->map[i]] = i;
  }
  return true;
}

/* Judges entry i as the total of plain sums and of what composed nodes hand back, with so many roundings. */
static answer
judge_composed(const gather *g, size_t i, size_t roundings, const recorded *x)
{
  const unit *u = &g->r->unit;
  const sum *s = &g->sums[i];
  const cotangent *h = &g->composed[i];
  number *y = number_new(1, false);
  RATIONAL(q);
  sum_part(&q, u, &s->exact);
  enclosure_copy(&y->x, &h->x);
  enclosure_add_number(&y->x, &q);
  sum_part(&q, u, &s->lost);
  y->off = bound_add(bound_of(&q), h->off);
  sum_part(&q, u, &s->narrow);
  bound narrow = bound_scale(bound_of(&q), -NARROW_BITS);
  y->off = bound_add(y->off, narrow);
  sum_part(&q, u, &s->mass);
  bound mass = bound_add(bound_add(bound_of(&q), narrow), h->mass);
  bool bounded = number_is_nothing(y, mass) || add_rounding(&y->off, g->type, roundings, mass);
  y->open = h->open || !bounded;
  answer found = node_judge(g->r, y, x);
  number_free(y, 1);
  return found;
}

/* All that reads v, or a value behind it of which no gradient was recorded. */
static void
follow(gather *g)
{
  const model *m = g->r->m;
  const tail *own = &g->r->p->net->own;
  g->via = allocate(g->r->p->net->n_values + 1, sizeof *g->via);
  g->nodes = allocate(m->n_nodes + 1, sizeof *g->nodes);
  g->via[g->n_via++] = g->v;
  for (size_t k = 0; k < g->n_via && !g->unknown; k++) {
    bool last = strcmp(g->via[k]->name, own->of) == 0;
    g->unknown = last && k > 0; /* the loss's own gradient comes in between */
    for (size_t place = 0; place < m->n_nodes && !g->unknown; place++) {
      if (!reads(&m->nodes[place], g->via[k]->name))
        continue;
      g->readers++;
      if (place < own->from)
        follow_node(g, g->via[k], place);
      else
        g->unknown = !last;
    }
  }
}

/* Adds up all terms: in doubles, and with what composed nodes hand back; or in integers, of the entries that are asked for. */
static void
add_up(gather *g)
{
  free(g->via);
  free(g->nodes);
  g->n_via = g->n_nodes = g->readers = 0;
  follow(g);
  if (!g->unknown)
    back_nodes(g);
  if (strcmp(g->v->name, g->r->p->net->own.of) == 0)
    back_loss(g);
}

/* How many roundings an entry may have. */
static size_t
roundings_of(const gather *g, size_t n)
{
  size_t most = 0;
  for (size_t i = 0; i < n; i++) {
    size_t terms = g->doubles[i].terms + (g->composed != NULL ? g->composed[i].terms : 0);
    most = terms > most ? terms : most;
  }
  return most + SPARE_COMPOSED * (g->readers + 1);
}

/* What doubles tell of the entries; how many others there are, which are then asked for. */
static size_t
judge_doubles(gather *g, const tensor *t, size_t n, size_t roundings)
{
  size_t samples = record_samples(g->r, g->v), others = 0;
  g->asked = allocate(n, sizeof *g->asked);
  for (size_t i = 0; i < n; i++) {
    const recorded *x = record_entry(g->r, g->v, t, i / samples, i % samples);
    g->asked[i] = g->composed != NULL ? g->doubles[i].terms > 0
                                      : filter_judge(&g->doubles[i], t->type, roundings, x, g->r->exact) == UNTOLD;
    others += g->asked[i];
  }
  return others;
}

/* Entry i, asked for, as its sum in integers. */
static answer
judge_entry(const gather *g, const tensor *t, size_t i, size_t roundings)
{
  size_t samples = record_samples(g->r, g->v);
  const recorded *x = record_entry(g->r, g->v, t, i / samples, i % samples);
  if (g->composed != NULL)
    return judge_composed(g, i, roundings, x);
  return answer_of(EXACT, sum_judge(&g->sums[i], &g->r->unit, t->type, roundings, x));
}

static answer
judge_all(gather *g, const tensor *t)
{
  answer all = g->composed != NULL || !g->r->exact ? BOUNDED : EXACT;
  size_t n = g->v->count * record_samples(g->r, g->v), roundings = roundings_of(g, n);
  if (g->unbounded) {
    g->r->boundless += n;
    return n > 0 ? NO_BOUND : all;
  }
  size_t others = judge_doubles(g, t, n, roundings);
  free(g->doubles);
  g->doubles = NULL;
  if (others == 0 && g->composed == NULL)
    return all;
  g->sums = sums(n);
  if (others > 0)
    add_up(g);
  for (size_t i = 0; i < n && all < REFUTED; i++)
    if (g->asked[i] || g->composed != NULL)
      all = answer_note(g->r, all, judge_entry(g, t, i, roundings));
  sums_free(g->sums, n);
  return all;
}

/* Is entry i within its bound, as doubles tell? */
static bool
is_within(const gather *g, size_t i, size_t roundings, const recorded *x)
{
  bound mass, none = {0, 0};
  const cotangent *h = &g->composed[i];
  number y = {.x = {filter_span(&g->doubles[i], &mass), NULL}, .off = h->off, .open = h->open};
  enclosure_add(&y.x, &h->x);
  mass = bound_add(mass, h->mass);
  bool fits = add_rounding(&none, g->type, roundings, bound_scale(mass, 1)); /* as in node_round */
  bool bounded = number_is_nothing(&y, mass) || (add_rounding(&y.off, g->type, roundings, mass) && fits);
  return bounded && node_within(&y, x);
}

/* Are all, composed nodes being followed in doubles? */
static bool
are_within(const gather *g, const tensor *t)
{
  size_t samples = record_samples(g->r, g->v), n = g->v->count * samples, roundings = roundings_of(g, n);
  bool within = !g->unbounded;
  for (size_t i = 0; i < n && within; i++)
    within = is_within(g, i, roundings, record_entry(g->r, g->v, t, i / samples, i % samples));
  return within;
}

/* Adds up all once more, composed nodes in GMP's numbers. */
static void
add_up_finely(gather *g, size_t n, size_t unrecorded)
{
  cotangents_free(g->composed, n);
  g->composed = NULL;
  g->rough = g->unbounded = false;
  g->r->kept->unrecorded = unrecorded; /* the same entries */
  memset(g->doubles, 0, n * sizeof *g->doubles);
  add_up(g);
}

static answer
judge_gradient(record *r, const graph_value *v, const tensor *t)
{
  gather g = {.r = r, .v = v, .type = t->type, .rough = node_in_doubles(t->type)};
  size_t n = v->count * record_samples(r, v), unrecorded = r->kept->unrecorded;
  if (!find_places(&g))
    return NOT_COVERED;
  g.doubles = allocate(n, sizeof *g.doubles);
  add_up(&g);
  bool composed = g.composed != NULL && !g.unknown, told = composed && g.rough && are_within(&g, t);
  if (composed && g.rough && !told)
    add_up_finely(&g, n, unrecorded);
  answer found = g.unknown ? NOT_COVERED : told ? BOUNDED : judge_all(&g, t);
  cotangents_free(g.composed, n);
  free(g.doubles);
  free(g.asked);
  free(g.place);
  free(g.via);
  free(g.nodes);
  return found;
}

answer
record_gradient(record *r, const char *name, const tensor *t)
{
  const graph_value *v = network_value(r->p->net, name);
  if (v == NULL && loss_is_log(r, name))
    return loss_log_gradient(r, t);
  if (v == NULL || !record_plain(r, v) || (v->constant != NULL && !v->constant->real))
    return NOT_COVERED;
  record_fits(r, v, t);
  return judge_gradient(r, v, t);
}

answer
record_parameter(record *r, const graph_value *v, const tensor *t)
{
  record_fits(r, v, t);
  return judge_gradient(r, v, t);
}
