/* Proofs about the patterns around a point, where what varies is multiplied (docs/proof-format.md, "Patterns of products"): the
 * function is polynomial on pieces. The program is followed down a tree; each leaf has an arc that follows its pattern. */
#include "check/program/pattern_proof.h"
#include "check/base/allocate.h"
#include "check/program/forms.h"
#include "check/program/gradient_list.h"
#include "check/base/lines.h"
#include "check/program/program_evidence.h"
#include "check/program/program_follow.h"
#include "check/program/program_fork.h"
#include "check/program/program_tree.h"
#include "check/program/region_function.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  walk w;
  rational *here,
      *open_one;           /* the gradients of all outputs, end to end: of a leaf; of the first one with an open cone */
  bool any_open, two_open; /* is there one; another one with other gradients? */
  gradient_list list;
} patterns;

/* ---- The function */

/* Sums, products, pieces of degree 1 that meet, maxima and minima: what an output depends on. */
static void
check_instructions(const program *p)
{
  bool *needed = allocate(p->n, sizeof *needed);
  for (size_t o = 0; o < p->n_outputs; o++)
    needed[p->outputs[o]] = true;
  for (size_t at = p->n; at-- > 0;) {
    if (!needed[at])
      continue;
    refuse_if(!is_piecewise_polynomial(p, at), "instruction %zu of the program is not polynomial on pieces", at);
    for (size_t k = 0; k < p->instructions[at].n; k++)
      needed[p->instructions[at].in[k]] = true;
  }
  free(needed);
}

/* A pattern does not depend on what AD takes at kinks: all of it is unknown. */
static void
take_no_proxies(program *p)
{
  const kinked *o;
  for (size_t i = 0; (o = kink_operator(p, i)) != NULL; i++)
    for (size_t k = 0; k < (o->n_kinks > 0 ? o->n_kinks : 1); k++)
      kink_take(p, i, k, &(proxy){.kind = UNKNOWN, .value = rational_zero()});
}

/* ---- Leaves */

/* The leaf's gradients, which are in the list. */
static void
meet_leaf(patterns *q)
{
  for (size_t k = 0; k < q->w.prog.n_outputs * q->w.n_wrt; k++) {
    require(interval_exact(output_gradient(&q->w, k)), "a gradient is not rational");
    mpq_set(&q->here[k], &output_gradient(&q->w, k)->lo);
  }
  gradient_list_meet(&q->list, q->here);
}

/* Along d every decision of the leaf at hand has a positive derivative, and so it has in an open cone. */
static bool
is_open_along(patterns *q, const rational *d)
{
  bool positive = true;
  for (size_t i = 0; i < q->w.fork.n_decisions && positive; i++) {
    INTERVAL(slope);
    for (size_t e = 0; e < q->w.n_wrt; e++)
      interval_add(&slope, &q->w.fork.decisions[i].gradient[e], &d[e]);
    positive = mpq_sgn(&slope.lo) > 0;
  }
  return positive;
}

/* Keeps the gradient of a pattern in an open cone; notes whether two such patterns have different ones. */
static void
keep_open(patterns *q)
{
  for (size_t k = 0; k < q->w.prog.n_outputs * q->w.n_wrt; k++) {
    q->two_open = q->two_open || (q->any_open && !mpq_equal(&q->open_one[k], &q->here[k]));
    if (!q->any_open)
      mpq_set(&q->open_one[k], &q->here[k]);
  }
  q->any_open = true;
}

/* The arc's own choices are the leaf's. Where decisions increase along it, they are. */
static void
check_leaf(void *of, const size_t *choices, size_t depth)
{
  patterns *q = of;
  const rational *steps;
  meet_leaf(q);
  size_t order = read_arc(&q->w, &steps);
  if ((order == 0 && q->w.fork.n_decisions == 0) || (order == 1 && is_open_along(q, steps))) {
    keep_open(q);
    return;
  }
  follow_arc(&q->w, steps, order, order > 0 ? MAX_ORDER + 1 : 1);
  require(q->w.fork.n_used == depth
              && (depth == 0 || memcmp(q->w.fork.arc_choices, choices, depth * sizeof *choices) == 0),
          "the arc does not follow the leaf");
}

/* ---- The statement */

static void
state_patterns(patterns *q, size_t leaves, size_t gradients)
{
  fprintf(
      account,
      "Around w exactly %zu activation pattern%s: so many choices of a side for each kink, and of the entry\n"
      "that each maximum or minimum takes, that F depends on, are followed on open sets as near to w as one likes.\n"
      "The Bouligand subdifferential of F at w, with respect to what varies, has exactly %zu element%s%s:\n",
      leaves, leaves == 1 ? " occurs" : "s occur", gradients, gradients == 1 ? "" : "s",
      q->w.prog.n_outputs == 1 ? "" : " (Jacobians, row by row)");
  gradient_list_state(&q->list);
  if (gradients == 1 || q->two_open)
    fprintf(account, "F is %sdifferentiable at w.\n", gradients == 1 ? "" : "not ");
}

void
check_patterns(program *of, bool parameters)
{
  patterns all = {0}, *q = &all;
  what_varies varies;
  region_function_read(of, parameters, &varies);
  next_line("at");
  size_t n = region_function_read_point(of, varies);
  next_line("patterns");
  size_t n_patterns = next_number(), gradients = gradient_list_read(&q->list, of->n_outputs, n);
  check_instructions(of);
  take_no_proxies(of);
  walk_program(&q->w, of);
  for (size_t e = 0; e < n; e++)
    walk_vary(&q->w, (size_t)(region_function_entry(of, e) - of->instructions));
  q->here = rationals(of->n_outputs * n);
  q->open_one = rationals(of->n_outputs * n);
  follow_point(&q->w, false);
  size_t leaves = check_tree(&q->w, false, check_leaf, q);
  require(leaves == n_patterns, "the tree has %zu leaves", leaves);
  gradient_list_end(&q->list);
  last_line();
  state_patterns(q, n_patterns, gradients);
  printf("VERIFIED\n%sSemantics: real arithmetic, every number taken exactly.\n", account_text());
}
