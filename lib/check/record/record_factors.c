/* Factors that were rounded before they were multiplied, as run.json says it (docs/proof-format.md, "Narrow factors"). */
#include "check/base/allocate.h"
#include "check/base/lines.h"
#include "check/files/json.h"
#include "check/record/record.h"

#include <stdlib.h>
#include <string.h>

/* The kinds of operators that have factors of their own; what run.json and proofs call them. */
enum { CONV, MATMUL, KINDS };
static const char *const kinds[] = {[CONV] = "conv", [MATMUL] = "matmul"};

static const char *const operators[] = {"Einsum", "GRU", "Gemm", "LSTM", "MatMul", "RNN"};

/* Does the node multiply matrices, or windows by kernels? */
static size_t
kind_of(const char *op)
{
  if (strcmp(op, "Conv") == 0 || strcmp(op, "ConvTranspose") == 0)
    return CONV;
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
    if (strcmp(op, operators[i]) == 0)
      return MATMUL;
  return KINDS;
}

/* What run.json calls a type of narrow factors: the bits that it keeps. 0: none of these. */
static unsigned long
bits_of(const char *word)
{
  return strcmp(word, "bf16") == 0 ? 8 : strcmp(word, "tf32") == 0 ? 11 : 0;
}

/* flags.precision.cpu: numbers of a CPU, whose sums are float32. */
static bytes
read_precision(bytes run)
{
  char *device = json_text(json_member(json_member(run, "device"), "type"));
  require(strcmp(device, "cpu") == 0, "run.json tells of a device whose sums are not known to be of float32");
  free(device);
  return json_member(json_member(json_member(run, "flags"), "precision"), "cpu");
}

/* Behind `factors KIND`: each factor is off by so much of itself at most, as the run's word says. */
static void
read_kind(record *r, size_t k, bytes precision)
{
  RATIONAL(f);
  RATIONAL(told);
  char *word = json_text(json_member(precision, kinds[k]));
  unsigned long bits = bits_of(word);
  next_rational(&f);
  mpq_set_ui(&told, 1, 1);
  mpq_div_2exp(&told, &told, bits);
  require(bits > 0 && mpq_equal(&f, &told), "run.json says '%s' of %s: that is not what the line says", word, kinds[k]);
  r->narrow[k] = ((2ul << bits) + 1) << (NARROW_BITS - 2 * bits); /* f (2 + f) */
  gmp_fprintf(account, "  each float32 factor of %s is rounded, by %Qd of itself at most, before it is multiplied\n",
              k == CONV ? "convolutions" : "matrix products", &f);
  free(word);
}

void
record_factors(record *r, const char *folder)
{
  if (!line_is("run"))
    return;
  require(word_is("run.json"), "'run.json' is expected");
  bytes precision = read_precision(next_file(folder, "Run"));
  bool more = line_is("factors");
  require(more, "'factors' is expected");
  for (size_t k = 0; k < KINDS && more; k++) {
    if (!word_is(kinds[k]))
      continue;
    next_word();
    read_kind(r, k, precision);
    more = line_is("factors");
  }
  require(!more, "conv is expected, then matmul, each at most once");
}

unsigned long
record_narrow(const record *r, const step *st, size_t type)
{
  bool any = (r->narrow[CONV] > 0 || r->narrow[MATMUL] > 0) && type == FLOAT;
  size_t k = any && (st->kind == LINEAR || st->kind == PRODUCT) ? kind_of(st->op) : KINDS;
  return k < KINDS ? r->narrow[k] : 0;
}

unsigned long
record_narrow_term(unsigned long narrow, const factor *w, source x, bool back)
{
  return w->w != NULL && (back || x.step < PADDING) ? narrow : 0;
}
