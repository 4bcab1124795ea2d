#include "proof/check_limits.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The checker's own table is in lib/check/base/limit.c; tests/proof/test_check_limits.c holds this one to it. ours: the library's
 * limit of the same name, which counts the same, but for CLARKE_N_LIMITS. */
static const struct {
  const char *name;
  size_t standard, growth;
  clarke_limit ours;
} limits[CLARKE_N_CHECK_LIMITS] = {
  [CLARKE_CHECK_FILE] = { "file", (size_t)1 << 33, 0, CLARKE_LIMIT_FILE },
  [CLARKE_CHECK_NODES] = { "nodes", 2048, 0, CLARKE_LIMIT_NODES },
  [CLARKE_CHECK_ENTRIES] = { "entries", (size_t)1 << 24, 1024, CLARKE_LIMIT_ENTRIES },
  [CLARKE_CHECK_PRODUCTS] = { "products", (size_t)1 << 28, (size_t)1 << 13, CLARKE_LIMIT_PRODUCTS },
  [CLARKE_CHECK_TEXT] = { "text", (size_t)1 << 24, 0, CLARKE_LIMIT_TEXT },
  [CLARKE_CHECK_INSTRUCTIONS] = { "instructions", (size_t)1 << 21, 0, CLARKE_LIMIT_INSTRUCTIONS },
  [CLARKE_CHECK_VECTORS] = { "vectors", (size_t)1 << 24, 0, CLARKE_LIMIT_VECTORS },
  [CLARKE_CHECK_WORDS] = { "words", (size_t)1 << 24, 0, CLARKE_LIMIT_WORDS },
  [CLARKE_CHECK_BITS] = { "bits", (size_t)1 << 17, 0, CLARKE_LIMIT_BITS },
  [CLARKE_CHECK_TIES] = { "ties", 4096, 0, CLARKE_LIMIT_TIES },
  [CLARKE_CHECK_GRADIENTS] = { "gradients", (size_t)1 << 25, 0, CLARKE_N_LIMITS },
  [CLARKE_CHECK_MEMORY] = { "memory", (size_t)640 << 20, 1024, CLARKE_N_LIMITS },
};

const char *
clarke_check_limit_name(clarke_check_limit which)
{
  return limits[which].name;
}

/* Where it is more: that much, which a signed number can be, too. */
#define MOST (SIZE_MAX / 2)

static size_t
times(size_t a, size_t b)
{
  size_t y;

  return __builtin_mul_overflow(a, b, &y) || y > MOST ? MOST : y;
}

static size_t
plus(size_t a, size_t b)
{
  return a > MOST - b ? MOST : a + b;
}

size_t
clarke_check_limit_default(clarke_check_limit which, size_t bytes)
{
  const size_t more = bytes > CLARKE_LIMIT_BYTES ? bytes - CLARKE_LIMIT_BYTES : 0;

  return plus(limits[which].standard, times(limits[which].growth, more));
}

/* A limit that was given here may have been needed here, and then it is there. */
void
clarke_check_needs_begin(clarke_check_needs *c, size_t bytes)
{
  memset(c, 0, sizeof *c);
  c->bytes = bytes;
  for (size_t i = 0; i < CLARKE_N_CHECK_LIMITS; i++)
    if (limits[i].ours != CLARKE_N_LIMITS)
      c->needs[i] = clarke_limit_given(limits[i].ours);
}

bool
clarke_check_needs_more(const clarke_check_needs *c, clarke_check_limit which)
{
  return c->needs[which] > clarke_check_limit_default(which, c->bytes);
}

/* --- what the outputs are made of --- */

typedef struct {
  size_t instructions, arguments;
  size_t depends; /* pairs of an instruction and an entry on which it may depend, at most */
} extent;

/* What the library reads with a constant in one LINEAR is in the checker an instruction of two arguments, and the constant another
 * one. (Of a minus sign that is one too many.) */
static void
add_constants(extent *e, const clarke_instruction *i)
{
  if (i->kind != CLARKE_DO_LINEAR || (i->n_in != 1 && mpq_sgn(i->coef[i->n_in]) == 0))
    return;
  e->instructions++;
  e->arguments++;
}

/* By instruction: is an output made of it? */
static void
mark_needed(bool *needed, extent *e, const clarke_code *p, bool text)
{
  for (size_t o = 0; o < p->n_outputs; o++)
    needed[p->output[o]] = true;
  for (size_t i = p->n; i-- > 0;)
    if (needed[i]) {
      e->instructions++;
      e->arguments += p->instruction[i].n_in;
      if (text)
        add_constants(e, &p->instruction[i]);
      for (size_t k = 0; k < p->instruction[i].n_in; k++)
        needed[p->instruction[i].in[k]] = true;
    }
}

/* Sets of entries, 64 in a word: more of them than that are not made. */
#define MOST_WORDS ((size_t)1 << 23)

static size_t
count_dependences(uint64_t *set, const bool *needed, const clarke_code *p, size_t words)
{
  size_t n = 0;

  for (size_t i = 0; i < p->n; i++) {
    const size_t entry = clarke_code_wrt_entry(p, i);

    if (!needed[i])
      continue;
    if (entry != CLARKE_NONE)
      set[i * words + entry / 64] |= (uint64_t)1 << entry % 64;
    for (size_t k = 0; k < p->instruction[i].n_in; k++)
      for (size_t w = 0; w < words; w++)
        set[i * words + w] |= set[p->instruction[i].in[k] * words + w];
    for (size_t w = 0; w < words; w++)
      n += (size_t)__builtin_popcountll(set[i * words + w]);
  }
  return n;
}

/* Where memory is short, everything is needed, and depends on everything. */
static extent
measure(const clarke_code *p, size_t n, bool text)
{
  const size_t words = (clarke_code_wrt_count(p) + 63) / 64;
  extent e = {0};
  bool *needed = calloc(p->n + 1, sizeof *needed);
  uint64_t *set = NULL;

  if (needed != NULL)
    mark_needed(needed, &e, p, text);
  else
    e = (extent){ .instructions = p->n, .arguments = p->arguments };
  e.depends = times(e.instructions, n);
  if (needed != NULL && n > 1 && times(p->n + p->arguments, words) <= MOST_WORDS)
    set = calloc(p->n * words + 1, sizeof *set);
  if (set != NULL)
    e.depends = count_dependences(set, needed, p, words);
  free(set);
  free(needed);
  return e;
}

/* --- needs --- */

/* Bytes, of a check by a C library whose smallest block is 32 bytes, as of small numbers: an instruction; an argument with its
 * coefficient; an interval that is 0, and what it has besides when it is not; a form's integer likewise. */
enum { OF_INSTRUCTION = 256, OF_ARGUMENT = 104, OF_ZERO = 128, OF_NONZERO = 64, OF_INTEGER = 16, OF_NUMBER = 32 };

static void
need(clarke_check_needs *c, const extent *e, size_t counted, size_t stored, size_t nonzero, size_t n)
{
  const size_t program = plus(times(e->instructions, OF_INSTRUCTION), times(e->arguments, OF_ARGUMENT));
  const size_t entries = plus(times(times(e->instructions, n + 1), stored), times(e->depends, nonzero));

  c->needs[CLARKE_CHECK_GRADIENTS] = times(counted, n + 1);
  c->needs[CLARKE_CHECK_MEMORY] = plus(plus(program, entries), c->bytes);
}

void
clarke_check_needs_to_follow(clarke_check_needs *c, const clarke_code *p, size_t n, bool text)
{
  const extent e = measure(p, n, text);

  need(c, &e, plus(e.instructions, e.arguments), OF_ZERO, OF_NONZERO, n);
}

void
clarke_check_needs_forms(clarke_check_needs *c, const clarke_code *p, size_t n, bool text)
{
  const extent e = measure(p, n, text);

  need(c, &e, e.instructions, OF_INTEGER, OF_NUMBER, n);
}

/* --- networks --- */

/* Bits: of a stored number, with its exponent; of an end of an interval. Bytes: of an entry, or of a stored number, beside its bits; of the
 * program itself. */
enum { OF_STORED = 64, OF_END = 512, OF_ENTRY = 128, OF_FILE_NUMBER = 160, OF_CHECKER = 8 << 20 };

static double
most_bits(const double *bits, const clarke_step *s)
{
  double most = 0;

  for (size_t k = 0; k < s->n_in; k++)
    most = fmax(most, bits[s->in[k].value]);
  return most;
}

static bool
is_curved(const clarke_pieces *p)
{
  for (size_t i = 0; i <= p->n_kinks; i++)
    if (mpq_sgn(p->coef[i][2]) != 0)
      return true;
  return false;
}

/* How long an exact number of a step's output is, at most, when those of what it reads are. */
static double
bits_of_sum(const double *bits, const clarke_step *s)
{
  return most_bits(bits, s) + log2((double)s->n_in) + 1;
}

static double
bits_of_scale(const double *bits, const clarke_step *s)
{
  return s->root ? fmax(most_bits(bits, s), OF_END) : most_bits(bits, s) + bits[s->in[1].value];
}

static double
bits_of_dense(const double *bits, const clarke_step *s)
{
  return most_bits(bits, s) + OF_STORED + log2((double)s->dense.inner) + 1;
}

static double
bits_of_piecewise(const double *bits, const clarke_step *s)
{
  return (is_curved(&s->pieces) ? 2 : 1) * most_bits(bits, s) + OF_STORED;
}

static double
bits_of_product(const double *bits, const clarke_step *s)
{
  return bits[s->in[0].value] + bits[s->in[1].value] + log2((double)s->contraction.inner) + 1;
}

/* The others' outputs, and what is behind them, are enclosures. */
static double (*const bits_of_kind[CLARKE_STEP_KINDS])(const double *bits, const clarke_step *s) = {
  [CLARKE_GATHER] = most_bits, [CLARKE_MAX] = most_bits, [CLARKE_SUM] = bits_of_sum, [CLARKE_SCALE] = bits_of_scale,
  [CLARKE_DENSE] = bits_of_dense, [CLARKE_PIECEWISE] = bits_of_piecewise, [CLARKE_PRODUCT] = bits_of_product,
};

/* How long an enclosure's ends are. */
static double
bits_behind(const double *bits, const clarke_step *s)
{
  return bits_of_kind[s->kind] != NULL ? bits_of_kind[s->kind](bits, s) : OF_END;
}

/* Where numbers are much longer the checker keeps enclosures. */
#define MOST_BITS 16384.0

/* What a value takes. What only moves entries is in the checker a table of places, once for all samples. */
static double
of_value(const clarke_graph *g, size_t v, double bits)
{
  const clarke_value *value = &g->values[v];
  const bool moved = value->producer != CLARKE_NONE && g->steps[value->producer].kind == CLARKE_GATHER;

  if (value->constant || moved)
    return (double)value->count * OF_FILE_NUMBER;
  return (double)value->count * (double)g->samples * (OF_ENTRY + bits / 4); /* two integers of an end */
}

static size_t
of_values(const clarke_graph *g)
{
  double *bits = calloc(g->n_values + 1, sizeof *bits), all = 0;

  if (bits == NULL)
    return times(g->activations, OF_ENTRY + OF_END);
  for (size_t v = 0; v < g->n_values; v++)
    bits[v] = OF_STORED;
  for (size_t i = 0; i < g->n_steps; i++)
    bits[g->steps[i].out] = fmin(bits_behind(bits, &g->steps[i]), MOST_BITS);
  for (size_t v = 0; v < g->n_values; v++)
    all += of_value(g, v, bits[v]);
  free(bits);
  return all < (double)MOST ? (size_t)all : MOST;
}

void
clarke_check_needs_network(clarke_check_needs *c, const clarke_graph *g)
{
  c->needs[CLARKE_CHECK_MEMORY] = plus(plus(of_values(g), OF_CHECKER), c->bytes);
}

/* A number of two bytes is three integers: as it is stored, in the unit of all, and what it is beside. */
#define OF_TENSORS 256

void
clarke_check_needs_record(clarke_check_needs *c, const clarke_graph *g, size_t tensors)
{
  clarke_check_needs_network(c, g);
  c->needs[CLARKE_CHECK_MEMORY] = plus(c->needs[CLARKE_CHECK_MEMORY], times(tensors, OF_TENSORS));
}
