/* Proofs that a program's outputs are 0 for all inputs for which no divisor is 0 (docs/proof-format.md, "Identities").
 *
 * Each instruction is a quotient of two polynomials of the inputs, made by the rules of sums, products and quotients, nothing being cancelled. Of
 * both a bound on the degree in each input follows by the same rules. A polynomial of degree d_i in its i-th variable that is 0 on a grid of d_i + 1
 * numbers for each is 0 (Alon, Combinatorial Nullstellensatz, Lemma 2.1). So both are evaluated there, in integers. */
#include "check/program/vanish_proof.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"

#include <stdlib.h>
#include <string.h>

#define MOST_VARIABLES 64
#define MOST_POINTS ((size_t)1 << 21)
#define MOST_WORK ((size_t)1 << 28) /* points times instructions; words of 64 bits that are multiplied */
#define MOST_WORDS 4096             /* of a number */

/* The number of an instruction at a point of the grid, or the degrees of its polynomials. */
typedef struct {
  integer above, below;
} pair;

typedef struct {
  size_t above[MOST_VARIABLES], below[MOST_VARIABLES];
} degrees;

typedef struct {
  const program *p;
  bool *needed, *defined; /* below was not 0 at some point */
  degrees *degree;
  pair *value;
  size_t n_variables, n_needed;
  size_t size[MOST_VARIABLES], at[MOST_VARIABLES]; /* of the grid; the point */
  size_t work;
  size_t *variable; /* an INPUT's */
} grid;

/* ---- Degrees */

/* The degree of a product of all `below` but that of `but` (NONE: of all). */
static size_t
degree_below(const grid *g, const instruction *i, size_t v, size_t but)
{
  size_t sum = 0;
  for (size_t k = 0; k < i->n; k++)
    sum += k != but ? g->degree[i->in[k]].below[v] : 0;
  return sum;
}

static void
degree_sum(grid *g, const instruction *i, degrees *y, size_t v)
{
  y->below[v] = degree_below(g, i, v, NONE);
  y->above[v] = y->below[v];
  for (size_t k = 0; k < i->n; k++) {
    size_t d = g->degree[i->in[k]].above[v] + degree_below(g, i, v, k);
    y->above[v] = d > y->above[v] ? d : y->above[v];
  }
}

static void
find_degrees(grid *g, size_t at)
{
  const instruction *i = &g->p->instructions[at];
  degrees *y = &g->degree[at];
  for (size_t v = 0; v < g->n_variables; v++) {
    const degrees *a = i->n > 0 ? &g->degree[i->in[0]] : NULL, *b = i->n > 1 ? &g->degree[i->in[1]] : NULL;
    if (i->kind == AN_INPUT)
      y->above[v] = g->variable[at] == v;
    else if (i->kind == A_SUM)
      degree_sum(g, i, y, v);
    else if (i->kind == A_PRODUCT) {
      y->above[v] = a->above[v] + b->above[v];
      y->below[v] = a->below[v] + b->below[v];
    } else if (i->kind == A_QUOTIENT) {
      y->above[v] = a->above[v] + b->below[v];
      y->below[v] = a->below[v] + b->above[v];
    }
    expect(y->above[v] <= MOST_POINTS && y->below[v] <= MOST_POINTS, "instruction %zu has a degree above %zu", at,
           MOST_POINTS);
  }
}

/* ---- Values */

/* y = a b, which is counted. */
static void
multiply(grid *g, integer *y, const integer *a, const integer *b)
{
  mpz_mul(y, a, b);
  g->work += mpz_size(y) + 1;
  expect(mpz_size(y) <= MOST_WORDS, "a number of more than %d words", MOST_WORDS);
  expect(g->work <= MOST_WORK, "more than %zu words would be multiplied", MOST_WORK);
}

/* y *= x's below, for all arguments but one. */
static void
times_below(grid *g, const instruction *i, integer *y, size_t but)
{
  for (size_t k = 0; k < i->n; k++)
    if (k != but)
      multiply(g, y, y, &g->value[i->in[k]].below);
}

/* The common denominator of all coefficients. */
static void
common_denominator(integer *z, const instruction *i)
{
  mpz_set_ui(z, 1);
  for (size_t k = 0; k < i->n; k++)
    mpz_lcm(z, z, mpq_denref(&i->c[k]));
}

static void
evaluate_sum(grid *g, const instruction *i, pair *y)
{
  INTEGER(common);
  INTEGER(term);
  common_denominator(&common, i);
  mpz_set_ui(&y->above, 0);
  for (size_t k = 0; k < i->n; k++) {
    mpz_divexact(&term, &common, mpq_denref(&i->c[k]));
    multiply(g, &term, &term, mpq_numref(&i->c[k]));
    multiply(g, &term, &term, &g->value[i->in[k]].above);
    times_below(g, i, &term, k);
    mpz_add(&y->above, &y->above, &term);
  }
  mpz_set(&y->below, &common);
  times_below(g, i, &y->below, NONE);
}

static void
evaluate(grid *g, size_t at)
{
  const instruction *i = &g->p->instructions[at];
  pair *y = &g->value[at];
  const pair *a = i->n > 0 ? &g->value[i->in[0]] : NULL, *b = i->n > 1 ? &g->value[i->in[1]] : NULL;
  if (i->kind == AN_INPUT) {
    mpz_set_ui(&y->above, g->at[g->variable[at]]);
    mpz_set_ui(&y->below, 1);
  } else if (i->kind == A_CONSTANT) {
    mpz_set(&y->above, mpq_numref(i->c));
    mpz_set(&y->below, mpq_denref(i->c));
  } else if (i->kind == A_SUM) {
    evaluate_sum(g, i, y);
  } else {
    multiply(g, &y->above, &a->above, i->kind == A_PRODUCT ? &b->above : &b->below);
    multiply(g, &y->below, &a->below, i->kind == A_PRODUCT ? &b->below : &b->above);
  }
}

/* ---- The grid */

static void
mark_needed(grid *g)
{
  for (size_t o = 0; o < g->p->n_outputs; o++)
    g->needed[g->p->outputs[o]] = true;
  for (size_t at = g->p->n; at-- > 0;) {
    const instruction *i = &g->p->instructions[at];
    if (!g->needed[at])
      continue;
    g->n_needed++;
    require(i->kind == AN_INPUT || i->kind == A_CONSTANT || i->kind == A_SUM || i->kind == A_PRODUCT
                || i->kind == A_QUOTIENT,
            "instruction %zu is neither a sum, a product nor a quotient", at);
    for (size_t k = 0; k < i->n; k++)
      g->needed[i->in[k]] = true;
  }
}

static void
begin(grid *g)
{
  g->needed = allocate(g->p->n, sizeof *g->needed);
  g->defined = allocate(g->p->n, sizeof *g->defined);
  g->degree = allocate(g->p->n, sizeof *g->degree);
  g->value = allocate(g->p->n, sizeof *g->value);
  g->variable = allocate(g->p->n, sizeof *g->variable);
  mark_needed(g);
  for (size_t i = 0; i < g->p->n_inputs; i++)
    for (size_t e = 0; e < g->p->inputs[i].n; e++) {
      expect(g->n_variables < MOST_VARIABLES, "at most %d inputs", MOST_VARIABLES);
      g->variable[g->p->inputs[i].first + e] = g->n_variables++;
    }
  for (size_t at = 0; at < g->p->n; at++) {
    g->value[at].above = integer_zero();
    g->value[at].below = integer_zero();
    if (g->needed[at])
      find_degrees(g, at);
  }
}

/* The grid has as many numbers of each variable as any output needs. Returns how many points that are. */
static size_t
find_size(grid *g)
{
  size_t points = 1;
  for (size_t v = 0; v < g->n_variables; v++) {
    g->size[v] = 1;
    for (size_t o = 0; o < g->p->n_outputs; o++) {
      const degrees *y = &g->degree[g->p->outputs[o]];
      size_t d = (y->above[v] > y->below[v] ? y->above[v] : y->below[v]) + 1;
      g->size[v] = d > g->size[v] ? d : g->size[v];
    }
    points *= g->size[v];
    expect(points <= MOST_POINTS && points * g->n_needed <= MOST_WORK, "a grid of more than %zu points would be needed",
           points - 1);
  }
  return points;
}

/* The next point; after the last one the first. */
static void
next_point(grid *g)
{
  for (size_t v = 0; v < g->n_variables; v++) {
    if (++g->at[v] < g->size[v])
      return;
    g->at[v] = 0;
  }
}

static void
check_point(grid *g)
{
  for (size_t at = 0; at < g->p->n; at++)
    if (g->needed[at]) {
      evaluate(g, at);
      g->defined[at] = g->defined[at] || mpz_sgn(&g->value[at].below) != 0;
    }
  for (size_t o = 0; o < g->p->n_outputs; o++)
    require(mpz_sgn(&g->value[g->p->outputs[o]].above) == 0, "output %zu is not 0 for all inputs", o);
}

void
check_vanishing(program *of)
{
  grid g = {.p = of};
  begin(&g);
  size_t points = find_size(&g);
  for (size_t k = 0; k < points; k++) {
    check_point(&g);
    next_point(&g);
  }
  for (size_t at = 0; at < of->n; at++) /* 1 / (1 / 0) has the pair 0, 1 */
    require(g.defined[at] || !g.needed[at], "instruction %zu divides by what is 0 for all inputs", at);
  last_line();
  printf("VERIFIED\n%sAll %zu outputs are 0 for all inputs for which no divisor is 0.\nSemantics: real arithmetic, "
         "every number taken "
         "exactly.\n",
         account_text(), of->n_outputs);
}
