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

typedef struct {
  program prog;
  forms form; /* of t */
  size_t n_entries;
  choice *here, *before; /* by instruction: on this piece, on the one before */
  rational from, to;     /* the ends of this piece */
  integer row[2];        /* a form: of t, and the constant */
} segment;

/* ---- Signs on a piece */

static int
sign_at(segment *s, const rational *t)
{
  INTEGER(value);
  mpz_mul(&value, &s->row[0], mpq_numref(t));
  mpz_addmul(&value, &s->row[1], mpq_denref(t));
  return mpz_sgn(&value);
}

/* The sign of the row all over the open piece: 0 where it is 0 all over. */
static signed char
sign_between(segment *s, size_t at)
{
  int left = sign_at(s, &s->from), right = sign_at(s, &s->to);
  require(left * right >= 0, "the pattern changes within the piece, at instruction %zu", at);
  return (signed char)(left != 0 ? left : right);
}

static void
follow_pointwise(segment *s, size_t at)
{
  size_t piece = 0;
  for (size_t k = 0; k < s->prog.instructions[at].pieces->n_kinks; k++) {
    if (!form_is_kink(&s->form, at, k))
      continue;
    form_less_kink(&s->form, s->row, at, k);
    s->here[at].side[k] = sign_between(s, at);
    if (s->here[at].side[k] > 0)
      piece = k + 1;
  }
  form_set(&s->form, at, piece);
}

/* The entry that wins in the middle, the first of equal ones, is so all over the piece, or the process ends. */
static void
follow_maximum(segment *s, size_t at)
{
  size_t n = s->prog.instructions[at].n, winner = 0;
  RATIONAL(middle);
  mpq_add(&middle, &s->from, &s->to);
  mpq_div_2exp(&middle, &middle, 1);
  for (size_t a = 1; a < n; a++) {
    form_difference(&s->form, s->row, at, a, winner);
    if (sign_at(s, &middle) > 0)
      winner = a;
  }
  for (size_t a = 0; a < n; a++) {
    form_difference(&s->form, s->row, at, winner, a);
    require(sign_between(s, at) >= 0, "the pattern changes within the piece, at instruction %zu", at);
  }
  s->here[at].winner = winner;
  form_set(&s->form, at, winner);
}

static bool
same_choice(const choice *a, const choice *b)
{
  return a->side[0] == b->side[0] && a->side[1] == b->side[1] && a->winner == b->winner;
}

/* The forms on the piece, and its pattern; whether that is another one than the one before. */
static bool
follow_piece(segment *s)
{
  bool changes = false;
  choice *last = s->before;
  s->before = s->here;
  s->here = last;
  for (size_t at = 0; at < s->prog.n; at++) {
    if (!form_needed(&s->form, at))
      continue;
    if (s->prog.instructions[at].kind == A_POINTWISE)
      follow_pointwise(s, at);
    else if (s->prog.instructions[at].kind == AN_ORDER)
      follow_maximum(s, at);
    else
      form_set(&s->form, at, 0);
    changes = changes || !same_choice(&s->here[at], &s->before[at]);
  }
  return changes;
}

/* ---- Outputs */

/* The derivative of output o on the piece; and its value at t. */
static void
output_slope(segment *s, rational *q, size_t o)
{
  mpz_set(mpq_numref(q), &form_of(&s->form, s->prog.outputs[o])[0]);
  mpz_set(mpq_denref(q), form_denominator(&s->form, s->prog.outputs[o]));
  mpq_canonicalize(q);
}

static void
output_value(segment *s, rational *q, size_t o, const rational *t)
{
  RATIONAL(constant);
  output_slope(s, q, o);
  mpq_mul(q, q, t);
  mpz_set(mpq_numref(&constant), &form_of(&s->form, s->prog.outputs[o])[1]);
  mpz_set(mpq_denref(&constant), form_denominator(&s->form, s->prog.outputs[o]));
  mpq_canonicalize(&constant);
  mpq_add(q, q, &constant);
}

/* The piece's derivatives are those stated; what they add, and a line of the account. */
static void
check_slopes(segment *s, rational *rise)
{
  RATIONAL(said);
  RATIONAL(q);
  RATIONAL(width);
  mpq_sub(&width, &s->to, &s->from);
  gmp_fprintf(account, "  from %Qd to %Qd: the derivative is", &s->from, &s->to);
  for (size_t o = 0; o < s->prog.n_outputs; o++) {
    next_rational(&said);
    output_slope(s, &q, o);
    require(mpq_equal(&said, &q), "the derivative of output %zu on the piece is another", o);
    gmp_fprintf(account, " %Qd", &q);
    mpq_mul(&q, &q, &width);
    mpq_add(&rise[o], &rise[o], &q);
  }
  fputs(", F(x(t)) begins at", account);
  for (size_t o = 0; o < s->prog.n_outputs; o++) {
    output_value(s, &q, o, &s->from);
    gmp_fprintf(account, " %Qd", &q);
  }
  fputs("\n", account);
}

/* sum += sign * F at t, which is an end of the piece at hand. */
static void
add_values(segment *s, rational *sum, int sign, const rational *t)
{
  RATIONAL(value);
  for (size_t o = 0; o < s->prog.n_outputs; o++) {
    output_value(s, &value, o, t);
    (sign > 0 ? mpq_add : mpq_sub)(&sum[o], &sum[o], &value);
  }
}

/* ---- The statement */

/* The lines `from` and `to`: an input's entry is that of A and, times t, what that of B is more. */
static void
read_ends(segment *s)
{
  bool apart = false;
  next_line("from");
  fputs("A:", account);
  for (size_t e = 0; e < s->n_entries; e++) {
    next_rational(region_function_entry(&s->prog, e)->c);
    gmp_fprintf(account, " %Qd", region_function_entry(&s->prog, e)->c);
  }
  next_line("to");
  fputs("\nB:", account);
  for (size_t e = 0; e < s->n_entries; e++) {
    instruction *i = region_function_entry(&s->prog, e);
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
check_piece(segment *s, size_t k, size_t n, rational *rise)
{
  next_line("piece");
  next_rational(&s->to);
  require(mpq_cmp(&s->from, &s->to) < 0 && mpq_cmp(&s->to, &plus_one) <= 0,
          "an end after the one before, and up to 1, is expected");
  require(mpq_equal(&s->to, &plus_one) == (k + 1 == n), "the last piece ends at 1, and no other does");
  bool changes = follow_piece(s);
  require(k == 0 || changes, "the pattern is that of the piece before");
  check_slopes(s, rise);
}

/* All pieces, and the line `integral`. */
static void
check_pieces(segment *s, size_t n, const rational *integral)
{
  rational *rise = rationals(s->prog.n_outputs), *difference = rationals(s->prog.n_outputs);
  for (size_t k = 0; k < n; k++) {
    check_piece(s, k, n, rise);
    if (k == 0)
      add_values(s, difference, -1, &zero);
    mpq_set(&s->from, &s->to);
  }
  add_values(s, difference, 1, &plus_one);
  for (size_t o = 0; o < s->prog.n_outputs; o++)
    require(mpq_equal(&rise[o], &integral[o]) && mpq_equal(&difference[o], &integral[o]),
            "the integral of output %zu is another", o);
  rationals_free(rise, s->prog.n_outputs);
  rationals_free(difference, s->prog.n_outputs);
}

static void
begin(segment *s, program *of, bool parameters)
{
  s->from = rational_zero();
  s->to = rational_zero();
  s->row[0] = integer_zero();
  s->row[1] = integer_zero();
  what_varies varies;
  s->n_entries = region_function_read(of, parameters, &varies);
  s->prog = *of;
  fputs("Segment: x(t) = A + t (B - A), for t from 0 to 1\n", account);
  read_ends(s);
  forms_begin(&s->form, &s->prog, 1);
  s->here = allocate(s->prog.n, sizeof *s->here);
  s->before = allocate(s->prog.n, sizeof *s->before);
}

void
check_segment(program *of, bool parameters)
{
  segment all = {0}, *s = &all;
  begin(s, of, parameters);
  next_line("pieces");
  size_t n = next_number();
  require(n >= 1, "a segment has at least one piece");
  next_line("integral");
  rational *integral = rationals(s->prog.n_outputs);
  for (size_t o = 0; o < s->prog.n_outputs; o++)
    next_rational(&integral[o]);
  fprintf(account,
          "Between A and B the activation pattern changes at exactly %zu point%s: the side of a kink that F depends "
          "on, or\n"
          "the entry that a maximum or minimum takes. So there %s %zu piece%s, and on each F(x(t)) is affine:\n",
          n - 1, n == 2 ? "" : "s", n == 1 ? "is" : "are", n, n == 1 ? "" : "s");
  check_pieces(s, n, integral);
  last_line();
  fputs(
      "For all t but finitely many, <B - A, G> is the derivative there, for each vector G that AD can return at x(t),\n"
      "whatever its numbers at kinks (and, of a tie, weights whose sum is 1). Its integral, which is F(B) - F(A):",
      account);
  for (size_t o = 0; o < s->prog.n_outputs; o++)
    gmp_fprintf(account, " %Qd", &integral[o]);
  printf("VERIFIED\n%s\nSemantics: real arithmetic, every number taken exactly.\n", account_text());
}
