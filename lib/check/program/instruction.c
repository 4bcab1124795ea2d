#include "check/program/instruction.h"
#include "check/base/allocate.h"
#include "check/base/limit.h"
#include "check/program/program_text.h"

#include <stdlib.h>
#include <string.h>

static const kinked kink_table[N_KINKED] = {{.name = "Abs", .n_kinks = 1},
                                            {.name = "Clamp", .n_kinks = 2},
                                            {.name = "Clip", .n_kinks = 2},
                                            {.name = "Elu", .n_kinks = 1},
                                            {.name = "GlobalMaxPool"},
                                            {.name = "HardSigmoid", .n_kinks = 2},
                                            {.name = "HardSwish", .n_kinks = 2},
                                            {.name = "Kth"},
                                            {.name = "LeakyRelu", .n_kinks = 1},
                                            {.name = "Max"},
                                            {.name = "MaxPool"},
                                            {.name = "Maximum"},
                                            {.name = "Median"},
                                            {.name = "Min"},
                                            {.name = "Minimum"},
                                            {.name = "PRelu", .n_kinks = 1},
                                            {.name = "ReduceMax"},
                                            {.name = "ReduceMin"},
                                            {.name = "Relu", .n_kinks = 1},
                                            {.name = "SharedMax"},
                                            {.name = "SharedMin"},
                                            {.name = "Sort"},
                                            {.name = "Sorted", .first_alone = true},
                                            {.name = "TopK", .first_alone = true}};

/* The functions that a program may call. The pointwise ones have the numbers a and b that a call gives or may leave out, then
 * kinks, then three coefficients a piece. */
static const callable functions[] = {
    {"exp", NULL, AN_ANALYTIC, 0, 0, {0}, NULL},
    {"log", NULL, AN_ANALYTIC, 0, 0, {0}, NULL},
    {"sqrt", NULL, AN_ANALYTIC, 0, 0, {0}, NULL},
    {"sin", NULL, AN_ANALYTIC, 0, 0, {0}, NULL},
    {"cos", NULL, AN_ANALYTIC, 0, 0, {0}, NULL},
    {"tanh", NULL, AN_ANALYTIC, 0, 0, {0}, NULL},
    {"sigmoid", NULL, AN_ANALYTIC, 0, 0, {0}, NULL},
    {"erf", NULL, AN_ANALYTIC, 0, 0, {0}, NULL},
    {"atan", NULL, AN_ANALYTIC, 0, 0, {0}, NULL},
    {"relu", "Relu", A_POINTWISE, 0, 0, {0}, "0 0 0 0 0 1 0"},
    {"leaky_relu", "LeakyRelu", A_POINTWISE, 0, 1, {"1/100"}, "0 0 a 0 0 1 0"},
    {"relu6", "Clip", A_POINTWISE, 0, 0, {"0", "6"}, "a b a 0 0 0 1 0 b 0 0"},
    {"hardtanh", "Clip", A_POINTWISE, 0, 2, {"-1", "1"}, "a b a 0 0 0 1 0 b 0 0"},
    {"clamp", "Clamp", A_POINTWISE, 2, 2, {"0", "0"}, "a b a 0 0 0 1 0 b 0 0"},
    {"hardsigmoid", "HardSigmoid", A_POINTWISE, 0, 0, {0}, "-3 3 0 0 0 1/2 1/6 0 1 0 0"},
    {"hardswish", "HardSwish", A_POINTWISE, 0, 0, {0}, "-3 3 0 0 0 0 1/2 1/6 0 1 0"},
    {"abs", "Abs", A_POINTWISE, 0, 0, {0}, "0 0 -1 0 0 1 0"},
    {"elu", "Elu", A_POINTWISE, 0, 1, {"1"}, "0 0 a 0 0 1 0"},
    {"max", "Max", AN_ORDER, 0, 0, {0}, NULL},
    {"maxpool", "MaxPool", AN_ORDER, 0, 0, {0}, NULL},
    {"min", "Min", AN_ORDER, 0, 0, {0}, NULL},
    {"kth", "Kth", AN_ORDER, 0, 0, {0}, NULL},
    {"median", "Median", AN_ORDER, 0, 0, {0}, NULL},
    {"sort", "Sort", AN_ORDER, 0, 0, {0}, NULL},
    {"norminf", "Max", AN_ORDER, 0, 0, {0}, NULL},
    {"norm1", NULL, A_SUM, 0, 0, {0}, NULL},
    {"sum", NULL, A_SUM, 0, 0, {0}, NULL},
    {"mean", NULL, A_SUM, 0, 0, {0}, NULL},
    {"norm2", NULL, A_NORM, 0, 0, {0}, NULL},
    {"normpool", NULL, A_NORM, 0, 0, {0}, NULL},
    {"dot", NULL, A_SUM, 2, 2, {0}, NULL}};
#define N_FUNCTIONS (sizeof functions / sizeof *functions)

void
kinks_begin(program *p)
{
  memcpy(p->kinks, kink_table, sizeof p->kinks);
}

const kinked *
kink_operator(const program *p, size_t i)
{
  return i < N_KINKED ? &p->kinks[i] : NULL;
}

rational *
input_numbers(void)
{
  rational *c = rationals(2);
  mpq_set(&c[1], &plus_one);
  return c;
}

void
kink_use(program *p, const char *name)
{
  size_t o = 0;
  while (o < N_KINKED && strcmp(p->kinks[o].name, name) != 0)
    o++;
  expect(o < N_KINKED, "operator %s is not one of a program's", name);
  p->kinks[o].used = true;
}

void
kink_take(program *p, size_t i, size_t k, const proxy *how)
{
  p->kinks[i].proxy[k] = *how;
}

const callable *
find_function(const char *name)
{
  for (size_t f = 0; f < N_FUNCTIONS; f++)
    if (strcmp(functions[f].name, name) == 0)
      return &functions[f];
  return NULL;
}

/* ---- Instructions */

void
count_entries(reader *r, size_t n)
{
  r->n_entries += n;
  within(LIMIT_VECTORS, n > r->n_entries ? n : r->n_entries, "program, line %zu: more entries of vectors", r->line);
}

void
limit_size(const rational *q)
{
  size_t above = mpz_sizeinbase(mpq_numref(q), 2), below = mpz_sizeinbase(mpq_denref(q), 2);
  within(LIMIT_BITS, above > below ? above : below, "a number of more bits");
}

/* Appends one; returns its number. */
size_t
add_instruction(reader *r, instruction i)
{
  r->n_arguments += i.n;
  size_t most = r->prog->n + 1 > r->n_arguments ? r->prog->n + 1 : r->n_arguments;
  within(LIMIT_INSTRUCTIONS, most, "program, line %zu: more instructions, or arguments of them", r->line);
  r->prog->instructions = grow(r->prog->instructions, r->prog->n, sizeof i);
  i.line = r->line;
  r->prog->instructions[r->prog->n] = i;
  return r->prog->n++;
}

operand
operand_new(reader *r, size_t n, bool vector)
{
  count_entries(r, n);
  return (operand){n, allocate(n, sizeof(size_t)), vector};
}

static size_t
add_number(reader *r, const rational *q)
{
  instruction i = {.kind = A_CONSTANT, .c = rationals(1)};
  size_t n = mpz_size(mpq_numref(q)) + mpz_size(mpq_denref(q));
  r->n_words += n > 2 ? n : 0;
  within(LIMIT_WORDS, r->n_words, "program, line %zu: constants of more words", r->line);
  limit_size(q);
  mpq_set(i.c, q);
  return add_instruction(r, i);
}

/* Appends it, or the number that a sum, product or quotient of numbers alone is. */
static size_t
add_folded(reader *r, instruction i)
{
  bool sum = i.kind == A_SUM, quotient = i.kind == A_QUOTIENT, numbers = sum || quotient || i.kind == A_PRODUCT;
  RATIONAL(q);
  RATIONAL(t);
  mpq_set_si(&q, !sum, 1);
  for (size_t k = 0; k < i.n && numbers; k++) {
    const instruction *x = &r->prog->instructions[i.in[k]];
    numbers = x->kind == A_CONSTANT;
    want(!numbers || !quotient || k == 0 || mpq_sgn(x->c) != 0, "a division by zero");
    if (numbers && sum) {
      mpq_mul(&t, &i.c[k], x->c);
      mpq_add(&q, &q, &t);
    } else if (numbers)
      (quotient && k == 1 ? mpq_div : mpq_mul)(&q, &q, x->c);
  }
  return numbers ? add_number(r, &q) : add_instruction(r, i);
}

/* One instruction for each entry of the arguments; scalars stand for as many copies. */
operand
operand_apply(reader *r, instruction i, size_t n, const operand *v)
{
  size_t length = 1;
  bool vector = false;
  for (size_t k = 0; k < n; k++) {
    want(!v[k].vector || !vector || v[k].n == length, "vectors of two lengths");
    length = v[k].vector ? v[k].n : length;
    vector = vector || v[k].vector;
  }
  operand y = operand_new(r, length, vector);
  for (size_t e = 0; e < length; e++) {
    i.n = n;
    i.in = allocate(n, sizeof *i.in);
    for (size_t k = 0; k < n; k++)
      i.in[k] = v[k].at[v[k].vector ? e : 0];
    y.at[e] = add_folded(r, i);
  }
  return y;
}

operand
operand_constant(reader *r, const rational *q)
{
  operand y = operand_new(r, 1, false);
  y.at[0] = add_number(r, q);
  return y;
}

/* The number that a literal, or arithmetic on them, is; NULL when v is none. */
const rational *
operand_number(reader *r, operand v)
{
  return !v.vector && r->prog->instructions[v.at[0]].kind == A_CONSTANT ? r->prog->instructions[v.at[0]].c : NULL;
}

/* v0 + v1, v0 - v1 (- v1 when v0 has no entries), v0 v1, v0 / v1. */
operand
operand_arithmetic(reader *r, char symbol, const operand *v)
{
  bool unary = v[0].n == 0;
  instruction i = {.kind = symbol == '*' ? A_PRODUCT : symbol == '/' ? A_QUOTIENT : A_SUM};
  i.c = rationals(2);
  mpq_set(&i.c[0], &plus_one);
  mpq_set(&i.c[unary ? 0 : 1], symbol == '-' ? &minus_one : &plus_one);
  return operand_apply(r, i, unary ? 1 : 2, unary ? v + 1 : v);
}

/* The sum of the entries. */
operand
operand_sum(reader *r, operand v)
{
  instruction i = {.kind = A_SUM, .n = v.n, .in = v.at, .c = rationals(v.n)};
  operand y = operand_new(r, 1, false);
  for (size_t k = 0; k < v.n; k++)
    mpq_set(&i.c[k], &plus_one);
  y.at[0] = add_folded(r, i);
  return y;
}

/* ---- Functions */

static kinked *
kinks_of(reader *r, const callable *f)
{
  size_t o = 0;
  while (strcmp(r->prog->kinks[o].name, f->operator) != 0)
    o++;
  return &r->prog->kinks[o];
}

/* The pieces of function f with the numbers a and b of its call. */
static pieces *
make_pieces(reader *r, const callable *f, operand *arguments, size_t n)
{
  pieces *p = allocate(1, sizeof *p);
  rational given[2] = {rational_zero(), rational_zero()};
  const char *s = f->pieces;
  for (size_t k = 0; k < 2; k++) {
    const rational *q = k < n ? operand_number(r, arguments[k]) : NULL;
    want(k >= n || q != NULL, "a parameter that is no number");
    if (q != NULL)
      mpq_set(&given[k], q);
    else if (f->preset[k] != NULL)
      mpq_set_str(&given[k], f->preset[k], 10);
  }
  for (size_t k = 0; k < 11; k++)
    mpq_init(k < 2 ? &p->at[k] : &p->piece[(k - 2) / 3][(k - 2) % 3]);
  p->elu = strcmp(f->name, "elu") == 0;
  p->n_kinks = kinks_of(r, f)->n_kinks;
  for (size_t k = 0; *s != '\0'; k++, s += strcspn(s, " "), s += *s == ' ') {
    size_t c = k - p->n_kinks;
    rational *to = k < p->n_kinks ? &p->at[k] : &p->piece[c / 3][c % 3];
    char word[8] = "";
    memcpy(word, s, strcspn(s, " "));
    if (*word == 'a' || *word == 'b')
      mpq_set(to, &given[*word - 'a']);
    else
      mpq_set_str(to, word, 10);
  }
  want(p->n_kinks < 2 || mpq_cmp(&p->at[0], &p->at[1]) < 0, "a lower bound that is not below the upper");
  return p;
}

operand
operand_pointwise(reader *r, const callable *f, proxy how, operand x, operand *arguments, size_t n)
{
  instruction i = {.kind = A_POINTWISE, .name = f->operator, .proxy = how };
  i.pieces = make_pieces(r, f, arguments, n);
  kinks_of(r, f)->used |= !how.given;
  return operand_apply(r, i, 1, &x);
}

/* The k-th largest of the entries, for one k or, ascending, for all. */
operand
operand_order(reader *r, const callable *f, proxy how, operand v, size_t k)
{
  bool sort = strcmp(f->name, "sort") == 0;
  instruction i = {.kind = AN_ORDER, .name = f->operator, .proxy = how, .n = v.n, .in = v.at};
  operand y = operand_new(r, sort ? v.n : 1, sort);
  kinks_of(r, f)->used |= !how.given;
  for (size_t e = 0; e < y.n; e++) {
    i.rank = sort ? v.n - e : k;
    y.at[e] = add_instruction(r, i);
  }
  return y;
}
