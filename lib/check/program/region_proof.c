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

static program prog;
static what_varies varies;
static size_t n_entries, n_variables; /* of all inputs that are not held; those that vary */
static rational *bounds;              /* of a box: lower and upper, of each entry */

static const char *const names_of_varying[] = {
    [VARIES_INPUT] = "its input", [VARIES_NAMED] = "the inputs that vary", [VARIES_PARAMETERS] = "these parameters"};

/* ---- Where */

/* `box FILE HASH`, or `box -` with a line `bound LOWER UPPER` for each entry. */
static void
read_bounds(const char *folder)
{
  bounds = rationals(2 * n_entries);
  if (word_is("-")) {
    next_word();
    fputs("Box: as stated below\n", account);
    for (size_t e = 0; e < n_entries; e++) {
      next_line("bound");
      next_rational(&bounds[2 * e]);
      next_rational(&bounds[2 * e + 1]);
    }
    return;
  }
  table t = table_read(next_file(folder, "Box"), "the box");
  expect(t.rows == n_entries && t.columns == 2, "the box has not two bounds for each of %zu entries", n_entries);
  for (size_t k = 0; k < 2 * n_entries; k++)
    mpq_set(&bounds[k], &t.value[k]);
  rationals_free(t.value, 2 * n_entries);
}

/* An entry with equal bounds is held fixed; another one is a variable. */
static void
read_box(const char *folder)
{
  read_bounds(folder);
  fprintf(account, "Bounds, of each entry of %s:", names_of_varying[varies]);
  for (size_t e = 0; e < n_entries; e++) {
    const rational *lower = &bounds[2 * e], *upper = &bounds[2 * e + 1];
    int order = mpq_cmp(lower, upper);
    require(order <= 0, "the lower bound of entry %zu is above the upper one", e);
    gmp_fprintf(account, "%s[%Qd, %Qd]", e % 8 == 0 ? "\n  " : " ", lower, upper);
    mpq_set(region_function_entry(&prog, e)->c, order == 0 ? lower : &zero);
    region_function_entry(&prog, e)->entry = order == 0 ? NONE : n_variables++;
  }
  fputs("\n", account);
  require(n_variables > 0, "the box is a point");
}

/* x_k - lower > 0 and upper - x_k > 0, for each variable. */
static void
give_bounds(void)
{
  integer *row = allocate(n_variables + 1, sizeof *row);
  for (size_t k = 0; k <= n_variables; k++)
    row[k] = integer_zero();
  for (size_t b = 0; b < 2 * n_entries; b++) {
    size_t k = region_function_entry(&prog, b / 2)->entry;
    if (k == NONE)
      continue;
    mpz_set(&row[k], mpq_denref(&bounds[b]));
    mpz_set(&row[n_variables], mpq_numref(&bounds[b]));
    mpz_neg(b % 2 == 0 ? &row[n_variables] : &row[k], b % 2 == 0 ? &row[n_variables] : &row[k]);
    region_tree_bound(row);
    mpz_set_ui(&row[k], 0);
  }
  for (size_t k = 0; k <= n_variables; k++)
    mpz_clear(&row[k]);
  free(row);
}

/* ---- Gradients */

static rational *here; /* around a point: the gradients of all outputs, end to end, on the region at hand */

static void
meet_gradient(void)
{
  for (size_t k = 0; k < prog.n_outputs * n_variables; k++) {
    size_t at = prog.outputs[k / n_variables];
    mpz_set(mpq_numref(&here[k]), &form_of(at)[k % n_variables]);
    mpz_set(mpq_denref(&here[k]), form_denominator(at));
    mpq_canonicalize(&here[k]);
  }
  gradient_list_meet(here);
}

static void
pass_over(void)
{
}

/* ---- The statement */

static void
state_box(size_t regions)
{
  fprintf(
      account,
      "Inside the box exactly %zu activation pattern%s: so many choices of a side for each kink, and of the\n"
      "entry that each maximum or minimum takes, that F depends on, are followed on open sets that are not empty.\n",
      regions, regions == 1 ? " occurs" : "s occur");
  if (n_variables < n_entries)
    fputs("Entries whose bounds are equal are fixed, and sets are open in the others.\n", account);
}

static void
state_point(size_t regions, size_t gradients)
{
  fprintf(
      account,
      "Around w exactly %zu activation pattern%s: so many choices of a side for each kink, and of the entry\n"
      "that each maximum or minimum takes, that F depends on, are followed on open sets as near to w as one likes.\n"
      "The Bouligand subdifferential of F at w, with respect to %s, has exactly %zu element%s%s:\n",
      regions, regions == 1 ? " occurs" : "s occur", names_of_varying[varies], gradients, gradients == 1 ? "" : "s",
      prog.n_outputs == 1 ? "" : " (Jacobians, row by row)");
  gradient_list_state();
  fprintf(account, "F is %sdifferentiable at w.\n", gradients == 1 ? "" : "not ");
}

void
check_regions(program *of, bool parameters, const char *folder)
{
  n_entries = region_function_read(of, parameters, &varies);
  prog = *of;
  bool local = line_is("at");
  if (local)
    n_variables = region_function_read_point(&prog, varies);
  else {
    next_line("box");
    read_box(folder);
  }
  next_line("regions");
  size_t regions = next_number();
  size_t gradients = local ? gradient_list_read(prog.n_outputs, n_variables) : 0;
  here = rationals(local ? prog.n_outputs * n_variables : 0);
  next_line("tree");
  forms_begin(&prog, n_variables);
  region_tree_begin(&prog, n_variables, local);
  if (!local)
    give_bounds();
  size_t leaves = region_tree_check(local ? meet_gradient : pass_over);
  require(leaves == regions, "the tree has %zu leaves", leaves);
  gradient_list_end();
  last_line();
  if (local)
    state_point(regions, gradients);
  else
    state_box(regions);
  printf("VERIFIED\n%sSemantics: real arithmetic, every number taken exactly.\n", account_text());
}
