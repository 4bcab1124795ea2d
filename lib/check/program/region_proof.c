/* Proofs about regions (docs/proof-format.md, "Regions"): in this box, or around this point, there are exactly so many. */
#include "check/program/region_proof.h"
#include "check/base/allocate.h"
#include "check/program/forms.h"
#include "check/program/gradient_list.h"
#include "check/base/lines.h"
#include "check/program/region_function.h"
#include "check/program/region_tree.h"
#include "check/program/table.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  program prog;
  what_varies varies;
  size_t n_entries, n_variables; /* of all inputs that are not held; those that vary */
  rational *bounds;              /* of a box: lower and upper, of each entry */
  rational *here;                /* around a point: the gradients of all outputs, end to end, on the region at hand */
  forms form;
  region_tree tree;
  gradient_list list;
} question;

static const char *const names_of_varying[] = {
    [VARIES_INPUT] = "its input", [VARIES_NAMED] = "the inputs that vary", [VARIES_PARAMETERS] = "these parameters"};

/* ---- Where */

/* `box FILE HASH`, or `box -` with a line `bound LOWER UPPER` for each entry. */
static void
read_bounds(question *q, const char *folder)
{
  q->bounds = rationals(2 * q->n_entries);
  if (word_is("-")) {
    next_word();
    fputs("Box: as stated below\n", account);
    for (size_t e = 0; e < q->n_entries; e++) {
      next_line("bound");
      next_rational(&q->bounds[2 * e]);
      next_rational(&q->bounds[2 * e + 1]);
    }
    return;
  }
  table t = table_read(next_file(folder, "Box"), "the box");
  expect(t.rows == q->n_entries && t.columns == 2, "the box has not two bounds for each of %zu entries", q->n_entries);
  for (size_t k = 0; k < 2 * q->n_entries; k++)
    mpq_set(&q->bounds[k], &t.value[k]);
  rationals_free(t.value, 2 * q->n_entries);
}

/* An entry with equal bounds is held fixed; another one is a variable. */
static void
read_box(question *q, const char *folder)
{
  read_bounds(q, folder);
  fprintf(account, "Bounds, of each entry of %s:", names_of_varying[q->varies]);
  for (size_t e = 0; e < q->n_entries; e++) {
    const rational *lower = &q->bounds[2 * e], *upper = &q->bounds[2 * e + 1];
    int order = mpq_cmp(lower, upper);
    require(order <= 0, "the lower bound of entry %zu is above the upper one", e);
    gmp_fprintf(account, "%s[%Qd, %Qd]", e % 8 == 0 ? "\n  " : " ", lower, upper);
    mpq_set(region_function_entry(&q->prog, e)->c, order == 0 ? lower : &zero);
    region_function_entry(&q->prog, e)->entry = order == 0 ? NONE : q->n_variables++;
  }
  fputs("\n", account);
  require(q->n_variables > 0, "the box is a point");
}

/* x_k - lower > 0 and upper - x_k > 0, for each variable. */
static void
give_bounds(question *q)
{
  integer *row = allocate(q->n_variables + 1, sizeof *row);
  for (size_t k = 0; k <= q->n_variables; k++)
    row[k] = integer_zero();
  for (size_t b = 0; b < 2 * q->n_entries; b++) {
    size_t k = region_function_entry(&q->prog, b / 2)->entry;
    if (k == NONE)
      continue;
    mpz_set(&row[k], mpq_denref(&q->bounds[b]));
    mpz_set(&row[q->n_variables], mpq_numref(&q->bounds[b]));
    mpz_neg(b % 2 == 0 ? &row[q->n_variables] : &row[k], b % 2 == 0 ? &row[q->n_variables] : &row[k]);
    region_tree_bound(&q->tree, row);
    mpz_set_ui(&row[k], 0);
  }
  for (size_t k = 0; k <= q->n_variables; k++)
    mpz_clear(&row[k]);
  free(row);
}

/* ---- Gradients */

static void
meet_gradient(void *of)
{
  question *q = of;
  for (size_t k = 0; k < q->prog.n_outputs * q->n_variables; k++) {
    size_t at = q->prog.outputs[k / q->n_variables];
    mpz_set(mpq_numref(&q->here[k]), &form_of(&q->form, at)[k % q->n_variables]);
    mpz_set(mpq_denref(&q->here[k]), form_denominator(&q->form, at));
    mpq_canonicalize(&q->here[k]);
  }
  gradient_list_meet(&q->list, q->here);
}

static void
pass_over(void *of)
{
  (void)of;
}

/* ---- The statement */

static void
state_box(question *q, size_t regions)
{
  fprintf(
      account,
      "Inside the box exactly %zu activation pattern%s: so many choices of a side for each kink, and of the\n"
      "entry that each maximum or minimum takes, that F depends on, are followed on open sets that are not empty.\n",
      regions, regions == 1 ? " occurs" : "s occur");
  if (q->n_variables < q->n_entries)
    fputs("Entries whose bounds are equal are fixed, and sets are open in the others.\n", account);
}

static void
state_point(question *q, size_t regions, size_t gradients)
{
  fprintf(
      account,
      "Around w exactly %zu activation pattern%s: so many choices of a side for each kink, and of the entry\n"
      "that each maximum or minimum takes, that F depends on, are followed on open sets as near to w as one likes.\n"
      "The Bouligand subdifferential of F at w, with respect to %s, has exactly %zu element%s%s:\n",
      regions, regions == 1 ? " occurs" : "s occur", names_of_varying[q->varies], gradients, gradients == 1 ? "" : "s",
      q->prog.n_outputs == 1 ? "" : " (Jacobians, row by row)");
  gradient_list_state(&q->list);
  fprintf(account, "F is %sdifferentiable at w.\n", gradients == 1 ? "" : "not ");
}

void
check_regions(program *of, bool parameters, const char *folder)
{
  question all = {0}, *q = &all;
  q->n_entries = region_function_read(of, parameters, &q->varies);
  q->prog = *of;
  bool local = line_is("at");
  if (local)
    q->n_variables = region_function_read_point(&q->prog, q->varies);
  else {
    next_line("box");
    read_box(q, folder);
  }
  next_line("regions");
  size_t regions = next_number();
  size_t gradients = local ? gradient_list_read(&q->list, q->prog.n_outputs, q->n_variables) : 0;
  q->here = rationals(local ? q->prog.n_outputs * q->n_variables : 0);
  next_line("tree");
  forms_begin(&q->form, &q->prog, q->n_variables);
  region_tree_begin(&q->tree, &q->form, q->n_variables, local);
  if (!local)
    give_bounds(q);
  size_t leaves = region_tree_check(&q->tree, local ? meet_gradient : pass_over, q);
  require(leaves == regions, "the tree has %zu leaves", leaves);
  gradient_list_end(&q->list);
  last_line();
  if (local)
    state_point(q, regions, gradients);
  else
    state_box(q, regions);
  printf("VERIFIED\n%sSemantics: real arithmetic, every number taken exactly.\n", account_text());
}
