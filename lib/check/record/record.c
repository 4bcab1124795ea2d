/* The record's tensors, and where they stand in the network (record.h). */
#include "check/record/record.h"
#include "check/base/allocate.h"
#include "check/files/tensor_files.h"
#include "check/kernel/point.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- One unit for all numbers */

/* How many binary digits x has behind the point: it is an integer below 2^53 times 2^(e - 1075). */
static unsigned long
places_of(double x)
{
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  long e = (long)(bits >> 52 & 2047);
  uint64_t digits = (bits & ((UINT64_C(1) << 52) - 1)) | (uint64_t)(e > 0) << 52;
  long places = digits != 0 ? 1075 - (e > 0 ? e : 1) - __builtin_ctzll(digits) : 0;
  return places > 0 ? (unsigned long)places : 0;
}

/* Entry i of a tensor, which may be packed. */
static void
entry_value(rational *q, const tensor *t, size_t i)
{
  if (t->value == NULL)
    tensor_entry(q, t, i);
  else
    mpq_set(q, &t->value[i]);
}

/* The digits of an entry that is no double. */
static unsigned long
long_places(const tensor *t, size_t i)
{
  RATIONAL(q);
  entry_value(&q, t, i);
  unsigned long n = mpz_sizeinbase(mpq_denref(&q), 2) - 1;
  expect(mpz_scan1(mpq_denref(&q), 0) == n, "a constant's entry is no integer times a power of two");
  return n;
}

/* Its entries as doubles; those that are none are made once the unit is known. */
static void
note_tensor(record *r, tensor *t)
{
  bool others = false;
  if (t->whole != NULL)
    return;
  t->whole = allocate(t->count, sizeof *t->whole);
  for (size_t i = 0; i < t->count; i++) {
    double x = t->value != NULL ? rational_double(&t->value[i]) : tensor_double(t, i);
    unsigned long n = isnan(x) ? long_places(t, i) : places_of(x);
    t->whole[i].d = x;
    others = others || isnan(x);
    r->unit.bits = n > r->unit.bits ? n : r->unit.bits;
  }
  if (!others)
    return;
  r->kept->long_ones = grow(r->kept->long_ones, r->kept->n_long, sizeof *r->kept->long_ones);
  r->kept->long_ones[r->kept->n_long++] = t;
}

/* In the unit. */
static void
scale_long(const unit *u, const tensor *t)
{
  RATIONAL(q);
  for (size_t i = 0; i < t->count; i++) {
    if (!isnan(t->whole[i].d))
      continue;
    entry_value(&q, t, i);
    t->whole[i].z = integer_zero();
    mpz_mul_2exp(&t->whole[i].z, mpq_numref(&q), u->bits - (mpz_sizeinbase(mpq_denref(&q), 2) - 1));
  }
}

static void
note_coefficient(unit *u, const rational *q)
{
  mpz_lcm(&u->common, &u->common, mpq_denref(q));
  require(mpz_sizeinbase(&u->common, 2) <= MAX_BITS, "the coefficients' common denominator is too large");
}

static void
note_step(unit *u, const step *st)
{
  const rational *last = &plus_one;
  for (size_t i = 0; i < st->n_factors; i++) {
    if (st->factors[i].coef != last)
      note_coefficient(u, st->factors[i].coef);
    last = st->factors[i].coef;
  }
  for (size_t i = 0; i < 9 && st->kind == PIECEWISE; i++)
    note_coefficient(u, &st->piece[i / 3][i % 3]);
}

/* A tensor of the model, or the batch: what is packed is not read. */
static void
note_decoded(record *r, const tensor *t)
{
  if (t != NULL && t->value != NULL)
    note_tensor(r, (tensor *)t);
}

/* The weights of steps: no value need have them, for a node makes some anew (a mask without its infinite entries). */
static void
note_weights(record *r)
{
  const network *net = r->p->net;
  for (size_t s = 1; s < net->n_steps; s++)
    for (size_t i = 0; i < net->steps[s].n_factors; i++)
      note_decoded(r, net->steps[s].factors[i].w);
}

/* All tensors that hold the record's numbers, and the weights of steps, one after another. */
static void
note_tensors(record *r)
{
  for (size_t i = 0; i < r->n_trace; i++)
    note_tensor(r, &r->trace[i]);
  for (size_t i = 0; i < r->n_gradients; i++)
    note_tensor(r, &r->gradients[i]);
  note_decoded(r, r->p->x);
  note_decoded(r, r->p->target);
  for (size_t s = 1; s < r->p->net->n_steps; s++)
    note_decoded(r, r->p->net->steps[s].given);
  for (size_t v = 0; v < r->p->net->n_values; v++)
    for (tensor *t = r->p->net->values[v].constant; t != NULL; t = t->still)
      note_decoded(r, t);
  note_weights(r);
}

static void
choose_unit(record *r)
{
  const network *net = r->p->net;
  size_t all = net->batch * net->n_outputs;
  RATIONAL(share);
  r->unit = (unit){0, integer_zero()};
  mpz_set_ui(&r->unit.common, 1);
  note_tensors(r);
  for (size_t s = 1; s < net->n_steps; s++)
    note_step(&r->unit, &net->steps[s]);
  for (size_t i = 0; i < net->n_operators; i++)
    for (size_t k = 0; k < net->operators[i].kinks; k++)
      note_coefficient(&r->unit, &r->proxies[i][k].value);
  mpq_set_ui(&share, 2, all);
  mpq_canonicalize(&share);
  mpq_mul(&share, &share, &r->scale);
  note_coefficient(&r->unit, &share);
  mpq_set_ui(&share, 1, r->p->loss == LOSS_CE ? loss_counted(r->p) : 1);
  mpq_mul(&share, &share, &r->scale);
  note_coefficient(&r->unit, &share);
  note_coefficient(&r->unit, &r->scale);
  for (size_t i = 0; i < r->kept->n_long; i++)
    scale_long(&r->unit, r->kept->long_ones[i]);
}

/* ---- Recorded entries of steps */

bool
record_plain(const record *r, const graph_value *v)
{
  const network *net = r->p->net;
  return v->constant != NULL || net->batched || net->batch == 1;
}

bool
record_first(const record *r, const graph_value *v)
{
  return record_plain(r, v) && (v->constant != NULL || !r->p->net->batched || (v->at == 0 && v->inner == 0));
}

size_t
record_samples(const record *r, const graph_value *v)
{
  return v->constant != NULL ? 1 : r->p->net->batch;
}

void
record_fits(const record *r, const graph_value *v, const tensor *t)
{
  size_t samples = record_samples(r, v), rank = v->rank;
  bool fits = t->real && t->rank == rank;
  for (size_t i = 0; i < rank && fits; i++)
    fits = t->dims[i] == (i == v->at && r->p->net->batched && v->constant == NULL ? samples * v->dims[i] : v->dims[i]);
  require(fits, "tensor '%s' is not of floats, or does not have the shape of its node's output", t->name);
}

const recorded *
record_entry(const record *r, const graph_value *v, const tensor *t, size_t i, size_t b)
{
  if (v->constant != NULL)
    return &t->whole[i];
  if (!r->p->net->batched || (v->at == 0 && v->inner == 0))
    return &t->whole[b * v->count + i];
  size_t behind = v->inner > 0 ? v->inner : 1;
  for (size_t k = v->at + (v->inner > 0); k < v->rank; k++)
    behind *= v->dims[k];
  return &t->whole[(i / behind * r->p->net->batch + b) * behind + i % behind];
}

/* What was recorded of the output of v's step, which v holds whole and in order; the input is as it was given. */
static void
place_entries(record *r, const graph_value *v, const tensor *t)
{
  size_t n = r->p->net->batch;
  r->entry[v->step] = allocate(v->count * n, sizeof **r->entry);
  for (size_t i = 0; i < v->count; i++)
    for (size_t b = 0; b < n; b++)
      r->entry[v->step][i * n + b] = record_entry(r, v, t, i, b);
}

/* A recorded value that only moves entries: are they those that it moves? */
static bool
moves_its_own(const record *r, const graph_value *v, const tensor *t)
{
  bool same = t->real && t->count == v->count * record_samples(r, v);
  for (size_t i = 0; i < v->count && same; i++)
    for (size_t b = 0; b < record_samples(r, v) && same; b++) {
      const recorded *from =
          v->constant != NULL ? &v->constant->whole[v->map[i]] : record_read(r, (source){v->step, v->map[i]}, b);
      same = recorded_order(from, v->negated, record_entry(r, v, t, i, b), &r->unit) == 0;
    }
  return same;
}

/* Where they are others, it is not known what was read of the step or constant. Nor is it where something was recorded of a step,
 * but not what it made, samples first. */
static void
mark_torn(record *r)
{
  const network *net = r->p->net;
  for (size_t i = 0; i < net->n_values; i++) {
    const graph_value *v = &net->values[i];
    const tensor *t = record_find(r, "output", v->name);
    if (t == NULL || (v->constant == NULL && record_makes(r, v) && r->entry[v->step] != NULL)
        || (v->constant != NULL && !v->constant->real))
      continue;
    bool *of = v->constant != NULL ? &v->constant->torn : &r->torn[v->step];
    *of = *of || (v->constant == NULL && r->entry[v->step] == NULL) || !moves_its_own(r, v, t);
  }
}

/* A Lift of which nothing was recorded stands for itself: its entries are a constant's. */
static void
place_lifted(record *r, size_t s)
{
  const step *st = &r->p->net->steps[s];
  bool whole = st->node != NULL && strcmp(st->node->op, "Lift") == 0 && r->entry[s] == NULL && !r->torn[s];
  for (size_t f = 0; f < st->n && whole; f++) {
    const factor *w = &st->factors[st->factor_row[f]];
    whole = w->w != NULL && w->w->real && !w->w->torn && mpq_equal(w->coef, &plus_one);
  }
  if (!whole)
    return;
  r->entry[s] = allocate(st->n, sizeof **r->entry); /* the batch of such a network is one */
  for (size_t f = 0; f < st->n; f++)
    r->entry[s][f] = &st->factors[st->factor_row[f]].w->whole[st->factors[st->factor_row[f]].at];
}

static void
place_all(record *r)
{
  const network *net = r->p->net;
  r->entry = allocate(net->n_steps, sizeof *r->entry);
  r->torn = allocate(net->n_steps, sizeof *r->torn);
  for (size_t i = 0; i < net->n_values; i++) {
    const graph_value *v = &net->values[i];
    if (v->constant != NULL || r->entry[v->step] != NULL || !record_plain(r, v))
      continue;
    const step *st = &net->steps[v->step];
    const tensor *given = v->step == 0 ? r->p->x : st->node == NULL ? st->given : NULL; /* an input's array */
    if (given != NULL && given->real) {
      place_entries(r, v, given);
      continue;
    }
    const tensor *t = record_makes(r, v) ? record_find(r, "output", v->name) : NULL;
    if (t == NULL)
      continue;
    record_fits(r, v, t);
    place_entries(r, v, t);
  }
  mark_torn(r);
  for (size_t s = 1; s < net->n_steps; s++)
    place_lifted(r, s);
  memset(r->trace_read, 0, r->n_trace * sizeof *r->trace_read); /* no line has spoken of it yet */
}

static void
index_outputs(record *r)
{
  for (size_t i = 0; i < r->m->n_nodes; i++)
    for (size_t j = 0; j < r->m->nodes[i].n_out; j++)
      if (*r->m->nodes[i].out[j] != '\0' && name_add(&r->outputs, r->m->nodes[i].out[j])) {
        r->maker = grow(r->maker, r->outputs.n - 1, sizeof *r->maker);
        r->maker[r->outputs.n - 1] = i;
      }
}

void
record_begin(record *r, bytes trace, bytes gradients)
{
  index_outputs(r);
  r->one.d = 1;
  r->trace = tensors_hold(trace, &r->n_trace, &r->trace_names);
  r->gradients = tensors_hold(gradients, &r->n_gradients, &r->gradient_names);
  r->trace_read = allocate(r->n_trace, sizeof *r->trace_read);
  r->gradient_read = allocate(r->n_gradients, sizeof *r->gradient_read);
  choose_unit(r);
  place_all(r);
}

/* ---- What the lines of the proof name */

size_t
record_tensor(const record *r, const char *part, const char *name)
{
  size_t n = strlen(part), length = strlen(name);
  char *full = allocate(n + length + 2, 1);
  memcpy(full, part, n);
  full[n] = '/';
  memcpy(full + n + 1, name, length);
  size_t found = name_find(&r->trace_names, full);
  free(full);
  return found;
}

const tensor *
record_find(record *r, const char *part, const char *name)
{
  size_t i = record_tensor(r, part, name);
  if (i == NONE)
    return NULL;
  r->trace_read[i] = true;
  return &r->trace[i];
}

/* ---- Steps */

size_t
record_place(const record *r, const char *name)
{
  size_t i = name_find(&r->outputs, name);
  return i != NONE ? r->maker[i] : NONE;
}

bool
record_makes(const record *r, const graph_value *v)
{
  const step *st = v->constant == NULL && v->step > 0 ? &r->p->net->steps[v->step] : NULL;
  bool whole = st != NULL && st->node != NULL && v->count == st->n && strcmp(st->node->out[0], v->name) == 0;
  for (size_t i = 0; i < v->count && whole; i++)
    whole = v->map[i] == i;
  return whole;
}

/* Each piece is a number, or a multiple of x by a number from -1 to 1. */
static bool
is_selection(const step *st)
{
  bool fits = st->factors[0].w == NULL;
  for (size_t i = 0; i <= st->n_kinks; i++) {
    const rational *c = st->piece[i];
    fits = fits && mpq_sgn(&c[2]) == 0 && (mpq_sgn(&c[0]) == 0 || mpq_sgn(&c[1]) == 0)
           && mpz_cmpabs(mpq_numref(&c[1]), mpq_denref(&c[1])) <= 0;
  }
  return fits;
}

/* Each term is a number, a product of two, or a multiple of one. */
static bool
is_plain_sum(const step *st)
{
  bool fits = !st->divide;
  for (size_t i = 0; i < st->n_factors && fits; i++) {
    const factor *t = &st->factors[i];
    fits = t->w == NULL || mpz_cmpabs(mpq_numref(t->coef), mpq_denref(t->coef)) == 0;
  }
  return fits;
}

/* At ties of other windows frameworks have several rules, of which a record does not say which it was. */
static bool
is_pool(const step *st)
{
  return strcmp(st->node->op, "MaxPool") == 0 || strcmp(st->node->op, "GlobalMaxPool") == 0;
}

const step *
record_step(const record *r, size_t place)
{
  const network *net = r->p->net;
  const step *found = NULL;
  for (size_t s = 1; s < net->n_steps; s++) {
    if (net->steps[s].place != place)
      continue;
    if (found != NULL)
      return NULL;
    found = &net->steps[s];
  }
  if (found == NULL || found->kind == PRODUCT)
    return found;
  bool covered = (found->kind == WINDOW && is_pool(found)) || (found->kind == LINEAR && is_plain_sum(found))
                 || (found->kind == PIECEWISE && is_selection(found));
  return covered ? found : NULL;
}

/* x less q, its sign. */
static int
compare(const unit *u, const recorded *x, const rational *q)
{
  INTEGER(left);
  INTEGER(right);
  bool short_one = mpz_cmp_ui(mpq_denref(q), 1) == 0 && mpz_cmpabs_ui(mpq_numref(q), 1ul << 53) <= 0;
  double at = short_one ? (double)mpz_get_si(mpq_numref(q)) : NAN;
  if (x->d < at || x->d > at || x->d == at)
    return (x->d > at) - (x->d < at);
  mpz_mul(&left, recorded_integer(x, u), mpq_denref(q));
  mpz_mul_2exp(&right, mpq_numref(q), u->bits);
  return mpz_cmp(&left, &right);
}

size_t
record_piece(const record *r, const step *st, const recorded *x)
{
  for (size_t k = 0; k < st->n_kinks; k++) {
    if (mpq_equal(&st->piece[k][1], &st->piece[k + 1][1]))
      continue; /* one piece, for it is continuous */
    int sign = compare(&r->unit, x, &st->at[k]);
    if (sign < 0)
      return k;
    if (sign == 0)
      return AT_KINK + k;
  }
  return st->n_kinks;
}

const ad_slope *
record_proxy(const record *r, const step *st, size_t k)
{
  size_t i = 0;
  while (strcmp(r->p->net->operators[i].name, step_operator(st)) != 0)
    i++;
  return &r->proxies[i][st->number[k]];
}

const recorded *
record_read(const record *r, source x, size_t b)
{
  return r->entry[x.step] != NULL ? r->entry[x.step][x.from * r->p->net->batch + b] : NULL;
}

size_t
record_winner(const record *r, const step *st, size_t f, size_t b)
{
  const source *x = &st->sources[st->source_row[f] * st->width];
  size_t best = NONE;
  for (size_t i = 0; i < st->width; i++)
    if (x[i].step < PADDING
        && (best == NONE || recorded_order(record_read(r, x[i], b), false, record_read(r, x[best], b), &r->unit) > 0))
      best = i;
  return best;
}

bool
record_known(const record *r, size_t s)
{
  return r->entry[s] != NULL && !r->torn[s];
}

bool
record_reads(const record *r, const step *st)
{
  bool all = true;
  for (size_t i = 0; i < st->n_sources && all; i++)
    all = st->sources[i].step >= PADDING || record_known(r, st->sources[i].step);
  for (size_t i = 0; i < st->n_factors && all; i++)
    all = st->factors[i].w == NULL || !st->factors[i].w->torn;
  return all;
}
