/* Running statistics (record_statistic.h). */
#include "check/record/record_statistic.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"
#include "check/record/record_number.h"

#include <stdlib.h>
#include <string.h>

#define MOST_UPDATES 64
/* A share's numerator and denominator have so many bits; and those of a line's, times its updates, times its entries: exact numbers
 * grow with each. */
#define MOST_SHARE_BITS 4096
#define MOST_WORK ((size_t)1 << 31)
/* Roundings of an update; of a mean and a variance over n entries. */
#define OF_UPDATE 8
#define OF_MEAN(n) (5 * (n) + 8)
#define OF_VARIANCE(n) (6 * ((n) + 8))

/* ---- What a normalization finds in the minibatch */

/* By channel, of n entries x: their mean and variance, the latter's divisor being n - 1; A, the mean of |x|; and the sum of
 * (|x| + A)^2 over n - 1. */
typedef struct moments {
  size_t n, channels;
  rational *mean, *variance, *size, *spread;
} moments;

/* Are a mean and a variance of a node's own among the updates? */
typedef struct told_statistics {
  bool mean, variance;
} told_statistics;

/* The BatchNormalization at that place whose statistics are the minibatch's; NULL: there is none. */
static const step *
find_normalization(const network *net, size_t place)
{
  const step *found = NULL;
  for (size_t s = 1; s < net->n_steps; s++)
    if (net->steps[s].place == place && net->steps[s].kind == NORMALIZE)
      found = &net->steps[s];
  bool own = found != NULL && strcmp(found->node->op, "BatchNormalization") == 0 && (found->couples || net->batch == 1);
  return own ? found : NULL;
}

/* NULL also where it is not known what it reads. */
static const step *
find_step(const record *r, size_t place)
{
  const network *net = r->p->net;
  const step *found = find_normalization(net, place);
  if (found == NULL)
    return NULL;
  bool reads = record_reads(r, found);
  for (size_t i = 0; i < found->n_sources && reads; i++)
    reads = found->sources[i].step < PADDING;
  return reads && found->length * net->batch > 1 ? found : NULL;
}

/* Sums of x, of |x| and of x^2 in channel k, in units of the record. */
static void
add_up(integer *total, integer *sizes, integer *squares, const record *r, const step *st, size_t k)
{
  size_t batch = r->p->net->batch;
  for (size_t f = k * st->length; f < (k + 1) * st->length; f++)
    for (size_t b = 0; b < batch; b++) {
      const integer *x = recorded_integer(record_read(r, st->sources[st->source_row[f]], b), &r->unit);
      mpz_add(total, total, x);
      (mpz_sgn(x) < 0 ? mpz_sub : mpz_add)(sizes, sizes, x);
      mpz_addmul(squares, x, x);
    }
}

/* q = z / n, of a z in units of the record or in squares of these. */
static void
part_of(rational *q, const record *r, const integer *z, size_t n, bool squared)
{
  RATIONAL(count);
  unfixed(q, z, squared ? 2 * r->unit.bits : r->unit.bits);
  mpq_set_ui(&count, n, 1);
  mpq_div(q, q, &count);
}

static void
fill_channel(moments *m, const record *r, const step *st, size_t k)
{
  INTEGER(total);
  INTEGER(sizes);
  INTEGER(squares);
  RATIONAL(q);
  RATIONAL(n);
  RATIONAL(less);
  add_up(&total, &sizes, &squares, r, st, k);
  mpq_set_ui(&n, m->n, 1);
  mpq_set_ui(&less, m->n - 1, 1);
  part_of(&m->mean[k], r, &total, m->n, false);
  part_of(&m->size[k], r, &sizes, m->n, false);
  part_of(&m->variance[k], r, &squares, 1, true);
  mpq_set(&m->spread[k], &m->variance[k]);
  /* sum of (x - mean)^2 = sum of x^2 - n mean^2; sum of (|x| + A)^2 = sum of x^2 + 3 n A^2 */
  mpq_mul(&q, &m->mean[k], &m->mean[k]);
  mpq_mul(&q, &q, &n);
  mpq_sub(&m->variance[k], &m->variance[k], &q);
  mpq_div(&m->variance[k], &m->variance[k], &less);
  mpq_mul(&q, &m->size[k], &m->size[k]);
  mpq_mul(&q, &q, &n);
  for (int i = 0; i < 3; i++)
    mpq_add(&m->spread[k], &m->spread[k], &q);
  mpq_div(&m->spread[k], &m->spread[k], &less);
}

static const moments *
moments_of(const record *r, const step *st)
{
  const network *net = r->p->net;
  size_t at = (size_t)(st - net->steps), n = st->n / st->length;
  moments ***known = &r->kept->moments;
  if (*known == NULL)
    *known = allocate(net->n_steps, sizeof **known);
  if ((*known)[at] != NULL)
    return (*known)[at];
  moments *m = (*known)[at] = allocate(1, sizeof *m);
  *m = (moments){st->length * net->batch, n, rationals(n), rationals(n), rationals(n), rationals(n)};
  for (size_t k = 0; k < n; k++)
    fill_channel(m, r, st, k);
  return m;
}

/* ---- Updates */

/* One: the mean or variance of each of so many samples, which are normalized by themselves; 1: of all together. */
typedef struct {
  const moments *m;
  bool variance;
  size_t samples;
  rational share, rest;         /* s and 1 - s */
  rational size, rest_and_size; /* |s|, 1 + |s| */
} update;

/* What it is made of in an entry: b, what that is off by, and the mean of sizes. False: there is no bound. */
static bool
minibatch(rational *b, bound *off, bound *mass, const update *u, size_t entries, size_t k, size_t type)
{
  RATIONAL(all);
  for (size_t j = 0; j < u->samples; j++) {
    size_t at = j * entries + k;
    const rational *x = u->variance ? &u->m->variance[at] : &u->m->mean[at];
    bound own = {0, 0}, size = bound_of(u->variance ? &u->m->spread[at] : &u->m->size[at]);
    if (!add_rounding(&own, type, u->variance ? OF_VARIANCE(u->m->n) : OF_MEAN(u->m->n), size))
      return false;
    mpq_add(b, b, x);
    *off = bound_add(*off, own);
    *mass = bound_add(*mass, bound_of(x));
  }
  mpq_set_ui(&all, u->samples, 1);
  mpq_div(b, b, &all);
  *mass = bound_over(bound_add(*mass, *off), bound_natural(u->samples));
  *off = bound_over(*off, bound_natural(u->samples));
  return true;
}

/* r becomes (1 - s) r + s b, and off what it is off by. */
static bool
bring_up(rational *r, bound *off, const update *u, size_t entries, size_t k, size_t type)
{
  size_t spare = OF_UPDATE + (u->samples > 1 ? u->samples + 2 : 0);
  bound own = {0, 0}, mass = {0, 0}, old = bound_add(bound_of(r), *off);
  RATIONAL(b);
  if (!minibatch(&b, &own, &mass, u, entries, k, type))
    return false;
  mass = bound_add_times(bound_times(mass, bound_of(&u->size)), old, bound_of(&u->rest_and_size));
  *off = bound_add_times(bound_times(bound_of(&u->rest), *off), bound_of(&u->size), own);
  mpq_mul(r, r, &u->rest);
  mpq_mul(&b, &b, &u->share);
  mpq_add(r, r, &b);
  return add_rounding(off, type, spare, mass);
}

/* ---- A line */

static const tensor *
find_buffer(record *r, const char *part, const char *name)
{
  size_t at = record_tensor(r, part, name);
  require(at == NONE || !r->trace_read[at], "two lines are about the buffer '%s'", name);
  return record_find(r, part, name);
}

static void
state_update(const char *of, const update *u)
{
  fputs("  ", account);
  state_name(of);
  gmp_fprintf(account, ": its %s, with the share %Qd", u->variance ? "variance" : "mean", &u->share);
  fprintf(account, u->samples > 1 ? "; the mean of %zu samples' own\n" : "\n", u->samples);
}

static size_t
share_bits(const update *u)
{
  return mpz_sizeinbase(mpq_numref(&u->share), 2) + mpz_sizeinbase(mpq_denref(&u->share), 2);
}

static void
note_told(const record *r, size_t place, bool variance)
{
  told_statistics **told = &r->kept->told;
  if (*told == NULL)
    *told = allocate(r->m->n_nodes, sizeof **told);
  *(variance ? &(*told)[place].variance : &(*told)[place].mean) = true;
}

/* NODE SHARE SAMPLES; m is NULL when no rule covers it. */
static update
read_update(const record *r, bool variance)
{
  update u = {NULL, variance, 0, rational_zero(), rational_zero(), rational_zero(), rational_zero()};
  char *of = next_name();
  size_t place = record_place(r, of);
  require(place != NONE, "the model has no node '%s'", of);
  next_rational(&u.share);
  expect(share_bits(&u) <= MOST_SHARE_BITS, "a share of more than %d bits", MOST_SHARE_BITS);
  mpq_sub(&u.rest, &plus_one, &u.share);
  mpq_abs(&u.size, &u.share);
  mpq_add(&u.rest_and_size, &plus_one, &u.size);
  u.samples = next_number();
  require(u.samples > 0, "an update is of one sample or more");
  state_update(of, &u);
  free(of);
  note_told(r, place, variance);
  const step *st = find_step(r, place);
  if (st != NULL && st->n / st->length % u.samples == 0)
    u.m = moments_of(r, st);
  return u;
}

static void
updates_free(update *u, size_t n)
{
  for (size_t i = 0; i < n; i++)
    mpq_clears(&u[i].share, &u[i].rest, &u[i].size, &u[i].rest_and_size, NULL);
  free(u);
}

static answer
judge_update(const unit *v, const tensor *before, const tensor *after, const update *u, size_t n, size_t k)
{
  RATIONAL(x);
  RATIONAL(b);
  RATIONAL(most);
  bound off = {0, 0};
  bool bounded = true;
  recorded_value(&x, &before->whole[k], v);
  for (size_t i = 0; i < n && bounded; i++)
    bounded = bring_up(&x, &off, &u[i], after->count, k, after->type);
  recorded_value(&b, &after->whole[k], v);
  mpq_sub(&x, &x, &b);
  mpq_abs(&x, &x);
  bound_get(&most, off);
  return !bounded ? NO_BOUND : mpq_cmp(&x, &most) <= 0 ? BOUNDED : REFUTED;
}

static answer
judge(record *r, const tensor *before, const tensor *after, const update *u, size_t n)
{
  bool covered = before != NULL && after != NULL && before->real && after->real && before->count == after->count;
  answer found = BOUNDED;
  size_t bits = 0;
  for (size_t i = 0; i < n; i++)
    bits += share_bits(&u[i]);
  expect(after == NULL || after->count <= MOST_WORK / bits / n, "too many entries, with updates of so many bits");
  for (size_t i = 0; i < n && covered; i++)
    covered = u[i].m != NULL && u[i].m->channels / u[i].samples == after->count;
  for (size_t k = 0; covered && k < after->count && found < REFUTED; k++)
    found = answer_note(r, found, judge_update(&r->unit, before, after, u, n, k));
  return covered ? found : NOT_COVERED;
}

/* An integer that went up by one for each update. */
static answer
judge_count(const unit *v, const tensor *before, const tensor *after, size_t n)
{
  RATIONAL(more);
  RATIONAL(x);
  if (before == NULL || after == NULL || before->real || after->real || before->count != 1 || after->count != 1)
    return NOT_COVERED;
  mpq_set_ui(&more, n, 1);
  recorded_value(&x, &before->whole[0], v);
  mpq_add(&more, &more, &x);
  recorded_value(&x, &after->whole[0], v);
  return mpq_equal(&more, &x) ? EXACT : REFUTED;
}

answer
record_statistic(record *r, const char *name, const tensor **after)
{
  const tensor *before = find_buffer(r, "before", name);
  *after = find_buffer(r, "after", name);
  const char *word = next_word();
  bool mean = strcmp(word, "mean") == 0, variance = strcmp(word, "variance") == 0;
  require(mean || variance || strcmp(word, "count") == 0, "mean, variance or count is expected");
  size_t n = next_number();
  require(n > 0 && (n <= MOST_UPDATES || !(mean || variance)), "a statistic has 1 to %d updates", MOST_UPDATES);
  if (!mean && !variance)
    return judge_count(&r->unit, before, *after, n);
  update *u = allocate(n, sizeof *u);
  for (size_t i = 0; i < n; i++)
    u[i] = read_update(r, variance);
  answer found = judge(r, before, *after, u, n);
  updates_free(u, n);
  return found;
}

void
record_untold_statistics(const record *r)
{
  const told_statistics *told = r->kept->told;
  size_t n = 0;
  for (size_t i = 0; i < r->m->n_nodes; i++) {
    if (find_normalization(r->p->net, i) == NULL || (told != NULL && told[i].mean && told[i].variance))
      continue;
    if (n++ == 0)
      fputs("No running mean, or no variance, is stated of these, which normalize by the minibatch's own:\n", account);
    fputs("    ", account);
    state_name(r->m->nodes[i].out[0]);
    fputc('\n', account);
  }
}
