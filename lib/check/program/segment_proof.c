/* Proofs about a segment (docs/proof-format.md, "Segments"): between A and B the pattern changes here and here, and nowhere else.
 *
 * The segment's one variable is t. Each piece is followed from the inputs to the outputs: a kink's argument is an affine form of
 * t, whose sign on the piece its values at both ends tell. */
#include "check/program/segment_proof.h"
#include "check/base/allocate.h"
#include "check/program/forms.h"
#include "check/base/lines.h"
#include "check/program/region_function.h"

#include <stdlib.h>
#include <string.h>

/* What a piece's pattern says of an instruction: of a kink on which side its argument is, 0 where it is constant there; of a
 * maximum or minimum the entry that it takes. */
typedef struct {
  signed char side[2];
  size_t winner;
} choice;

static program prog;
static size_t n_entries;
static choice *here, *before; /* by instruction: on this piece, on the one before */
static rational from, to;     /* the ends of this piece */
static integer row[2];        /* a form: of t, and the constant */

/* ---- Signs on a piece */

static int
sign_at(const rational *t)
{
  INTEGER(value);
  mpz_mul(&value, &row[0], mpq_numref(t));
  mpz_addmul(&value, &row[1], mpq_denref(t));
  return mpz_sgn(&value);
}

/* The sign of the row all over the open piece: 0 where it is 0 all over. */
static signed char
sign_between(size_t at)
{
  int left = sign_at(&from), right = sign_at(&to);
  require(left * right >= 0, "the pattern changes within the piece, at instruction %zu", at);
  return (signed char)(left != 0 ? left : right);
}

static void
follow_pointwise(size_t at)
{
  size_t piece = 0;
  for (size_t k = 0; k < prog.instructions[at].pieces->n_kinks; k++) {
    if (!form_is_kink(at, k))
      continue;
    form_less_kink(row, at, k);
    here[at].side[k] = sign_between(at);
    if (here[at].side[k] > 0)
      piece = k + 1;
  }
  form_set(at, piece);
}

/* The entry that wins in the middle, the first of equal ones, is so all over the piece, or the process ends. */
static void
follow_maximum(size_t at)
{
  size_t n = prog.instructions[at].n, winner = 0;
  RATIONAL(middle);
  mpq_add(&middle, &from, &to);
  mpq_div_2exp(&middle, &middle, 1);
  for (size_t a = 1; a < n; a++) {
    form_difference(row, at, a, winner);
    if (sign_at(&middle) > 0)
      winner = a;
  }
  for (size_t a = 0; a < n; a++) {
    form_difference(row, at, winner, a);
    require(sign_between(at) >= 0, "the pattern changes within the piece, at instruction %zu", at);
  }
  here[at].winner = winner;
  form_set(at, winner);
}

static bool
same_choice(const choice *a, const choice *b)
{
  return a->side[0] == b->side[0] && a->side[1] == b->side[1] && a->winner == b->winner;
}

/* The forms on the piece, and its pattern; whether that is another one than the one before. */
static bool
follow_piece(void)
{
  bool changes = false;
  choice *last = before;
  before = here;
  here = last;
  for (size_t at = 0; at < prog.n; at++) {
    if (!form_needed(at))
      continue;
    if (prog.instructions[at].kind == A_POINTWISE)
      follow_pointwise(at);
    else if (prog.instructions[at].kind == AN_ORDER)
      follow_maximum(at);
    else
      form_set(at, 0);
    changes = changes || !same_choice(&here[at], &before[at]);
  }
  return changes;
}

/* ---- Outputs */

/* The derivative of output o on the piece; and its value at t. */
static void
output_slope(rational *q, size_t o)
{
  mpz_set(mpq_numref(q), &form_of(prog.outputs[o])[0]);
  mpz_set(mpq_denref(q), form_denominator(prog.outputs[o]));
  mpq_canonicalize(q);
}

static void
output_value(rational *q, size_t o, const rational *t)
{
  RATIONAL(constant);
  output_slope(q, o);
  mpq_mul(q, q, t);
  mpz_set(mpq_numref(&constant), &form_of(prog.outputs[o])[1]);
  mpz_set(mpq_denref(&constant), form_denominator(prog.outputs[o]));
  mpq_canonicalize(&constant);
  mpq_add(q, q, &constant);
}

/* The piece's derivatives are those stated; what they add, and a line of the account. */
static void
check_slopes(rational *rise)
{
  RATIONAL(said);
  RATIONAL(q);
  RATIONAL(width);
  mpq_sub(&width, &to, &from);
  gmp_fprintf(account, "  from %Qd to %Qd: the derivative is", &from, &to);
  for (size_t o = 0; o < prog.n_outputs; o++) {
    next_rational(&said);
    output_slope(&q, o);
    require(mpq_equal(&said, &q), "the derivative of output %zu on the piece is another", o);
    gmp_fprintf(account, " %Qd", &q);
    mpq_mul(&q, &q, &width);
    mpq_add(&rise[o], &rise[o], &q);
  }
  fputs(", F(x(t)) begins at", account);
  for (size_t o = 0; o < prog.n_outputs; o++) {
    output_value(&q, o, &from);
    gmp_fprintf(account, " %Qd", &q);
  }
  fputs("\n", account);
}

/* sum += sign * F at t, which is an end of the piece at hand. */
static void
add_values(rational *sum, int sign, const rational *t)
{
  RATIONAL(value);
  for (size_t o = 0; o < prog.n_outputs; o++) {
    output_value(&value, o, t);
    (sign > 0 ? mpq_add : mpq_sub)(&sum[o], &sum[o], &value);
  }
}

/* ---- The statement */

/* The lines `from` and `to`: an input's entry is that of A and, times t, what that of B is more. */
static void
read_ends(void)
{
  bool apart = false;
  next_line("from");
  fputs("A:", account);
  for (size_t e = 0; e < n_entries; e++) {
    next_rational(region_function_entry(&prog, e)->c);
    gmp_fprintf(account, " %Qd", region_function_entry(&prog, e)->c);
  }
  next_line("to");
  fputs("\nB:", account);
  for (size_t e = 0; e < n_entries; e++) {
    instruction *i = region_function_entry(&prog, e);
    next_rational(&i->c[1]);
    gmp_fprintf(account, " %Qd", &i->c[1]);
    mpq_sub(&i->c[1], &i->c[1], i->c);
    i->entry = 0;
    apart = apart || mpq_sgn(&i->c[1]) != 0;
  }
  fputs("\n", account);
  require(apart, "A and B are one point");
}

/* `piece T SLOPE ...`: from the one before to T. rise += its length times the slopes. */
static void
check_piece(size_t k, size_t n, rational *rise)
{
  next_line("piece");
  next_rational(&to);
  require(mpq_cmp(&from, &to) < 0 && mpq_cmp(&to, &plus_one) <= 0,
          "an end after the one before, and up to 1, is expected");
  require(mpq_equal(&to, &plus_one) == (k + 1 == n), "the last piece ends at 1, and no other does");
  bool changes = follow_piece();
  require(k == 0 || changes, "the pattern is that of the piece before");
  check_slopes(rise);
}

/* All pieces, and the line `integral`. */
static void
check_pieces(size_t n, const rational *integral)
{
  rational *rise = rationals(prog.n_outputs), *difference = rationals(prog.n_outputs);
  for (size_t k = 0; k < n; k++) {
    check_piece(k, n, rise);
    if (k == 0)
      add_values(difference, -1, &zero);
    mpq_set(&from, &to);
  }
  add_values(difference, 1, &plus_one);
  for (size_t o = 0; o < prog.n_outputs; o++)
    require(mpq_equal(&rise[o], &integral[o]) && mpq_equal(&difference[o], &integral[o]),
            "the integral of output %zu is another", o);
  rationals_free(rise, prog.n_outputs);
  rationals_free(difference, prog.n_outputs);
}

static void
begin(program *of, bool parameters)
{
  from = rational_zero();
  to = rational_zero();
  row[0] = integer_zero();
  row[1] = integer_zero();
  what_varies varies;
  n_entries = region_function_read(of, parameters, &varies);
  prog = *of;
  fputs("Segment: x(t) = A + t (B - A), for t from 0 to 1\n", account);
  read_ends();
  forms_begin(&prog, 1);
  here = allocate(prog.n, sizeof *here);
  before = allocate(prog.n, sizeof *before);
}

void
check_segment(program *of, bool parameters)
{
  begin(of, parameters);
  next_line("pieces");
  size_t n = next_number();
  require(n >= 1, "a segment has at least one piece");
  next_line("integral");
  rational *integral = rationals(prog.n_outputs);
  for (size_t o = 0; o < prog.n_outputs; o++)
    next_rational(&integral[o]);
  fprintf(account,
          "Between A and B the activation pattern changes at exactly %zu point%s: the side of a kink that F depends "
          "on, or\n"
          "the entry that a maximum or minimum takes. So there %s %zu piece%s, and on each F(x(t)) is affine:\n",
          n - 1, n == 2 ? "" : "s", n == 1 ? "is" : "are", n, n == 1 ? "" : "s");
  check_pieces(n, integral);
  last_line();
  fputs(
      "For all t but finitely many, <B - A, G> is the derivative there, for each vector G that AD can return at x(t),\n"
      "whatever its numbers at kinks (and, of a tie, weights whose sum is 1). Its integral, which is F(B) - F(A):",
      account);
  for (size_t o = 0; o < prog.n_outputs; o++)
    gmp_fprintf(account, " %Qd", &integral[o]);
  printf("VERIFIED\n%s\nSemantics: real arithmetic, every number taken exactly.\n", account_text());
}
