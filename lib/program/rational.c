#include "program/rational.h"

#include "base/stop.h"

#include <flint/fmpq_mpoly.h>
#include <flint/fmpz_mpoly.h>
#include <stdlib.h>

/* above / below, of which below is not 0; known: it is followed. */
typedef struct {
  bool known;
  fmpq_mpoly_t above, below;
} quotient;

typedef struct {
  const clarke_code *p;
  fmpq_mpoly_ctx_t ring; /* a variable for each entry of the inputs */
  quotient *value;       /* of each instruction */
  bool polynomials;      /* only these are followed: divisors are numbers */
  size_t words;          /* that all values have, about */
} expansion;

/* --- limits ----------------------------------------------------------------------------------- */

#define MOST_BITS ((size_t)65536)     /* of two coefficients */
#define MOST_WORK ((double)(1 << 24))  /* words of all products of terms, in one multiplication */
#define MOST_WORDS ((size_t)1 << 25)   /* of all values together */

static size_t
bits_of(const fmpq_mpoly_t y)
{
  const slong bits = fmpz_mpoly_max_bits(y->zpoly);

  return (size_t)(bits < 0 ? -bits : bits) + fmpz_bits(fmpq_numref(y->content)) + fmpz_bits(fmpq_denref(y->content));
}

/* What a term has: a byte for each variable's exponent, mostly; and its coefficient. */
static double
words_of_term(size_t bits, const expansion *x)
{
  return 2 + (double)(clarke_code_entries(x->p) / 8) + (double)bits / 64;
}

static size_t
words_of(const quotient *y, const expansion *x)
{
  const double terms = (double)(fmpq_mpoly_length(y->above, x->ring) + fmpq_mpoly_length(y->below, x->ring));

  return (size_t)(terms * words_of_term(bits_of(y->above), x));
}

/* May they be multiplied? Degrees may be high, and factors long. */
static bool
multiplies(const fmpq_mpoly_t a, const fmpq_mpoly_t b, const expansion *x)
{
  const double terms = (double)fmpq_mpoly_length(a, x->ring) * (double)fmpq_mpoly_length(b, x->ring);
  const size_t bits = bits_of(a) + bits_of(b);

  return bits <= MOST_BITS && terms * words_of_term(bits, x) <= MOST_WORK;
}

/* --- values ----------------------------------------------------------------------------------- */

static void
quotient_init(quotient *y, const expansion *x)
{
  y->known = true;
  fmpq_mpoly_init(y->above, x->ring);
  fmpq_mpoly_init(y->below, x->ring);
  fmpq_mpoly_one(y->below, x->ring);
}

static void
quotient_clear(quotient *y, const expansion *x)
{
  fmpq_mpoly_clear(y->above, x->ring);
  fmpq_mpoly_clear(y->below, x->ring);
}

static void
set_rational(fmpq_mpoly_t y, const mpq_t q, const expansion *x)
{
  fmpq_t f;

  fmpq_init(f);
  fmpq_set_mpq(f, q);
  fmpq_mpoly_set_fmpq(y, f, x->ring);
  fmpq_clear(f);
}

/* Cancels what both have in common; keeps what is not too long. (Where FLINT finds no common divisor nothing is cancelled.) */
static void
settle(quotient *y, const expansion *x)
{
  fmpq_mpoly_t common, above, below;

  fmpq_mpoly_init(common, x->ring);
  fmpq_mpoly_init(above, x->ring);
  fmpq_mpoly_init(below, x->ring);
  y->known = y->known && fmpq_mpoly_length(y->above, x->ring) <= CLARKE_RATIONAL_TERMS
             && fmpq_mpoly_length(y->below, x->ring) <= CLARKE_RATIONAL_TERMS;
  if (y->known && !fmpq_mpoly_is_fmpq(y->below, x->ring) && fmpq_mpoly_gcd(common, y->above, y->below, x->ring) && !fmpq_mpoly_is_zero(common, x->ring)
      && fmpq_mpoly_divides(above, y->above, common, x->ring) && fmpq_mpoly_divides(below, y->below, common, x->ring)) {
    fmpq_mpoly_swap(above, y->above, x->ring);
    fmpq_mpoly_swap(below, y->below, x->ring);
  }
  fmpq_mpoly_clear(common, x->ring);
  fmpq_mpoly_clear(above, x->ring);
  fmpq_mpoly_clear(below, x->ring);
}

/* y += q z. */
static void
add(quotient *y, const mpq_t q, const quotient *z, const expansion *x)
{
  fmpq_mpoly_t term;
  fmpq_t f;

  y->known = y->known && z->known && multiplies(z->above, y->below, x) && multiplies(y->above, z->below, x) && multiplies(y->below, z->below, x);
  if (!y->known)
    return;
  fmpq_init(f);
  fmpq_mpoly_init(term, x->ring);
  fmpq_set_mpq(f, q);
  fmpq_mpoly_mul(term, z->above, y->below, x->ring);
  fmpq_mpoly_scalar_mul_fmpq(term, term, f, x->ring);
  fmpq_mpoly_mul(y->above, y->above, z->below, x->ring);
  fmpq_mpoly_add(y->above, y->above, term, x->ring);
  fmpq_mpoly_mul(y->below, y->below, z->below, x->ring);
  fmpq_mpoly_clear(term, x->ring);
  fmpq_clear(f);
  settle(y, x);
}

static void
expand_linear(quotient *y, const clarke_instruction *i, const expansion *x)
{
  set_rational(y->above, i->coef[i->n_in], x);
  for (size_t k = 0; k < i->n_in && y->known; k++)
    add(y, i->coef[k], &x->value[i->in[k]], x);
}

static bool
is_number(const quotient *y, const expansion *x)
{
  return fmpq_mpoly_is_fmpq(y->above, x->ring) && fmpq_mpoly_is_fmpq(y->below, x->ring);
}

/* a b, or a / b. */
static void
expand_product(quotient *y, const quotient *a, const quotient *b, bool divides, const expansion *x)
{
  y->known = a->known && b->known && !(divides && (fmpq_mpoly_is_zero(b->above, x->ring) || (x->polynomials && !is_number(b, x))))
             && multiplies(a->above, divides ? b->below : b->above, x) && multiplies(a->below, divides ? b->above : b->below, x);
  if (!y->known)
    return;
  fmpq_mpoly_mul(y->above, a->above, divides ? b->below : b->above, x->ring);
  fmpq_mpoly_mul(y->below, a->below, divides ? b->above : b->below, x->ring);
  settle(y, x);
}

static void
expand(const expansion *x, size_t at)
{
  const clarke_instruction *i = &x->p->instruction[at];
  quotient *y = &x->value[at];

  switch (i->kind) {
  case CLARKE_DO_INPUT:
    fmpq_mpoly_gen(y->above, (slong)clarke_code_entry(x->p, at), x->ring);
    break;
  case CLARKE_DO_CONSTANT:
    set_rational(y->above, i->coef[0], x);
    break;
  case CLARKE_DO_LINEAR:
    expand_linear(y, i, x);
    break;
  case CLARKE_DO_PRODUCT:
  case CLARKE_DO_QUOTIENT:
    expand_product(y, &x->value[i->in[0]], &x->value[i->in[1]], i->kind == CLARKE_DO_QUOTIENT, x);
    break;
  default:
    y->known = false;
  }
}

/* Expands all instructions, until the values are too many. */
static clarke_status
expand_all(expansion *x, const clarke_code *p, bool polynomials, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  *x = (expansion){.p = p, .polynomials = polynomials, .value = calloc(p->n + 1, sizeof *x->value)};
  if (x->value == NULL)
    return clarke_no_memory(err);
  fmpq_mpoly_ctx_init(x->ring, (slong)clarke_code_entries(p), ORD_DEGREVLEX);
  for (size_t i = 0; i < p->n; i++)
    quotient_init(&x->value[i], x);
  for (size_t i = 0; i < p->n && status == CLARKE_OK; i++) {
    if (x->words <= MOST_WORDS)
      expand(x, i);
    else
      x->value[i].known = false;
    x->words += words_of(&x->value[i], x);
    status = clarke_work_check(err);
  }
  return status;
}

static void
expansion_clear(expansion *x)
{
  if (x->value == NULL)
    return;
  for (size_t i = 0; i < x->p->n; i++)
    quotient_clear(&x->value[i], x);
  fmpq_mpoly_ctx_clear(x->ring);
  free(x->value);
}

/* Are all divisors numbers? (Other than 0: of a division by 0 nothing is known.) */
static bool
divides_by_numbers(const expansion *x)
{
  bool does = true;

  for (size_t i = 0; i < x->p->n && does; i++)
    if (x->p->instruction[i].kind == CLARKE_DO_QUOTIENT) {
      const quotient *below = &x->value[x->p->instruction[i].in[1]];

      does = below->known && is_number(below, x) && !fmpq_mpoly_is_zero(below->above, x->ring);
    }
  return does;
}

/* Multiplied crosswise: neither is in lowest terms for sure. */
static bool
are_equal(const quotient *a, const quotient *b, const expansion *x)
{
  fmpq_mpoly_t left, right;
  bool are;

  fmpq_mpoly_init(left, x->ring);
  fmpq_mpoly_init(right, x->ring);
  fmpq_mpoly_mul(left, a->above, b->below, x->ring);
  fmpq_mpoly_mul(right, b->above, a->below, x->ring);
  are = fmpq_mpoly_equal(left, right, x->ring) != 0;
  fmpq_mpoly_clear(left, x->ring);
  fmpq_mpoly_clear(right, x->ring);
  return are;
}

clarke_status
clarke_code_agrees(clarke_truth *answer, const clarke_code *p, size_t a, size_t b, clarke_error *err)
{
  expansion x;
  clarke_status status = expand_all(&x, p, true, err);

  *answer = CLARKE_UNKNOWN;
  if (status == CLARKE_OK && divides_by_numbers(&x) && x.value[a].known && x.value[b].known && multiplies(x.value[a].above, x.value[b].below, &x)
      && multiplies(x.value[b].above, x.value[a].below, &x))
    *answer = are_equal(&x.value[a], &x.value[b], &x) ? CLARKE_YES : CLARKE_NO;
  expansion_clear(&x);
  return status;
}

clarke_status
clarke_code_vanishes(clarke_truth *answer, const clarke_code *p, clarke_error *err)
{
  expansion x;
  clarke_status status = expand_all(&x, p, false, err);
  bool known = status == CLARKE_OK, vanishes = true;

  if (x.value == NULL)
    return status;
  for (size_t o = 0; o < p->n_outputs; o++) {
    known = known && x.value[p->output[o]].known;
    vanishes = vanishes && fmpq_mpoly_is_zero(x.value[p->output[o]].above, x.ring);
  }
  *answer = !known ? CLARKE_UNKNOWN : vanishes ? CLARKE_YES : CLARKE_NO;
  expansion_clear(&x);
  return status;
}
