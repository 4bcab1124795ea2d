/* Recorded outputs, and winners of windows (record.h). */
#include "check/record/record_node.h"
#include "check/record/record_product.h"

#include <stdlib.h>
#include <string.h>

answer
answer_of(answer so_far, nearness n)
{
  static const answer answers[] = {
      [BIT_EXACT] = EXACT, [WITHIN_BOUND] = BOUNDED, [BOUNDLESS] = NO_BOUND, [BEYOND] = REFUTED};
  return answers[n] > so_far ? answers[n] : so_far;
}

answer
answer_note(record *r, answer so_far, answer now)
{
  r->boundless += now == NO_BOUND;
  return now > so_far ? now : so_far;
}

/* ---- One entry of a step's output, for sample b */

/* Where terms are added: to the one that is not NULL. */
typedef struct {
  filter *doubles;
  sum *integers;
} total;

static void
add_one(total s, const record *r, size_t type, const coefficient *c, const recorded *a, const recorded *b,
        unsigned long narrow)
{
  if (s.doubles != NULL)
    filter_add(s.doubles, c, a, b);
  else
    sum_add(s.integers, &r->unit, type, c, a, b, narrow);
}

static void
add_linear(total s, record *r, const step *st, size_t f, size_t b, size_t type)
{
  coefficient *c = &r->kept->last[0][LINEAR];
  const factor *w = &st->factors[st->factor_row[f] * st->width];
  const source *x = &st->sources[st->source_row[f] * st->width];
  unsigned long narrow = record_narrow(r, st, type);
  for (size_t i = 0; i < st->width; i++) {
    if (x[i].step == PADDING)
      continue;
    const recorded *one = x[i].step == NONE ? NULL : record_read(r, x[i], b);
    const recorded *other = w[i].w != NULL ? &w[i].w->whole[w[i].at] : NULL;
    coefficient_set(c, &r->unit, w[i].coef);
    add_one(s, r, type, c,
            one != NULL     ? one
            : other != NULL ? other
                            : &r->one,
            one != NULL ? other : NULL, record_narrow_term(narrow, &w[i], x[i], false));
  }
}

static void
add_product(total s, record *r, const step *st, size_t f, size_t b, size_t type)
{
  coefficient *c = &r->kept->last[0][PRODUCT];
  const source *x = &st->sources[st->source_row[f] * st->width];
  unsigned long narrow = record_narrow(r, st, type);
  coefficient_set(c, &r->unit, &plus_one);
  for (size_t i = 0; i + 1 < st->width; i += 2)
    if (x[i].step != PADDING && x[i + 1].step != PADDING)
      add_one(s, r, type, c, record_read(r, x[i], b), record_read(r, x[i + 1], b), narrow);
}

/* A number or a multiple: at a kink both pieces agree. */
static void
add_piece(total s, record *r, const step *st, size_t f, size_t b, size_t type)
{
  coefficient *c = &r->kept->last[0][PIECEWISE];
  const recorded *x = record_read(r, st->sources[st->source_row[f]], b);
  const rational *piece = st->piece[record_piece(r, st, x) % AT_KINK];
  if (mpq_sgn(&piece[0]) == 0) {
    coefficient_set(c, &r->unit, &piece[1]);
    add_one(s, r, type, c, x, NULL, 0);
  } else if (s.doubles != NULL) {
    filter_add_number(s.doubles, &piece[0]);
  } else {
    sum_add_number(s.integers, &r->unit, &piece[0]);
  }
}

static void
add_largest(total s, record *r, const step *st, size_t f, size_t b, size_t type)
{
  coefficient *c = &r->kept->last[0][WINDOW];
  const source *x = &st->sources[st->source_row[f] * st->width];
  coefficient_set(c, &r->unit, &plus_one);
  add_one(s, r, type, c, record_read(r, x[record_winner(r, st, f, b)], b), NULL, 0);
}

static void
add_entry(total s, record *r, const step *st, size_t f, size_t b, size_t type)
{
  if (st->kind == LINEAR)
    add_linear(s, r, st, f, b, type);
  else if (st->kind == PRODUCT)
    add_product(s, r, st, f, b, type);
  else if (st->kind == PIECEWISE)
    add_piece(s, r, st, f, b, type);
  else
    add_largest(s, r, st, f, b, type);
}

/* How many roundings entry f takes: a few more where what is added up is multiplied by a number other than 1 and -1, as
 * in a mean. */
static size_t
roundings_of(const step *st, size_t f)
{
  bool scaled = false;
  for (size_t i = 0; i < st->width && st->kind == LINEAR; i++) {
    const rational *c = st->factors[st->factor_row[f] * st->width + i].coef;
    scaled = scaled || (c != &plus_one && mpz_cmpabs(mpq_numref(c), mpq_denref(c)) != 0);
  }
  return st->width + SPARE + (scaled ? SPARE_SCALED : 0);
}

/* Entry f of sample b with n roundings, in integers. */
static nearness
judge_exactly(record *r, const step *st, const recorded *x, size_t type, size_t f, size_t b, size_t n)
{
  sum *s = sums(1);
  add_entry((total){NULL, s}, r, st, f, b, type);
  nearness found = sum_judge(s, &r->unit, type, n, x);
  sums_free(s, 1);
  return found;
}

static answer
judge_step(record *r, const step *st, const graph_value *v, const tensor *t)
{
  answer all = EXACT;
  size_t batch = r->p->net->batch;
  filter *known = !r->exact && product_fits(r, st) ? product_forward(r, st) : NULL;
  for (size_t f = 0; f < st->n && all < REFUTED; f++) {
    size_t n = roundings_of(st, f);
    for (size_t b = 0; b < batch && all < REFUTED; b++) {
      filter quick = {0};
      const recorded *x = record_entry(r, v, t, f, b);
      if (known == NULL)
        add_entry((total){&quick, NULL}, r, st, f, b, t->type);
      nearness one = filter_judge(known != NULL ? &known[f * batch + b] : &quick, t->type, n, x, r->exact);
      one = one == UNTOLD ? judge_exactly(r, st, x, t->type, f, b, n) : one;
      all = answer_note(r, all, answer_of(EXACT, one));
    }
  }
  free(known);
  return all;
}

/* The nearness of an entry that is moved: it was stored in t's type, perhaps. */
static nearness
judge_moved(record *r, const coefficient *c, const recorded *from, const tensor *t, const recorded *to)
{
  filter quick = {0};
  filter_add(&quick, c, from, NULL);
  nearness found = filter_judge(&quick, t->type, 0, to, true);
  if (found != UNTOLD)
    return found;
  sum *s = sums(1);
  sum_add(s, &r->unit, t->type, c, from, NULL, 0);
  found = sum_judge(s, &r->unit, t->type, 0, to);
  sums_free(s, 1);
  return found;
}

/* Entries that are moved: a parameter's, perhaps negated, or those of a step. */
static answer
judge_copy(record *r, const graph_value *v, const tensor *t)
{
  coefficient *c = &r->kept->last[0][INPUT];
  answer all = EXACT;
  if (v->constant == NULL ? r->entry[v->step] == NULL : !v->constant->initializer || !v->constant->real)
    return NOT_COVERED;
  coefficient_set(c, &r->unit, v->negated ? &minus_one : &plus_one);
  for (size_t i = 0; i < v->count && all < REFUTED; i++)
    for (size_t b = 0; b < record_samples(r, v) && all < REFUTED; b++) {
      const recorded *from =
          v->constant != NULL ? &v->constant->whole[v->map[i]] : record_read(r, (source){v->step, v->map[i]}, b);
      all = answer_of(all, judge_moved(r, c, from, t, record_entry(r, v, t, i, b)));
    }
  return all;
}

/* The samples of a pass, in doubles or in GMP's numbers. False: doubles do not tell. */
static bool
judge_pass(record *r, const graph_value *v, const tensor *t, const chain *c, size_t first, bool doubles, answer *all)
{
  node_pass p;
  bool told = true;
  node_begin(&p, r, c, c->has, first, t->type, doubles);
  for (size_t e = 0; e < v->count * p.n && (doubles ? told : *all < REFUTED); e++) {
    const number *y = p.ended ? NULL : &p.y[v->step][e];
    const recorded *x = record_entry(r, v, t, e / p.n, first + e % p.n);
    if (doubles)
      told = y != NULL && node_within(y, x);
    else
      *all = answer_note(r, *all, y == NULL ? NO_BOUND : node_judge(r, y, x));
  }
  node_end(&p);
  return told;
}

/* Judges the output of a composed node, or of one that reads what was not recorded. */
static answer
judge_composed(record *r, const graph_value *v, const tensor *t)
{
  answer all = BOUNDED;
  chain c;
  chain_begin(&c, r);
  chain_add(&c, r, v->step);
  chain_close(&c, r);
  for (size_t b = 0; b < r->p->net->batch && all < REFUTED && c.covers; b += c.samples)
    if (!node_in_doubles(t->type) || !judge_pass(r, v, t, &c, b, true, &all))
      judge_pass(r, v, t, &c, b, false, &all);
  bool covers = c.covers;
  chain_end(&c);
  return covers ? all : NOT_COVERED;
}

answer
record_output(record *r, const char *name, const tensor *t)
{
  const graph_value *v = network_value(r->p->net, name);
  if (v == NULL && loss_is_log(r, name))
    return loss_log_output(r, t);
  if (v == NULL || !record_plain(r, v))
    return NOT_COVERED;
  record_fits(r, v, t);
  if (v->constant != NULL || !record_makes(r, v))
    return judge_copy(r, v, t);
  const step *st = record_step(r, record_place(r, name));
  return st != NULL && record_reads(r, st) ? judge_step(r, st, v, t) : judge_composed(r, v, t);
}

/* ---- Winners */

size_t
record_named(const record *r, const step *st, const graph_value *in, const tensor *t, size_t f, size_t b)
{
  size_t plane = 1, places = 1, k = b * st->n + f;
  const graph_value *out = network_value(r->p->net, st->node->out[0]);
  for (size_t i = 2; i < in->rank; i++) {
    plane *= in->dims[i];
    places *= out->dims[i];
  }
  double index = t->whole[k].d;
  if (!(index >= 0 && index < (double)plane))
    return NONE;
  size_t from = in->map[f / places * plane + (size_t)index];
  const source *x = &st->sources[st->source_row[f] * st->width];
  for (size_t i = 0; i < st->width; i++)
    if (x[i].step < PADDING && x[i].from == from)
      return i;
  return NONE;
}

const tensor *
record_winners(record *r, const step *st, const graph_value **in)
{
  const graph_value *out = network_value(r->p->net, st->node->out[0]);
  const tensor *t = strcmp(st->node->op, "MaxPool") == 0 ? record_find(r, "indices", out->name) : NULL;
  *in = network_value(r->p->net, st->node->in[0]);
  if (t == NULL || !record_first(r, *in) || !record_first(r, out))
    return NULL;
  bool fits = !t->real && t->rank == out->rank && t->count == out->count * r->p->net->batch;
  for (size_t i = 1; i < out->rank && fits; i++)
    fits = t->dims[i] == out->dims[i];
  require(fits, "tensor '%s' is not of integers, or does not have the shape of its node's output", t->name);
  return t;
}

answer
record_indices(record *r, const char *name, const tensor *t)
{
  const step *st = record_step(r, record_place(r, name));
  const graph_value *in;
  if (st == NULL || st->kind != WINDOW || record_winners(r, st, &in) != t || !record_reads(r, st))
    return NOT_COVERED;
  for (size_t f = 0; f < st->n; f++)
    for (size_t b = 0; b < r->p->net->batch; b++)
      if (record_named(r, st, in, t, f, b) != record_winner(r, st, f, b))
        return REFUTED;
  return EXACT;
}
