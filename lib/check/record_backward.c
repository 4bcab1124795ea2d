/* Recorded gradients (record.h): of a value, the sum of what all that read it hand back. */
#include "record.h"
#include "allocate.h"
#include "builder.h"
#include "network.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  record *r;
  const graph_value *v;  /* whose gradient it is */
  size_t type;           /* of the recorded one */
  size_t *place;         /* entry of v by feature, or by entry of the constant; NONE */
  sum *sums;             /* [entry * samples + b] */
  size_t readers;        /* nodes */
  bool unknown;          /* something that reads it is not covered */
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
  size_t i = 0, kinks, piece = record_piece(r, st, x);
  if (piece < AT_KINK)
    return &st->piece[piece][1];
  size_t k = piece - AT_KINK;
  while (strcmp(network_operator(i, &kinks), step_operator(st)) != 0)
    i++;
  const ad_slope *given = &r->proxies[i][st->number[k]];
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

/* What node `place`, which reads v, hands back. */
static void
back_node(gather *g, size_t place)
{
  const node *n = &g->r->m->nodes[place];
  const graph_value *w = network_value(g->r->p->net, n->out[0]);
  const step *st = record_step(g->r, place);
  if (w != NULL && n->n_out == 1 && w->constant == g->v->constant
      && (w->constant != NULL || (w->step == g->v->step && !record_makes(g->r, w))))
    back_copy(g, w);
  else if (w == NULL || st == NULL || !reads_alone(g, n) || (g->v->constant != NULL && st->kind != LINEAR))
    g->unknown = true;
  else
    back_step(g, st);
}

static bool
reads(const node *n, const char *name)
{
  for (size_t i = 0; i < n->n_in; i++)
    if (strcmp(n->in[i], name) == 0)
      return true;
  return false;
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
  g->unknown = g->unknown || p->loss == LOSS_CE;
  if (p->loss == LOSS_MSE)
    g->unknown = g->unknown || !record_known(g->r, v->step) || !p->target->real;
  for (size_t i = 0; i < v->count && !g->unknown; i++)
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

static answer
judge_all(const gather *g, const tensor *t)
{
  answer all = EXACT;
  size_t samples = record_samples(g->r, g->v), n = g->v->count * samples, most = 0;
  for (size_t i = 0; i < n; i++)
    most = g->sums[i].terms > most ? g->sums[i].terms : most;
  for (size_t i = 0; i < n && all < REFUTED; i++)
    all = answer_of(all, sum_judge(&g->sums[i], &g->r->unit, t->type, most + SPARE * (g->readers + 1),
                                   record_entry(g->v, t, i / samples, i % samples)));
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
  answer found = g.unknown ? NOT_COVERED : judge_all(&g, t);
  sums_free(g.sums, v->count * record_samples(r, v));
  free(g.place);
  return found;
}

answer
record_gradient(record *r, const char *name, const tensor *t)
{
  const graph_value *v = network_value(r->p->net, name);
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
