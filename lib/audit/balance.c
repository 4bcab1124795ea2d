#include "audit/balance.h"

#include "audit/membership.h"
#include "audit/slope_hull.h"
#include "audit/touch_row.h"
#include "exact/ball.h"
#include "exact/cone.h"
#include "exact/rank.h"

#include <stdlib.h>
#include <string.h>

#define PRECISION 256
#define DIGITS 40 /* bits of a change's largest entry, to guess the support by */
#define ROUNDS 16
#define MOST ((size_t)1 << 22)      /* entries of rows, and of changes at pivots */
#define MOST_KEPT ((size_t)1 << 24) /* entries of all cells' changes, which are kept */

typedef struct {
  const clarke_question *q;
  const clarke_cell *cell;
  size_t n, n_columns;
  const bool *effect;
  bool *split;            /* by touch: has a cell other slopes than AD? */
  size_t *group;          /* of columns, then touches: another of the same group; itself, of one that leads it */
  clarke_matrix **change; /* by cell: its gradient less AD's */
  clarke_columns columns; /* AD's slopes */
} search;

void
clarke_balance_init(clarke_balance *b)
{
  memset(b, 0, sizeof *b);
}

void
clarke_balance_clear(clarke_balance *b)
{
  free(b->cells);
  free(b->group_of);
  clarke_balance_init(b);
}

/* Does AD, or a cell of these, take option o at touch k? (AD by a mean: any.) */
static bool
in_play(const search *b, const size_t *of, size_t n, size_t k, size_t o)
{
  const clarke_touch *t = &b->q->replay->touch[k];
  const clarke_branch ad = b->q->touch[k].ad_side;
  bool any = ad == CLARKE_PROXY || clarke_side_number(t, ad) == o;

  for (size_t i = 0; i < n && !any; i++)
    any = !b->cell[of[i]].flat[k] && clarke_side_number(t, b->cell[of[i]].side[k]) == o;
  return any;
}

/* --- groups ---------------------------------------------------------------------------------- */

static size_t
leader(const search *b, size_t x)
{
  while (b->group[x] != x)
    x = b->group[x];
  return x;
}

static size_t
touch_leader(const search *b, size_t k)
{
  return leader(b, b->n_columns + k);
}

static void
join(search *b, size_t x, size_t y)
{
  b->group[leader(b, x)] = leader(b, y);
}

/* --- rows ------------------------------------------------------------------------------------ */

/* A gradient that has one entry besides 0, of certain sign: 1 or -1 there. Else nothing. */
static clarke_status
sign_row(clarke_row *row, const clarke_matrix *gradient, const clarke_graph *g, clarke_error *err)
{
  size_t column = 0, n = 0;
  arb_t x;
  mpq_t sign;
  clarke_status status = CLARKE_OK;

  arb_init(x);
  mpq_init(sign);
  for (size_t p = 0; p < g->n_parameters; p++)
    for (size_t e = 0; e < gradient[p].rows; e++)
      if (!clarke_matrix_entry_is_zero(&gradient[p], e, 0)) {
        clarke_matrix_get_ball(x, &gradient[p], e, 0, PRECISION);
        column = clarke_column_base(g, p) + e;
        n++;
      }
  mpq_set_si(sign, arb_is_positive(x) ? 1 : -1, 1);
  if (n == 1 && !arb_contains_zero(x))
    status = clarke_row_add(row, column, sign, err);
  mpq_clear(sign);
  arb_clear(x);
  return status;
}

/* Are the gradient's entries rational? Then they are the row. */
static clarke_status
rational_row(clarke_row *row, bool *exact, const clarke_matrix *gradient, const clarke_graph *g, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  mpq_t q;

  *exact = true;
  mpq_init(q);
  for (size_t p = 0; p < g->n_parameters; p++)
    for (size_t e = 0; e < gradient[p].rows && *exact && status == CLARKE_OK; e++) {
      *exact = gradient[p].radius == NULL || gradient[p].radius[e] == 0;
      clarke_matrix_get(q, &gradient[p], e, 0);
      if (mpq_sgn(q) != 0)
        status = clarke_row_add(row, clarke_column_base(g, p) + e, q, err);
    }
  mpq_clear(q);
  return status;
}

/* The row where it is known but for a positive factor, by a pass over all steps. */
static clarke_status
enclosed_row(clarke_row *row, bool *exact, search *b, size_t k, clarke_branch side, size_t condition, clarke_error *err)
{
  const clarke_graph *g = b->q->g;
  clarke_matrix *gradient = clarke_matrices_new(g->n_parameters), *grad = clarke_matrices_new(g->n_values);
  bool coupled;
  clarke_status status = gradient != NULL && grad != NULL
                           ? clarke_touch_meets(gradient, grad, &coupled, &b->columns, k, side, condition, err)
                           : clarke_no_memory(err);

  row->n = 0;
  if (status == CLARKE_OK)
    status = rational_row(row, exact, gradient, g, err);
  if (status == CLARKE_OK && !*exact) {
    row->n = 0;
    status = sign_row(row, gradient, g, err);
    *exact = row->n == 1;
  }
  clarke_row_finish(row);
  clarke_matrices_free(gradient, g->n_parameters);
  clarke_matrices_free(grad, g->n_values);
  return status;
}

/* What option o of touch k has over another, or a kink's argument: row `at`. */
static clarke_status
add_row(fmpz_mat_t a, slong at, bool *exact, search *b, size_t k, size_t o, size_t over, clarke_error *err)
{
  const clarke_touch *t = &b->q->replay->touch[k];
  const clarke_branch side = t->n_options > 0 ? clarke_side_numbered(t, o) : CLARKE_RIGHT;
  const size_t condition = t->n_options > 0 ? over : 0;
  clarke_row row;
  clarke_status status;

  clarke_row_init(&row);
  status = clarke_touch_row(&row, exact, &b->columns, k, side, condition, false, err);
  if (status == CLARKE_OK && !*exact)
    status = enclosed_row(&row, exact, b, k, side, condition, err);
  if (status == CLARKE_OK && *exact)
    clarke_row_put(a, at, &row, NULL);
  for (size_t e = 0; e < row.n; e++)
    join(b, row.column[e], b->n_columns + k);
  clarke_row_clear(&row);
  return status;
}

/* Has one of these cells other slopes than AD at the touch? */
static bool
is_in_play(const search *b, const size_t *of, size_t n, size_t k)
{
  const clarke_branch ad = b->q->touch[k].ad_side;
  bool any = false;

  for (size_t i = 0; i < n && !any; i++)
    any = !b->cell[of[i]].flat[k] && (ad == CLARKE_PROXY || ad != b->cell[of[i]].side[k]);
  return any;
}

/* The rows of one touch, behind the *n that are there. */
static clarke_status
touch_rows(fmpz_mat_t a, slong *n, bool *exact, search *b, const size_t *of, size_t n_cells, size_t k, clarke_error *err)
{
  const clarke_touch *t = &b->q->replay->touch[k];
  size_t first = CLARKE_NONE;
  clarke_status status = CLARKE_OK;

  if (t->n_options == 0)
    return add_row(a, (*n)++, exact, b, k, 0, 0, err);
  for (size_t o = 0; o < t->n_options && *exact && status == CLARKE_OK; o++) {
    if (!in_play(b, of, n_cells, k, o))
      continue;
    if (first == CLARKE_NONE)
      first = o;
    else
      status = add_row(a, (*n)++, exact, b, k, o, first, err);
  }
  return status;
}

/* The rank of the rows by which these cells may change AD's gradient, of touches of that group (CLARKE_NONE: of all); not known where one
 * is irrational. */
static clarke_status
find_rank(clarke_rank *rank, search *b, size_t group, const size_t *of, size_t n_cells, clarke_error *err)
{
  const size_t touches = b->q->replay->n_touches;
  slong most = 0, n = 0;
  bool exact = true;
  fmpz_mat_t rows;
  clarke_matrix a;
  clarke_status status = CLARKE_OK;

  for (size_t k = 0; k < touches; k++)
    most += b->split[k] ? (slong)clarke_touch_sides(&b->q->replay->touch[k]) : 0;
  if ((size_t)most * b->n_columns > MOST)
    return CLARKE_OK;
  fmpz_mat_init(rows, most, (slong)b->n_columns);
  for (size_t k = 0; k < touches && exact && status == CLARKE_OK; k++)
    if (b->split[k] && (group == CLARKE_NONE || group == touch_leader(b, k)) && is_in_play(b, of, n_cells, k))
      status = touch_rows(rows, &n, &exact, b, of, n_cells, k, err);
  clarke_matrix_init(&a);
  if (status == CLARKE_OK && exact)
    status = clarke_matrix_set_fmpz_mat(&a, rows, err);
  if (status == CLARKE_OK && exact)
    status = clarke_rank_compute(rank, &a, err);
  clarke_matrix_clear(&a);
  fmpz_mat_clear(rows);
  return status;
}

/* --- cells ----------------------------------------------------------------------------------- */

static clarke_status
find_changes(search *b, clarke_error *err)
{
  const size_t n = b->q->g->n_parameters;
  clarke_matrix *ad = clarke_matrices_new(n);
  clarke_status status = ad != NULL ? clarke_partial_gradient(ad, b->q, NULL, err) : clarke_no_memory(err);

  for (size_t i = 0; i < b->n && status == CLARKE_OK; i++) {
    b->change[i] = clarke_matrices_new(n);
    status = b->change[i] != NULL ? clarke_partial_gradient(b->change[i], b->q, b->cell[i].side, err) : clarke_no_memory(err);
    if (status == CLARKE_OK)
      status = clarke_gradients_subtract(b->change[i], ad, b->q->g, err);
  }
  clarke_matrices_free(ad, n);
  return status;
}

static void
change_at(arb_t y, const search *b, size_t i, size_t column)
{
  size_t p = 0, e = clarke_column_entry(&p, column, b->q->g);

  arb_zero(y);
  if (b->change[i][p].rows > 0)
    clarke_matrix_get_ball(y, &b->change[i][p], e, 0, PRECISION);
}

/* The change at a column, about; 0 where its sign is not known. */
static void
middle_at(arf_t x, const search *b, size_t cell, size_t column)
{
  arb_t y;

  arb_init(y);
  change_at(y, b, cell, column);
  if (arb_is_finite(y) && !arb_contains_zero(y))
    arf_set(x, arb_midref(y));
  else
    arf_zero(x);
  arb_clear(y);
}

/* In row i the cell's change at the pivots, about: as parts of the largest, for no double may hold them. */
static void
put_rounded(fmpz_mat_t a, slong i, const search *b, size_t cell, const clarke_rank *rank)
{
  arf_t x, most;

  arf_init(x);
  arf_init(most);
  for (size_t j = 0; j < rank->rank; j++) {
    middle_at(x, b, cell, rank->col[j]);
    if (arf_cmpabs(x, most) > 0)
      arf_abs(most, x);
  }
  for (size_t j = 0; j < rank->rank && !arf_is_zero(most); j++) {
    middle_at(x, b, cell, rank->col[j]);
    arf_div(x, x, most, DIGITS, ARF_RND_NEAR);
    arf_mul_2exp_si(x, x, DIGITS);
    arf_get_fmpz(fmpz_mat_entry(a, i, (slong)j), x, ARF_RND_NEAR);
  }
  arf_clear(x);
  arf_clear(most);
}

/* support: those among the n cells of `of` that have weight in some combination of all changes that nearly cancels. */
static clarke_status
find_support(size_t *support, size_t *n_support, const search *b, const size_t *of, size_t n, const clarke_rank *rank,
             clarke_error *err)
{
  fmpz_mat_t a;
  clarke_cone cone;
  clarke_status status;

  *n_support = 0;
  fmpz_mat_init(a, (slong)n, (slong)rank->rank);
  for (size_t i = 0; i < n; i++)
    put_rounded(a, (slong)i, b, of[i], rank);
  clarke_cone_init(&cone);
  status = clarke_cone_solve(&cone, a, CLARKE_CONE_LITTLE_WORK, err);
  for (size_t i = 0; i < n && status == CLARKE_OK && cone.answer == CLARKE_CONE_EMPTY; i++)
    if (fmpz_sgn(fmpz_mat_entry(cone.u, (slong)i, 0)) > 0)
      support[(*n_support)++] = of[i];
  clarke_cone_clear(&cone);
  fmpz_mat_clear(a);
  return status;
}

/* Are the weights that make the changes cancel, the first's being 1, all positive? */
static bool
weights_positive(const search *b, const size_t *support, const clarke_rank *rank)
{
  const slong d = (slong)rank->rank;
  arb_mat_t a, c, x;
  bool positive;

  arb_mat_init(a, d, d);
  arb_mat_init(c, d, 1);
  arb_mat_init(x, d, 1);
  for (slong i = 0; i <= d; i++)
    for (slong j = 0; j < d; j++)
      change_at(i == 0 ? arb_mat_entry(c, j, 0) : arb_mat_entry(a, j, i - 1), b, support[i], rank->col[j]);
  arb_mat_neg(c, c);
  positive = arb_mat_solve(x, a, c, PRECISION);
  for (slong i = 0; i < d && positive; i++)
    positive = arb_is_positive(arb_mat_entry(x, i, 0));
  arb_mat_clear(a);
  arb_mat_clear(c);
  arb_mat_clear(x);
  return positive;
}

/* --- the search ------------------------------------------------------------------------------ */

/* A derivative of the loss is followed back to the touches step by step, in each sample by itself. */
static bool
is_followed(const search *b)
{
  const clarke_graph *g = b->q->g;
  const bool couples = clarke_graph_couples(g);
  size_t first = g->n_steps;

  for (size_t k = 0; k < b->q->replay->n_touches; k++)
    if (b->split[k] && b->q->replay->touch[k].step < first)
      first = b->q->replay->touch[k].step;
  for (size_t i = 0; i < g->n_steps; i++)
    if (i > first && couples && g->steps[i].kind == CLARKE_NORMALIZE)
      return false;
  return true;
}

/* The cells of one group: those that were tried in vain leave one by one. of, n: all cells. *n_support is 0 where none do. */
static clarke_status
find_cells(size_t *support, size_t *n_support, search *b, size_t group, size_t *of, clarke_error *err)
{
  size_t n = b->n;
  bool found = false;
  clarke_rank all, rank;
  clarke_status status;

  for (size_t i = 0; i < n; i++)
    of[i] = i;
  clarke_rank_init(&all);
  status = find_rank(&all, b, group, of, n, err);
  *n_support = all.known;
  for (size_t round = 0; round < ROUNDS && n > 0 && *n_support > 0 && !found && status == CLARKE_OK; round++) {
    status = find_support(support, n_support, b, of, n, &all, err);
    if (status != CLARKE_OK || *n_support == 0)
      break;
    clarke_rank_init(&rank);
    status = find_rank(&rank, b, group, support, *n_support, err);
    found = status == CLARKE_OK && rank.known && *n_support == rank.rank + 1 && weights_positive(b, support, &rank);
    clarke_rank_clear(&rank);
    for (size_t i = 0; i < n && !found; i++)
      if (of[i] == support[round % *n_support]) {
        of[i] = of[--n];
        break;
      }
  }
  *n_support = found ? *n_support : 0;
  clarke_rank_clear(&all);
  return status;
}

/* Have two cells the same slopes at the touch? */
static bool
is_alike(const search *b, size_t i, size_t j, size_t k)
{
  const clarke_cell *x = &b->cell[i], *y = &b->cell[j];
  const clarke_branch ad = b->q->touch[k].ad_side;

  if (!b->effect[k] || (x->flat[k] && y->flat[k]))
    return true;
  return x->flat[k] ? ad != CLARKE_PROXY && ad == y->side[k]
                    : y->flat[k] ? ad != CLARKE_PROXY && ad == x->side[k] : x->side[k] == y->side[k];
}

/* The cell that has in each group what that one of support[group] has which `number` says; b->n: there is none. */
static size_t
product_cell(const search *b, const clarke_balance *found, size_t *const *support, size_t number)
{
  size_t *digit = malloc((found->n + 1) * sizeof *digit), i = digit == NULL ? b->n : 0;

  for (size_t g = found->n; digit != NULL && g-- > 0; number /= found->cells[g])
    digit[g] = support[g][number % found->cells[g]];
  for (; i < b->n; i++) {
    bool same = true;

    for (size_t k = 0; k < b->q->replay->n_touches && same; k++)
      same = found->group_of[k] == 0 || is_alike(b, i, digit[found->group_of[k] - 1], k);
    if (same)
      break;
  }
  free(digit);
  return i;
}

/* Those of all choices of the groups' cells. */
static void
choose(size_t *chosen, size_t *n_chosen, const search *b, const clarke_balance *found, size_t *const *support)
{
  size_t all = 1;

  for (size_t g = 0; g < found->n && all <= b->n; g++)
    all *= found->cells[g];
  for (size_t i = 0; i < all && all <= b->n; i++) {
    chosen[i] = product_cell(b, found, support, i);
    if (chosen[i] == b->n)
      return;
  }
  *n_chosen = all <= b->n ? all : 0;
}

static clarke_status
find_all(clarke_balance *found, size_t *chosen, size_t *n_chosen, search *b, clarke_error *err)
{
  size_t **support = calloc(found->n + 1, sizeof *support), *of = malloc((b->n + 1) * sizeof *of);
  bool all = true;
  clarke_status status = support != NULL && of != NULL ? CLARKE_OK : clarke_no_memory(err);

  for (size_t g = 0, k = 0; g < found->n && all && status == CLARKE_OK; g++) {
    while (found->group_of[k] != g + 1)
      k++;
    support[g] = malloc((b->n + 1) * sizeof **support);
    status = support[g] != NULL ? find_cells(support[g], &found->cells[g], b, touch_leader(b, k), of, err) : clarke_no_memory(err);
    all = status == CLARKE_OK && found->cells[g] > 0;
  }
  if (all && status == CLARKE_OK)
    choose(chosen, n_chosen, b, found, support);
  for (size_t g = 0; support != NULL && g < found->n; g++)
    free(support[g]);
  free(support);
  free(of);
  return status;
}

/* Touches whose rows share a column are in one group; all are where one is behind another. */
static clarke_status
group_touches(clarke_balance *found, search *b, bool behind, clarke_error *err)
{
  const size_t n = b->q->replay->n_touches;
  size_t last = CLARKE_NONE;

  found->group_of = calloc(n + 1, sizeof *found->group_of);
  found->cells = calloc(n + 1, sizeof *found->cells);
  if (found->group_of == NULL || found->cells == NULL)
    return clarke_no_memory(err);
  for (size_t k = 0; k < n; k++) {
    if (!b->split[k])
      continue;
    if (behind && last != CLARKE_NONE)
      join(b, b->n_columns + last, b->n_columns + k);
    last = k;
  }
  for (size_t k = 0; k < n; k++) {
    if (!b->split[k])
      continue;
    for (size_t i = 0; i < k && found->group_of[k] == 0; i++)
      if (b->split[i] && touch_leader(b, i) == touch_leader(b, k))
        found->group_of[k] = found->group_of[i];
    if (found->group_of[k] == 0)
      found->group_of[k] = ++found->n;
  }
  return CLARKE_OK;
}

static clarke_status
run(clarke_balance *found, size_t *chosen, size_t *n_chosen, search *b, clarke_error *err)
{
  size_t *of = malloc((b->n + 1) * sizeof *of);
  bool behind, known = false;
  clarke_rank all;
  clarke_status status = of != NULL ? clarke_slopes_split(b->split, &behind, &known, b->q, b->cell, b->n, b->effect, err)
                                    : clarke_no_memory(err);

  clarke_rank_init(&all);
  for (size_t i = 0; of != NULL && i < b->n; i++)
    of[i] = i;
  if (status == CLARKE_OK && known && is_followed(b))
    status = find_rank(&all, b, CLARKE_NONE, of, b->n, err);
  if (status == CLARKE_OK && all.known && all.rank * b->n <= MOST && b->n_columns * b->n <= MOST_KEPT) {
    status = find_changes(b, err);
    if (status == CLARKE_OK)
      status = group_touches(found, b, behind, err);
    if (status == CLARKE_OK && found->n > 0)
      status = find_all(found, chosen, n_chosen, b, err);
  }
  clarke_rank_clear(&all);
  free(of);
  return status;
}

clarke_status
clarke_balance_find(clarke_balance *found, size_t *chosen, size_t *n_chosen, const clarke_question *q, const clarke_cell *cell,
                    size_t n, const bool *effect, clarke_error *err)
{
  search b = {.q = q, .cell = cell, .n = n, .n_columns = clarke_column_base(q->g, q->g->n_parameters), .effect = effect};
  const size_t all = b.n_columns + q->replay->n_touches;
  clarke_status status = clarke_columns_init(&b.columns, q, NULL, err);

  *n_chosen = 0;
  b.split = malloc((q->replay->n_touches + 1) * sizeof *b.split);
  b.group = malloc((all + 1) * sizeof *b.group);
  b.change = calloc(n + 1, sizeof *b.change);
  if (b.split == NULL || b.group == NULL || b.change == NULL)
    status = clarke_no_memory(err);
  for (size_t i = 0; i < all && status == CLARKE_OK; i++)
    b.group[i] = i;
  if (status == CLARKE_OK)
    status = run(found, chosen, n_chosen, &b, err);
  for (size_t i = 0; b.change != NULL && i < n; i++)
    clarke_matrices_free(b.change[i], q->g->n_parameters);
  clarke_columns_clear(&b.columns);
  free(b.change);
  free(b.group);
  free(b.split);
  return status;
}
