/* All patterns of a program around a point (docs/patterns.md).
 *
 * Near the point an execution may part where a kink is touched. It is followed in demand order
 * under the choices made so far; where a quantity that is zero at the point decides and is not
 * identically zero near it under those choices, it comes to a *fork* with one branch a choice.
 * Every branch adds *decisions*, quantities that must be positive; they are numbered along a path
 * from 0.
 *
 *   PIECEWISE, ELU, BRANCH: with q the argument less the kink, or the difference of the comparands:
 *     two choices, q < 0 with the decision -q, q > 0 with the decision q. Where q is an argument
 *     with the kink 0, a factor that is not zero at the point is left out with its sign: of a product, with
 *     one zero and one certainly nonzero factor, of a quotient its divisor, of a LINEAR of one term
 *     beside numbers that add up to 0 its coefficient, and so on with what is left.
 *   ORDER with tied entries S, the r-th largest of which is its value: when 2 r <= |S| + 1 entries
 *     are taken from the top until the r-th, else from the bottom until the (|S| + 1 - r)-th. To
 *     take one: the candidates are the entries left, by increasing index, less those whose difference
 *     from an earlier candidate is identically zero (its copies). One candidate is taken without a
 *     fork; else there is a choice for each, with the decisions y_i - y_j (from the bottom:
 *     y_j - y_i) for the other candidates j in their order. The one taken leaves with its copies,
 *     all counted.
 *
 * A NORM of zeros that vary is no fork. Its gradient is enclosed, and so is a pattern's.
 *
 * A branch dies when a positive combination of decisions above it, each a polynomial of the
 * displacement h (affine ones among them), has only monomials that are squares, with coefficients
 * <= 0: then no point near follows it. Between affine decisions that is a Gordan vector. A decision that is <gradient, h> times a
 * polynomial, which is then 1 at the point, has the sign of <gradient, h> near it: so w (1 + u) may count as w. */
#ifndef CLARKE_PROGRAM_PATTERNS_H
#define CLARKE_PROGRAM_PATTERNS_H

#include "pattern/tree.h"
#include "program/walk.h"

typedef struct {
  size_t n_choices;
  size_t *choice;          /* at the forks on its path */
  clarke_number *gradient; /* n_outputs x wrt_count: the limit of gradients, when realized */
  bool exact;              /* all of it rational */
  bool enclosed;           /* a norm of zeros is on its way: the gradient encloses all that occur, and it is not realized */
  bool realized;           /* proved to occur, by: */
  size_t n_directions;     /* 0: no decision, or not realized */
  mpq_t **direction;       /* n_directions of wrt_count rationals: an arc
                            * w + t d_1 + t^2 d_2 + ... follows the pattern for all small t > 0 */
  bool first_order;        /* d_1 alone, every decision's derivative along it being positive */
} clarke_pattern;

typedef struct {
  size_t dim, width; /* n_outputs x wrt_count; wrt_count */
  clarke_tree tree; /* complete: it covers a neighbourhood; not so when a limit was reached, or a comparison cannot be decided */
  size_t n, capacity;
  clarke_pattern *pattern;
  size_t n_cells; /* the last ones: not of the tree, but found along arcs, which give a NORM of zeros a direction */
  bool all_known; /* the tree is complete, and every pattern is realized */
  bool cones;     /* not from the tree: of a piecewise linear program, each gradient once, with a direction of an open cone; no
                   * nodes */
  bool jumps;     /* some pattern's limit value is not the value at the point */
  char why[256];  /* when not complete: why */
} clarke_patterns;

#define CLARKE_PATTERNS_LIMIT ((size_t)400000) /* nodes of all kinds */

/* Entries of linear systems times their ranks. */
#define CLARKE_PATTERNS_WORK ((size_t)80000000)

/* A whole tree when it is complete, each pattern once; refutations by decisions above them; directions of what is realized. */
bool clarke_patterns_is_valid(const clarke_patterns *t);

/* Distinct gradients of the patterns realized, in increasing order: *n of them, by reference; to be freed. They are rational. */
clarke_status clarke_patterns_gradients(const clarke_number ***gradient, size_t *n, const clarke_patterns *t, clarke_error *err);

/* Is some pattern's gradient enclosed? */
bool clarke_patterns_enclose(const clarke_patterns *t);

void clarke_patterns_init(clarke_patterns *t);
void clarke_patterns_clear(clarke_patterns *t);

/* Are its instructions times the entries of wrt too many for gradients along every path? Then no tree is grown. */
bool clarke_patterns_too_large(const clarke_execution *e);

/* e: an execution that is not open. */
clarke_status clarke_patterns_find(clarke_patterns *t, const clarke_execution *e,
                                   clarke_error *err);

/* Where the tree was left incomplete: the one pattern that a chooser leads to is added; it says
 * CLARKE_NONE to give up. *found: its number, or CLARKE_NONE. */
typedef clarke_status (*clarke_chooser)(size_t *choice, void *context, const clarke_walk *w,
                                        clarke_error *err);
clarke_status clarke_patterns_along(clarke_patterns *t, size_t *found, const clarke_execution *e,
                                    clarke_chooser choose, void *context, clarke_error *err);

#endif
