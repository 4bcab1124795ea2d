/* Proofs about derivatives along directions (docs/proof-format.md, "Directions of programs"): the program is followed along the lines, and
 * each output's derivatives are computed anew. */
#include "check/program/direction_proof.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"
#include "check/program/program_evidence.h"
#include "check/program/program_follow.h"
#include "check/program/program_lines.h"
#include "check/program/program_proof.h"

#include <stdlib.h>

/* Each line's derivatives are claimed to be no less and no more than these. */
typedef struct {
  size_t n, n_outputs;
  rational *lines, *least, *most;
} claims;

/* n rationals at the end of a list of *size. */
static void
read_row(rational **list, size_t *size, size_t n)
{
  for (size_t k = 0; k < n; k++, ++*size) {
    *list = grow(*list, *size, sizeof **list);
    (*list)[*size] = rational_zero();
    next_rational(&(*list)[*size]);
  }
}

/* `direction V ...`, whose first word was read; then `derivative V ...`, or `least V ...` and `most V ...`. */
static void
read_line(claims *c, const walk *w)
{
  size_t size = c->n * w->n_entries, below = c->n * c->n_outputs, above = below;
  read_row(&c->lines, &size, w->n_entries);
  bool exact = line_is("derivative");
  if (!exact)
    next_line("least");
  read_row(&c->least, &below, c->n_outputs);
  if (!exact)
    next_line("most");
  for (size_t o = 0; o < c->n_outputs && exact; o++, above++) {
    c->most = grow(c->most, above, sizeof *c->most);
    c->most[above] = rational_zero();
    mpq_set(&c->most[above], &c->least[above]);
  }
  if (!exact)
    read_row(&c->most, &above, c->n_outputs);
  c->n++;
}

static void
read_claims(claims *c, walk *w)
{
  c->n_outputs = w->prog.n_outputs;
  w->n_entries = w->n_wrt;
  next_line("direction");
  do
    read_line(c, w);
  while (line_is("direction"));
  w->lines = c->lines;
  w->n_wrt = c->n;
}

/* The derivative of output o along line k is within its bounds; where they are one number, it is that. */
static void
check_bounds(const claims *c, const walk *w, size_t k, size_t o)
{
  const rational *least = &c->least[k * c->n_outputs + o], *most = &c->most[k * c->n_outputs + o];
  const interval *x = &w->states[w->prog.outputs[o]].g[k];
  bool inside = mpq_cmp(least, &x->lo) <= 0 && mpq_cmp(&x->hi, most) <= 0;
  if (!inside && mpq_cmp(least, &x->hi) <= 0 && mpq_cmp(&x->lo, most) <= 0 && !interval_exact(x))
    leave(UNDECIDED,
          "whether the derivative of output %zu along direction %zu is within its bounds is not decided by %d bits", o,
          k + 1, MAX_BITS);
  require(inside, "the derivative of output %zu along direction %zu is another number", o, k + 1);
}

static void
put_line(const claims *c, const walk *w, size_t k)
{
  fputs("(", account);
  for (size_t e = 0; e < w->n_entries; e++)
    gmp_fprintf(account, "%s%Qd", e > 0 ? ", " : "", &c->lines[k * w->n_entries + e]);
  fputs(")", account);
}

/* What AD's forward mode returns of output o along line k, and whether that is the derivative. */
static void
put_ad(const claims *c, const walk *w, const interval *ad, size_t k, size_t o)
{
  const interval *x = &w->states[w->prog.outputs[o]].g[k], *theirs = &ad[o * c->n + k];
  int order = interval_compare(x, theirs);
  fputs("; AD's forward mode returns ", account);
  put_number(theirs);
  if (order == 1 || order == -1)
    fputs(", which is ANOTHER number", account);
  else if (order == 0 || (w->states[w->prog.outputs[o]].same && !w->moved))
    fputs(", which is that number", account);
}

static void
put_claims(const claims *c, const walk *w, const interval *ad)
{
  for (size_t k = 0; k < c->n; k++) {
    fprintf(
        account,
        k == 0
            ? "The derivative of F at w along d1 = "
            : "Then that of the derivative before it, taken as a function of its\ndirection, at d%zu and along d%zu = ",
        k, k + 1);
    put_line(c, w, k);
    fputs(" is", account);
    for (size_t o = 0; o < c->n_outputs; o++) {
      fprintf(account, c->n_outputs > 1 ? "\n  of output %zu: " : " ", o);
      put_number(&w->states[w->prog.outputs[o]].g[k]);
      if (ad != NULL)
        put_ad(c, w, ad, k, o);
    }
    fputs(".\n", account);
  }
}

void
check_direction(const program *of, bool parameters)
{
  walk all = {0}, *w = &all;
  claims c = {0};
  bool known = true;
  read_question(w, of, parameters);
  next_line("touched");
  size_t touched = next_number();
  read_claims(&c, w);
  last_line();
  follow_point(w, false);
  require(touched == follow_touched(w), "the number of touched instructions is %zu", follow_touched(w));
  fprintf(account, "Touched instructions: %zu\n", touched);
  for (size_t o = 0; o < c.n_outputs; o++)
    known = known && w->states[w->prog.outputs[o]].same;
  interval *ad = known ? keep_output(w) : NULL;
  check_neighbourhood(w);
  follow_lines(w);
  for (size_t k = 0; k < c.n; k++)
    for (size_t o = 0; o < c.n_outputs; o++)
      check_bounds(&c, w, k, o);
  put_claims(&c, w, ad);
  fflush(account);
}
