/* Are formulas, networks and refutations as their headers say? */
#include "sat/network.h"
#include "sat/refutation.h"

#include <stdlib.h>

bool
clarke_three_is_valid(const clarke_three *t)
{
  bool valid = t->n_clauses > 0 && (t->n_clauses & (t->n_clauses - 1)) == 0 && t->n_variables >= t->n_own && t->n_variables > 0;

  for (size_t c = 0; valid && c < t->n_clauses; c++)
    for (size_t i = 0; i < 3; i++)
      valid = valid && t->clause[c][i] != 0 && (size_t)labs((long)t->clause[c][i]) <= t->n_variables;
  return valid;
}

static bool
row_is_valid(const clarke_sign_row *r, size_t n_columns)
{
  for (size_t j = 0; j < r->n; j++)
    if (r->column[j] >= n_columns || (j > 0 && r->column[j] <= r->column[j - 1]) || abs(r->entry[j]) != 1)
      return false;
  return r->n <= CLARKE_ROW_MOST;
}

bool
clarke_sign_network_is_valid(const clarke_sign_network *net)
{
  size_t columns = net->n_inputs;
  bool valid = net->n_matrices >= 4 && net->matrix[net->n_matrices - 1].n_rows == 1;

  for (size_t k = 0; valid && k < net->n_matrices; columns = net->matrix[k++].n_rows) {
    valid = net->matrix[k].n_columns == columns;
    for (size_t i = 0; valid && i < net->matrix[k].n_rows; i++)
      valid = row_is_valid(&net->matrix[k].row[i], columns);
  }
  return valid;
}

bool
clarke_refutation_is_valid(const clarke_sat_refutation *r)
{
  bool valid = r->n > 0 && r->first_literal[0] == 0 && r->first_hint[0] == 0 && r->first_literal[r->n] == r->n_literals &&
               r->first_hint[r->n] == r->n_hints;

  for (size_t k = 0; valid && k < r->n; k++) {
    valid = r->first_literal[k] <= r->first_literal[k + 1] && r->first_hint[k] < r->first_hint[k + 1] &&
            (r->first_literal[k] == r->first_literal[k + 1]) == (k + 1 == r->n);
    for (size_t h = r->first_hint[k]; valid && h < r->first_hint[k + 1]; h++)
      valid = r->hint[h] > 0 && r->hint[h] <= r->n_given + k;
    for (size_t l = r->first_literal[k]; valid && l < r->first_literal[k + 1]; l++)
      valid = r->literal[l] != 0;
  }
  return valid;
}
