/* Recorded gradients (record.h): of a value, the sum of what all that read it hand back. */
#include "record_node.h"
#include "allocate.h"
#include "builder.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  record *r;
  const graph_value *v;  /* whose gradient it is */
  size_t type;           /* of the recorded one */
  size_t *place;         /* entry of v by feature, or by entry of the constant; NONE */
  sum *sums;             /* [entry * samples + b] */
  handed *composed;      /* likewise: what composed nodes hand back; NULL: none does */
  size_t readers;        /* nodes */
  bool unknown;          /* something that reads it is not covered */
  bool unbounded;        /* of something that reads it there is no bound */
  const tensor *winners; /* of the step at work, a WINDOW; or NULL */
  const graph_value *pooled;
} gather;

/* What a step's output was given: its node's recorded gradient; NULL: there is none. */
static const tensor *
handed_on(record *r, const graph_value *w)
{
  const tensor *t = w != NULL && record_plain(r, w) ? record_find(r, "gradient", w->name) : NULL;
  if (t != NULL)
    record_fits(r, w, t);
  return t;
}

/* Where feature `from` of v's step is in v; of a constant its entry. */
static sum *
sum_of(const gather *g, size_t from, size_t b)
{
  size_t i = g->place[from];
  require(i != NONE, "a node reads an entry that its input does not hold");
  return &g->sums[i * record_samples(g->r, g->v) + (g->v->constant != NULL ? 0 : b)];
}

static void
add_one(const gather *g, size_t from, size_t b, const coefficient *c, const integer *a, const integer *x)
{
  sum_add(sum_of(g, from, b), &g->r->unit, g->type, c, a, x);
}

/* ---- What steps hand back; h: the gradient of entry f for sample b */

static bool
reads_it(const gather *g, source x)
{
  return g->v->constant == NULL && x.step == g->v->step;
}

static void
back_linear(const gather *g, const step *st, size_t f, size_t b, const integer *h)
{
  static coefficient c;
  const factor *w = &st->factors[st->factor_row[f] * st->width];
  const source *x = &st->sources[st->source_row[f] * st->width];
  for (size_t i = 0; i < st->width; i++) {
    bool other = x[i].step < PADDING;
    if (x[i].step == PADDING || !(reads_it(g, x[i]) || (g->v->constant != NULL && w[i].w == g->v->constant)))
      continue;
    bool turned = g->v->negated != (mpq_sgn(w[i].coef) < 0); /* of a constant, whose coefficient is 1 or -1 */
    coefficient_set(&c, &g->r->unit, g->v->constant == NULL ? w[i].coef : turned ? &minus_one : &plus_one);
    if (g->v->constant == NULL)
      add_one(g, x[i].from, b, &c, h, w[i].w != NULL ? &w[i].w->whole[w[i].at] : NULL);
    else
      add_one(g, w[i].at, b, &c, h, other ? record_read(g->r, x[i], b) : NULL);
  }
}

static void
back_product(const gather *g, const step *st, size_t f, size_t b, const integer *h)
{
  static coefficient c;
  const source *x = &st->sources[st->source_row[f] * st->width];
  coefficient_set(&c, &g->r->unit, &plus_one);
  for (size_t i = 0; i < st->width; i++)
    if (reads_it(g, x[i]) && x[i ^ 1].step != PADDING)
      add_one(g, x[i].from, b, &c, h, record_read(g->r, x[i ^ 1], b));
}

/* AD's slope at the recorded argument. */
static const rational *
slope_of(const record *r, const step *st, const integer *x)
{
  size_t piece = record_piece(r, st, x);
  if (piece < AT_KINK)
    return &st->piece[piece][1];
  size_t k = piece - AT_KINK;
  const ad_slope *given = record_proxy(r, st, k);
  return given->left ? &st->piece[k][1] : given->right ? &st->piece[k + 1][1] : &given->value;
}

static void
back_piece(const gather *g, const step *st, size_t f, size_t b, const integer *h)
{
  static coefficient c;
  source x = st->sources[st->source_row[f]];
  if (!reads_it(g, x))
    return;
  const rational *slope = slope_of(g->r, st, record_read(g->r, x, b));
  coefficient_set(&c, &g->r->unit, slope);
  if (mpq_sgn(slope) == 0)
    c.plain = true;
  add_one(g, x.from, b, &c, h, NULL);
}

/* To the recorded winner; where none was recorded, to the first of the largest. */
static void
back_window(const gather *g, const step *st, size_t f, size_t b, const integer *h)
{
  static coefficient c;
  size_t i = g->winners != NULL ? record_named(g->r, st, g->pooled, g->winners, f, b) : record_winner(g->r, st, f, b);
  require(i != NONE, "an index of '%s' is of no entry of its window", st->node->out[0]);
  source x = st->sources[st->source_row[f] * st->width + i];
  coefficient_set(&c, &g->r->unit, &plus_one);
  if (reads_it(g, x))
    add_one(g, x.from, b, &c, h, NULL);
}

static void
back_step(gather *g, const step *st)
{
  const graph_value *w = network_value(g->r->p->net, st->node->out[0]);
  const tensor *t = handed_on(g->r, w);
  if (t == NULL || !record_reads(g->r, st)) {
    g->unknown = true;
    return;
  }
  g->winners = st->kind == WINDOW ? record_winners(g->r, st, &g->pooled) : NULL;
  for (size_t f = 0; f < st->n; f++)
    for (size_t b = 0; b < g->r->p->net->batch; b++)
      (st->kind == LINEAR      ? back_linear
       : st->kind == PRODUCT   ? back_product
       : st->kind == PIECEWISE ? back_piece
                               : back_window)(g, st, f, b, record_entry(w, t, f, b));
}

/* ---- What composed nodes hand back */

/* The gradients of the node's output w, recorded as t, for the samples of a pass. */
static number *
recorded_gradients(node_pass *p, const graph_value *w, const tensor *t)
{
  number *h = number_new(w->count * p->n);
  for (size_t e = 0; e < w->count * p->n; e++)
    node_recall(&h[e], p, record_entry(w, t, e / p->n, p->first + e % p->n));
  return h;
}

/* What the pass gathered is added to what the value has. */
static void
add_composed(const gather *g, const node_pass *p)
{
  size_t n = g->v->constant != NULL ? g->v->constant->count : g->r->p->net->steps[g->v->step].n;
  const handed *from = g->v->constant != NULL ? p->of_weight : p->back[g->v->step];
  size_t samples = record_samples(g->r, g->v), own = g->v->constant != NULL ? 1 : p->n;
  for (size_t e = 0; e < n * own && from != NULL; e++) {
    if (from[e].terms == 0)
      continue;
    require(g->place[e / own] != NONE, "a node reads an entry that its input does not hold");
    handed *to = &g->composed[g->place[e / own] * samples + (samples > 1 ? p->first + e % own : 0)];
    interval_add(&to->x, &from[e].x, g->v->negated ? &minus_one : &plus_one);
    interval_round(&to->x);
    add_times(&to->off, &from[e].off, &plus_one);
    add_times(&to->mass, &from[e].mass, &plus_one);
    to->terms += from[e].terms;
  }
}

/* A constant's gradient has a rule where it multiplies, or is added, as it is. */
static bool
weighs_plainly(const gather *g, const step *st)
{
  bool plain = true;
  for (size_t i = 0; i < st->n_factors && g->v->constant != NULL && plain; i++)
    plain = st->factors[i].w != g->v->constant
            || (!st->divide && st->kind != OVER_ROOT
                && mpz_cmpabs(mpq_numref(st->factors[i].coef), mpq_denref(st->factors[i].coef)) == 0);
  return plain;
}

static void
back_composed(gather *g, size_t place)
{
  const network *net = g->r->p->net;
  const graph_value *w = network_value(net, g->r->m->nodes[place].out[0]);
  const tensor *t = handed_on(g->r, w);
  size_t from, to, constants = g->v->constant != NULL ? g->v->constant->count : 0;
  bool covers = node_covers(g->r, place, &from, &to) && t != NULL && record_makes(g->r, w) && w->step + 1 == to;
  for (size_t s = from; covers && s < to; s++)
    covers = weighs_plainly(g, &net->steps[s]);
  g->unknown = g->unknown || !covers;
  if (!covers)
    return;
  if (g->composed == NULL)
    g->composed = handed_new(g->v->count * record_samples(g->r, g->v));
  for (size_t b = 0; b < net->batch && !g->unbounded; b += node_samples(g->r, from, to)) {
    node_pass p;
    node_begin(&p, g->r, from, to, b, g->type);
    p.step = g->v->constant != NULL ? NONE : g->v->step;
    p.weight = g->v->constant;
    p.of_weight = handed_new(constants);
    number *h = recorded_gradients(&p, w, t);
    if (!p.open)
      node_back(&p, h);
    g->unbounded = p.open;
    if (!p.open)
      add_composed(g, &p);
    number_free(h, w->count * p.n);
    handed_free(p.of_weight, constants);
    node_end(&p);
  }
}

/* ---- What values that only move entries hand back */

static void
back_copy(gather *g, const graph_value *w)
{
  static coefficient c;
  const tensor *t = handed_on(g->r, w);
  if (t == NULL) {
    g->unknown = true;
    return;
  }
  coefficient_set(&c, &g->r->unit, w->negated != g->v->negated ? &minus_one : &plus_one);
  for (size_t i = 0; i < w->count; i++)
    for (size_t b = 0; b < record_samples(g->r, w); b++)
      add_one(g, w->map[i], b, &c, record_entry(w, t, i, b), NULL);
}

/* ---- What reads a value */

/* The inputs of a node that are of v's step or constant: only v? Else terms could not be told apart. */
static bool
reads_alone(const gather *g, const node *n)
{
  bool alone = true;
  for (size_t i = 0; i < n->n_in; i++) {
    const graph_value *w = network_value(g->r->p->net, n->in[i]);
    bool same = w != NULL && w->constant == g->v->constant && (w->constant != NULL || w->step == g->v->step);
    alone = alone && (!same || strcmp(w->name, g->v->name) == 0);
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

/* What node `place`, which reads v, hands back. */
static void
back_node(gather *g, size_t place)
{
  const node *n = &g->r->m->nodes[place];
  const graph_value *w = network_value(g->r->p->net, n->out[0]);
  const step *st = record_step(g->r, place);
  if (w == NULL || !makes_one(g, n))
    g->unknown = true;
  else if (w->constant == g->v->constant && (w->constant != NULL || (w->step == g->v->step && !record_makes(g->r, w))))
    back_copy(g, w);
  else if (!reads_alone(g, n))
    g->unknown = true;
  else if (st != NULL && (g->v->constant == NULL || st->kind == LINEAR))
    back_step(g, st);
  else
    back_composed(g, place);
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
  handed **to = allocate(v->count, sizeof *to);
  if (g->composed == NULL)
    g->composed = handed_new(v->count * batch);
  for (size_t b = 0; b < batch; b++) {
    node_pass p = {.r = g->r, .n = 1, .first = b, .type = g->type, .step = NONE};
    for (size_t i = 0; i < v->count; i++)
      to[i] = &g->composed[i * batch + b];
    loss_back(&p, v, b, to);
    g->unbounded = g->unbounded || p.open;
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
  if (p->loss == LOSS_CE && !g->unknown)
    back_cross_entropy(g);
  for (size_t i = 0; i < v->count && !g->unknown && p->loss != LOSS_CE; i++)
    for (size_t b = 0; b < p->net->batch; b++) {
      source x = {v->step, v->map[i]};
      if (p->loss == LOSS_SUM) {
        sum_add_number(sum_of(g, x.from, b), &g->r->unit, &share);
        continue;
      }
      add_one(g, x.from, b, &c, record_read(g->r, x, b), NULL);
      add_one(g, x.from, b, &d, &p->target->whole[b * v->count + i], NULL);
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

/* Of plain sums and of what composed nodes hand back: entry i, with so many roundings. */
static answer
judge_composed(const gather *g, size_t i, size_t roundings, const integer *recorded)
{
  const unit *u = &g->r->unit;
  const sum *s = &g->sums[i];
  const handed *h = &g->composed[i];
  INTERVAL(x);
  RATIONAL(q);
  RATIONAL(bound);
  RATIONAL(mass);
  sum_part(&q, u, &s->exact);
  interval_add(&x, &h->x, &plus_one);
  interval_add(&x, &exactly_one, &q);
  sum_part(&bound, u, &s->lost);
  mpq_add(&bound, &bound, &h->off);
  sum_part(&mass, u, &s->mass);
  mpq_add(&mass, &mass, &h->mass);
  return add_rounding(&bound, g->type, roundings, &mass) ? node_judge(g->r, &x, &bound, recorded) : REFUTED;
}

static answer
judge_all(const gather *g, const tensor *t)
{
  answer all = g->composed != NULL ? BOUNDED : EXACT;
  size_t samples = record_samples(g->r, g->v), n = g->v->count * samples, most = 0;
  for (size_t i = 0; i < n; i++) {
    size_t terms = g->sums[i].terms + (g->composed != NULL ? g->composed[i].terms : 0);
    most = terms > most ? terms : most;
  }
  for (size_t i = 0; i < n && all < REFUTED; i++) {
    const integer *recorded = record_entry(g->v, t, i / samples, i % samples);
    if (g->composed != NULL)
      all = judge_composed(g, i, most + SPARE_COMPOSED * (g->readers + 1), recorded);
    else
      all = answer_of(all, sum_judge(&g->sums[i], &g->r->unit, t->type, most + SPARE * (g->readers + 1), recorded));
  }
  return all;
}

static answer
judge_gradient(record *r, const graph_value *v, const tensor *t)
{
  const model *m = r->m;
  gather g = {.r = r, .v = v, .type = t->type};
  if (!find_places(&g))
    return NOT_COVERED;
  g.sums = sums(v->count * record_samples(r, v));
  for (size_t place = 0; place < m->n_nodes && !g.unknown; place++) {
    if (!reads(&m->nodes[place], v->name))
      continue;
    g.readers++;
    if (place < r->p->net->own.from)
      back_node(&g, place);
    else
      g.unknown = strcmp(v->name, r->p->net->own.of) != 0;
  }
  if (strcmp(v->name, r->p->net->own.of) == 0)
    back_loss(&g);
  answer found = g.unknown ? NOT_COVERED : g.unbounded ? REFUTED : judge_all(&g, t);
  handed_free(g.composed, v->count * record_samples(r, v));
  sums_free(g.sums, v->count * record_samples(r, v));
  free(g.place);
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
