/* One pass over one sample, or two where samples are coupled, in residues modulo 2^61 - 1. What has kinks and what is not
 * polynomial is a pseudo-random map, so that two networks agree only where they are the same composition of the same
 * entries. */
#include "check/onnx/fingerprint.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define P (((uint64_t)1 << 61) - 1)
#define TOGETHER 32 /* products that are added up before they are reduced: 63 and a residue fit */

__extension__ typedef unsigned __int128 uint128;

/* ---- Arithmetic */

static residue
reduce(uint128 x)
{
  uint128 sum = (x & P) + (x >> 61 & P) + (x >> 122);
  sum = (sum & P) + (sum >> 61);
  return (residue)(sum >= P ? sum - P : sum);
}

static residue
times(residue a, residue b)
{
  return reduce((uint128)a * b);
}

static residue
add(residue a, residue b)
{
  return reduce((uint128)a + b);
}

static residue
less(residue a, residue b)
{
  return reduce((uint128)a + P - b);
}

/* a^(P - 2): 1 / a, or 0 of 0. */
static residue
inverse(residue a)
{
  residue y = a;
  for (unsigned i = 1; i < 61; i++)
    y = times(times(y, y), i == 59 ? 1 : a);
  return y;
}

static residue
of_integer(const integer *z)
{
  return mpz_fdiv_ui(z, P);
}

/* The residue of a rational. Most denominators are powers of two, and 2^61 is 1, so that these need no inverse. */
static residue
of_rational(const rational *q)
{
  const integer *d = mpq_denref(q);
  residue n = of_integer(mpq_numref(q));
  if (mpz_cmp_ui(d, 1) == 0)
    return n;
  size_t power = mpz_scan1(d, 0);
  if (mpz_sizeinbase(d, 2) == power + 1)
    return times(n, (residue)1 << (60 * power % 61));
  return times(n, inverse(of_integer(d)));
}

/* ---- What is drawn */

static uint64_t
mix(uint64_t z)
{
  z += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

static uint64_t
seed_of(const char *name)
{
  uint64_t seed = 0;
  for (; *name != '\0'; name++)
    seed = mix(seed ^ (unsigned char)*name);
  return seed;
}

static residue
drawn(uint64_t seed, uint64_t i)
{
  return reduce(mix(seed ^ mix(i)));
}

/* ---- Terms */

static residue
entry_of_weight(const factor *by, const tensor *of, uint64_t seed)
{
  residue value = of_rational(&of->value[by->at]);
  return of->initializer ? add(value, drawn(seed, by->at)) : value;
}

/* What each factor of all rows multiplies by, before a quotient's is inverted; the weights of OVER_ROOT and PIECEWISE steps. */
static residue *
factors_of(const step *st)
{
  residue *by = allocate(st->n_factors, sizeof *by);
  const tensor *of = NULL;
  uint64_t seed = 0;
  for (size_t i = 0; i < st->n_factors; i++) {
    const factor *t = &st->factors[i];
    if (t->w != NULL && t->w != of)
      seed = t->w->initializer ? seed_of(t->w->name) : 0;
    of = t->w != NULL ? t->w : of;
    by[i] = t->w != NULL ? entry_of_weight(t, t->w, seed) : 1;
    by[i] = st->divide && t->w != NULL ? inverse(by[i]) : by[i];
    if (t->coef != &plus_one)
      by[i] = times(by[i], of_rational(t->coef));
  }
  return by;
}

static residue
read_source(const prints *p, source x, size_t sample)
{
  return x.step == NONE ? 1 : x.step == PADDING ? 0 : p->y[x.step][x.from * p->samples + sample];
}

/* Source i of entry e. */
static source
source_of(const prints *p, const step *st, size_t e, size_t i)
{
  return st->sources[st->source_row[e / p->samples] * st->width + i];
}

static residue
read_term(const prints *p, const step *st, size_t e, size_t i)
{
  return read_source(p, source_of(p, st, e, i), e % p->samples);
}

/* ---- Steps: entry e */

static residue
linear(const prints *p, const step *st, size_t e, const residue *by)
{
  const source *x = &st->sources[st->source_row[e / p->samples] * st->width];
  uint128 sum = 0;
  for (size_t i = 0; i < st->width; i++) {
    sum += (uint128)by[i] * read_source(p, x[i], e % p->samples);
    if (i % TOGETHER == TOGETHER - 1)
      sum = reduce(sum);
  }
  return reduce(sum);
}

static residue
products(const prints *p, const step *st, size_t e)
{
  residue sum = 0;
  for (size_t i = 0; i < st->width; i += 2)
    sum = add(sum, times(read_term(p, st, e, i), read_term(p, st, e, i + 1)));
  return sum;
}

/* What is 0 on one side of 0, and 1 on the other. */
static residue
jump(residue x)
{
  return drawn(seed_of("step"), x);
}

static residue
on_piece(const residue *c, residue x)
{
  return add(c[0], times(x, add(c[1], times(c[2], x))));
}

/* Piece 0, and at each kink a jump by the difference of its two pieces. */
static residue
pieces(const prints *p, const step *st, size_t e, const residue *slope)
{
  residue x = read_term(p, st, e, 0), c[3][3], y = 0;
  for (size_t i = 0; i <= st->n_kinks; i++) {
    for (size_t k = 0; k < 3; k++)
      c[i][k] = slope != NULL && i == 0 ? 0 : of_rational(&st->piece[i][k]);
    if (slope != NULL && i == 0)
      c[0][1] = *slope;
    residue piece = on_piece(c[i], x);
    y = i == 0 ? piece : add(y, times(less(piece, on_piece(c[i - 1], x)), jump(less(x, of_rational(&st->at[i - 1])))));
  }
  return y;
}

/* The entries in turn, each by a jump in the place of what was the largest before it. */
static residue
window(const prints *p, const step *st, size_t e)
{
  residue y = 0;
  bool begun = false;
  for (size_t i = 0; i < st->width; i++) {
    if (source_of(p, st, e, i).step == PADDING)
      continue;
    residue x = read_term(p, st, e, i), rise = less(x, y);
    y = begun ? add(y, times(rise, jump(rise))) : x;
    begun = true;
  }
  return y;
}

/* ---- Steps: lines */

static size_t
line_of(const prints *p, const step *st, size_t line, size_t i)
{
  size_t apart = st->couples ? 1 : st->stride * p->samples, length = st->length * (st->couples ? p->samples : 1);
  return (line / apart * length + i) * apart + line % apart;
}

static void
softmax(const prints *p, const step *st, size_t line, residue *y)
{
  uint64_t map = seed_of("exp");
  residue sum = 0;
  for (size_t i = 0; i < st->length; i++)
    sum = add(sum, drawn(map, read_term(p, st, line_of(p, st, line, i), 0)));
  residue by = st->log ? drawn(seed_of("log"), sum) : inverse(sum);
  for (size_t i = 0; i < st->length; i++) {
    size_t e = line_of(p, st, line, i);
    residue x = read_term(p, st, e, 0);
    y[e] = st->log ? less(x, by) : times(drawn(map, x), by);
  }
}

static void
normalize(const prints *p, const step *st, size_t line, residue *y)
{
  size_t length = st->length * (st->couples ? p->samples : 1);
  residue mean = 0, variance = 0, share = inverse(length);
  for (size_t i = 0; i < length; i++)
    mean = add(mean, times(share, read_term(p, st, line_of(p, st, line, i), 0)));
  for (size_t i = 0; i < length; i++) {
    residue c = less(read_term(p, st, line_of(p, st, line, i), 0), mean);
    variance = add(variance, times(share, times(c, c)));
  }
  residue by = inverse(drawn(seed_of("root"), add(variance, of_rational(&st->at[0]))));
  for (size_t i = 0; i < length; i++) {
    size_t e = line_of(p, st, line, i);
    y[e] = times(less(read_term(p, st, e, 0), mean), by);
  }
}

/* ---- The pass */

/* x, and behind it the batch's other arrays that are read, in the order of their names, as if they were one array; of a
 * single run these are constants. */
static void
begin_input(const prints *p, const step *st, residue *y)
{
  size_t before = st->given != NULL ? p->net->steps[0].n : 0;
  for (size_t s = 1; s < p->net->n_steps && st->given != NULL; s++)
    if (p->net->steps[s].given != NULL && strcmp(p->net->steps[s].given->name, st->given->name) < 0)
      before += p->net->steps[s].n;
  for (size_t e = 0; e < st->n * p->samples; e++)
    y[e] = st->given != NULL && !p->net->batched ? of_rational(&st->given->value[e])
                                                 : drawn(seed_of("x"), before * p->samples + e);
}

static residue
entry(const prints *p, const step *st, size_t e, const residue *by)
{
  by += st->factor_row[e / p->samples] * st->width;
  const factor *t = &st->factors[st->factor_row[e / p->samples] * st->width];
  residue x = st->kind == LINEAR || st->kind == PRODUCT ? 0 : read_term(p, st, e, 0);
  switch (st->kind) {
  case LINEAR: return linear(p, st, e, by);
  case PRODUCT: return products(p, st, e);
  case PIECEWISE: return pieces(p, st, e, t->w != NULL ? by : NULL);
  case WINDOW: return window(p, st, e);
  case OVER_ROOT: return times(x, inverse(drawn(seed_of("root"), add(*by, of_rational(&st->at[0])))));
  default: return st->of == F_RECIPROCAL ? inverse(x) : drawn(seed_of(function_name(st->of)), x);
  }
}

static void
run(const prints *p, size_t s)
{
  const step *st = &p->net->steps[s];
  residue *y = p->y[s] = allocate(st->n * p->samples, sizeof *y);
  if (st->kind == INPUT) {
    begin_input(p, st, y);
    return;
  }
  size_t lines = st->length > 0 ? st->n / st->length * (st->couples ? 1 : p->samples) : 0;
  for (size_t line = 0; line < lines; line++)
    (st->kind == SOFTMAX ? softmax : normalize)(p, st, line, y);
  if (lines > 0)
    return;
  residue *by = factors_of(st);
  for (size_t e = 0; e < st->n * p->samples; e++)
    y[e] = entry(p, st, e, by);
  free(by);
}

prints
prints_take(const network *net)
{
  prints p = {net, 1, allocate(net->n_steps, sizeof *p.y)};
  for (size_t s = 0; s < net->n_steps; s++)
    p.samples = net->steps[s].couples && net->batch > 1 ? 2 : p.samples;
  for (size_t s = 0; s < net->n_steps; s++)
    run(&p, s);
  return p;
}

residue
print_of(const prints *p, const graph_value *v)
{
  bool batch = p->net->batched && !v->shared;
  uint64_t seed = seed_of(v->name);
  residue print = 0;
  for (size_t i = 0; i < v->rank; i++)
    seed = mix(seed ^ (v->dims[i] * (batch && i == v->at ? p->net->together : 1)));
  for (size_t f = 0; f < v->count; f++)
    for (size_t k = 0; k < p->samples && (v->excluded == NULL || !v->excluded[f]); k++)
      print = add(print, times(p->y[v->step][v->map[f] * p->samples + k], drawn(seed, f * p->samples + k)));
  return print;
}

/* 16 hexadecimal digits. */
static uint64_t
next_print(void)
{
  const char *word = next_word();
  char *end;
  require(strlen(word) == 16 && strspn(word, "0123456789abcdef") == 16, "a fingerprint is of 16 digits from 0 to f");
  return strtoull(word, &end, 16);
}

void
check_fingerprints(const network *net)
{
  if (!line_is("fingerprint"))
    return;
  prints p = prints_take(net);
  do {
    char *name = next_name();
    const graph_value *v = network_value(net, name);
    require(v != NULL && v->constant == NULL, "there is no activation '%s'", name);
    residue own = print_of(&p, v);
    require(next_print() == own,
            "'%s' has the fingerprint %016" PRIx64 ": who wrote the proof read the network otherwise, here or before",
            name, own);
    free(name);
  } while (line_is("fingerprint"));
  for (size_t s = 0; s < net->n_steps; s++)
    free(p.y[s]);
  free(p.y);
}
