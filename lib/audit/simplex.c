#include "audit/simplex.h"

#include "exact/ball.h"
#include "exact/rank.h"
#include "audit/enumerate.h"
#include "audit/membership.h"
#include "base/verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PRECISION 256
#define DIGITS 40 /* bits of a change's largest entry, to guess the support by */
#define ROUNDS 64
#define MORE 8 /* random cells of a round */

void
clarke_simplex_init(clarke_simplex *x)
{
  memset(x, 0, sizeof *x);
}

void
clarke_simplex_clear(clarke_simplex *x)
{
  for (size_t i = 0; i < x->n; i++)
    clarke_direction_clear(&x->direction[i]);
  free(x->direction);
  free(x->touch);
  clarke_simplex_init(x);
}

/* --- the span ------------------------------------------------------------------------------- */

/* Do the cells, or AD, take option o at the touch? (AD at a proxy, or by a mean: any.) */
static bool
in_play(const clarke_sample *s, const size_t *cell, size_t n, size_t class, size_t touch, size_t o,
        const clarke_question *q)
{
  const clarke_branch ad = q->touch[touch].ad_side;
  bool any = ad == CLARKE_PROXY || ad == clarke_side_numbered(&q->replay->touch[touch], o);

  for (size_t i = 0; i < n && !any; i++)
    any = s->cell[cell[i] * s->classes.n + class] == o;
  return any;
}

/* pair[o * options + p]: may a cell change AD's gradient by multiples of what the class's option o has over p? Of a
 * touch, the options in play are compared with the first of them. */
static void
mark_pairs(bool *pair, const clarke_sample *s, const size_t *cell, size_t n, size_t class,
           const clarke_question *q)
{
  const clarke_class *c = &s->classes.class[class];

  memset(pair, 0, c->options * c->options * sizeof *pair);
  for (size_t k = 0; k < c->n; k++) {
    size_t first = c->options;

    if (arb_is_zero(q->touch[c->touch[k]].adjoint))
      continue;
    for (size_t o = 0; o < c->options; o++)
      if (in_play(s, cell, n, class, c->touch[k], o, q)) {
        first = first == c->options ? o : first;
        pair[o * c->options + first] = o != first;
      }
  }
}

/* The rank of the rows by which these cells may change AD's gradient. */
static clarke_status
find_rank(clarke_rank *rank, const clarke_sample *s, const size_t *cell, size_t n_cells,
          const clarke_question *q, clarke_error *err)
{
  const clarke_classes *c = &s->classes;
  slong n = 0;
  size_t most = 0;
  fmpz_mat_t rows;
  clarke_matrix a;
  clarke_row row;
  bool *pair;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < c->n; i++) {
    most = c->class[i].options > most ? c->class[i].options : most;
    n += (slong)(c->class[i].options * c->class[i].options);
  }
  pair = malloc(most * most + 1);
  if (pair == NULL)
    return clarke_no_memory(err);
  fmpz_mat_init(rows, n, (slong)c->n_columns);
  n = 0;
  for (size_t i = 0; i < c->n; i++) {
    mark_pairs(pair, s, cell, n_cells, i, q);
    for (size_t o = 0; o < c->class[i].options * c->class[i].options && status == CLARKE_OK; o++) {
      if (!pair[o])
        continue;
      clarke_row_init(&row);
      status = clarke_class_condition(&row, &c->class[i], o / c->class[i].options,
                                         o % c->class[i].options, err);
      clarke_row_put(rows, n++, &row, c->column);
      clarke_row_clear(&row);
    }
  }
  clarke_matrix_init(&a);
  if (status == CLARKE_OK)
    status = clarke_matrix_set_fmpz_mat(&a, rows, err);
  if (status == CLARKE_OK)
    status = clarke_rank_compute(rank, &a, err);
  clarke_matrix_clear(&a);
  fmpz_mat_clear(rows);
  free(pair);
  return status;
}

/* --- the support, a guess ------------------------------------------------------------------- */

/* support: cells with weight in some combination of all changes that nearly cancels. *n: how many. */
static clarke_status
find_support(size_t *support, size_t *n, const clarke_sample *s, const clarke_rank *rank,
             clarke_error *err)
{
  const size_t columns = s->classes.n_columns;
  fmpz_mat_t a;
  clarke_cone cone;
  clarke_status status;

  *n = 0;
  fmpz_mat_init(a, (slong)s->n, (slong)rank->rank);
  for (size_t i = 0; i < s->n; i++) {
    double most = 0;

    for (size_t j = 0; j < rank->rank; j++)
      most = fmax(most, fabs(s->change[i * columns + rank->col[j]]));
    for (size_t j = 0; j < rank->rank && most > 0; j++)
      fmpz_set_d(fmpz_mat_entry(a, (slong)i, (slong)j),
                 rint(ldexp(s->change[i * columns + rank->col[j]] / most, DIGITS)));
  }
  clarke_cone_init(&cone);
  status = clarke_cone_solve(&cone, a, CLARKE_CONE_WORK, err);
  for (size_t i = 0; i < s->n && status == CLARKE_OK && cone.answer == CLARKE_CONE_EMPTY; i++)
    if (fmpz_sgn(fmpz_mat_entry(cone.u, (slong)i, 0)) > 0)
      support[(*n)++] = i;
  clarke_cone_clear(&cone);
  fmpz_mat_clear(a);
  return status;
}

/* --- the proof ------------------------------------------------------------------------------ */

/* A direction to the cell, exactly. */
static clarke_status
find_direction(bool *found, clarke_direction *d, const clarke_classes *c, const size_t *option,
               const clarke_graph *g, clarke_error *err)
{
  size_t n = 0, all = 0;
  clarke_cone_answer answer = CLARKE_CONE_UNKNOWN;
  clarke_row *row;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < c->n; i++)
    all += c->class[i].options - 1;
  row = malloc((all + 1) * sizeof *row);
  if (row == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < all; i++)
    clarke_row_init(&row[i]);
  for (size_t i = 0; i < c->n; i++)
    for (size_t o = 0; o < c->class[i].options && status == CLARKE_OK; o++)
      if (o != option[i])
        status = clarke_class_condition(&row[n++], &c->class[i], option[i], o, err);
  if (status == CLARKE_OK)
    status = clarke_system_solve(&answer, d, NULL, row, n, g, err);
  *found = status == CLARKE_OK && answer == CLARKE_CONE_FEASIBLE;
  for (size_t i = 0; i < all; i++)
    clarke_row_clear(&row[i]);
  free(row);
  return status;
}

/* What AD's output is less the cell's gradient at the pivots: column `at` of a; entry by entry. */
static clarke_status
put_change(arb_mat_t a, slong at, clarke_matrix *const ad, const clarke_sample *s, size_t cell,
           const clarke_rank *rank, const clarke_question *q, clarke_error *err)
{
  const clarke_classes *c = &s->classes;
  clarke_matrix *gradient = clarke_matrices_new(q->g->n_parameters);
  clarke_branch *side = calloc(q->replay->n_touches + 1, sizeof *side);
  arb_t x;
  clarke_status status = gradient != NULL && side != NULL
                           ? CLARKE_OK
                           : clarke_no_memory(err);

  for (size_t i = 0; i < c->n && status == CLARKE_OK; i++)
    for (size_t k = 0; k < c->class[i].n; k++) {
      size_t touch = c->class[i].touch[k];

      side[touch] = clarke_side_numbered(&q->replay->touch[touch], s->cell[cell * c->n + i]);
    }
  if (status == CLARKE_OK)
    status = clarke_partial_gradient(gradient, q, side, err);
  arb_init(x);
  for (size_t j = 0; j < rank->rank && status == CLARKE_OK; j++) {
    size_t p = 0, e = clarke_column_entry(&p, c->column[rank->col[j]], q->g);
    arb_ptr to = arb_mat_entry(a, (slong)j, at);

    arb_zero(to);
    if (ad[p].rows > 0)
      clarke_matrix_get_ball(to, &ad[p], e, 0, PRECISION);
    if (gradient[p].rows > 0) {
      clarke_matrix_get_ball(x, &gradient[p], e, 0, PRECISION);
      arb_sub(to, to, x, PRECISION);
    }
  }
  arb_clear(x);
  clarke_matrices_free(gradient, q->g->n_parameters);
  free(side);
  return status;
}

/* Are the weights that make the changes cancel, the first's being 1, all positive? */
static clarke_status
weights_positive(bool *positive, const size_t *support, const clarke_sample *s,
                 const clarke_rank *rank, const clarke_question *q, clarke_error *err)
{
  const slong d = (slong)rank->rank;
  clarke_matrix *ad = clarke_matrices_new(q->g->n_parameters);
  arb_mat_t a, b, x;
  clarke_status status = ad != NULL ? clarke_partial_gradient(ad, q, NULL, err) : clarke_no_memory(err);

  arb_mat_init(a, d, d);
  arb_mat_init(b, d, 1);
  arb_mat_init(x, d, 1);
  for (slong i = 0; i <= d && status == CLARKE_OK; i++)
    status = put_change(i == 0 ? b : a, i == 0 ? 0 : i - 1, ad, s, support[i], rank, q, err);
  arb_mat_neg(b, b);
  *positive = status == CLARKE_OK && arb_mat_solve(x, a, b, PRECISION);
  for (slong i = 0; i < d && *positive; i++)
    *positive = arb_is_positive(arb_mat_entry(x, i, 0));
  arb_mat_clear(a);
  arb_mat_clear(b);
  arb_mat_clear(x);
  clarke_matrices_free(ad, q->g->n_parameters);
  return status;
}

/* --- the search ----------------------------------------------------------------------------- */

static void
remove_cell(clarke_sample *s, size_t i)
{
  const size_t classes = s->classes.n, columns = s->classes.n_columns, last = --s->n;

  memmove(s->cell + i * classes, s->cell + last * classes, classes * sizeof *s->cell);
  memmove(s->change + i * columns, s->change + last * columns, columns * sizeof *s->change);
}

/* Directions for the cells of the support; the first that has none leaves s. */
static clarke_status
find_directions(bool *found, clarke_simplex *x, clarke_sample *s, const size_t *support, size_t n,
                const clarke_graph *g, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  x->direction = malloc((n + 1) * sizeof *x->direction);
  if (x->direction == NULL)
    return clarke_no_memory(err);
  *found = true;
  for (size_t i = 0; i < n && *found && status == CLARKE_OK; i++) {
    clarke_direction_init(&x->direction[x->n++]);
    status = find_direction(found, &x->direction[i], &s->classes,
                            s->cell + support[i] * s->classes.n, g, err);
    if (status == CLARKE_OK && !*found)
      remove_cell(s, support[i]);
  }
  return status;
}

static int
compare_touches(const void *a, const void *b)
{
  const size_t *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

static clarke_status
list_touches(clarke_simplex *x, const clarke_classes *c, clarke_error *err)
{
  size_t all = 0;

  for (size_t i = 0; i < c->n; i++)
    all += c->class[i].n;
  x->touch = malloc((all + 1) * sizeof *x->touch);
  if (x->touch == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < c->n; i++)
    for (size_t k = 0; k < c->class[i].n; k++)
      x->touch[x->n_touches++] = c->class[i].touch[k];
  qsort(x->touch, all, sizeof *x->touch, compare_touches);
  return CLARKE_OK;
}

/* Where floats saw too few. */
static void
draw_more(clarke_sample *s)
{
  for (size_t i = 0; i < MORE; i++)
    clarke_sample_draw(s);
}

/* all: the rank of all cells' rows. */
static clarke_status
try_support(bool *found, clarke_simplex *x, clarke_sample *s, size_t *support,
            const clarke_rank *all, const clarke_question *q, clarke_error *err)
{
  size_t n;
  clarke_rank rank;
  clarke_status status = find_support(support, &n, s, all, err);

  *found = false;
  clarke_rank_init(&rank);
  if (status == CLARKE_OK && n > 0)
    status = find_rank(&rank, s, support, n, q, err);
  if (status == CLARKE_OK && n > 0 && rank.known && n == rank.rank + 1)
    status = weights_positive(found, support, s, &rank, q, err);
  if (status == CLARKE_OK && !*found)
    draw_more(s);
  if (status == CLARKE_OK && *found) {
    clarke_simplex_clear(x);
    status = find_directions(found, x, s, support, n, q->g, err);
  }
  clarke_rank_clear(&rank);
  return status;
}

clarke_status
clarke_simplex_find(bool *found, clarke_simplex *x, clarke_sample *s, const clarke_question *q,
                    clarke_error *err)
{
  size_t *support = malloc((s->most + 1) * sizeof *support);
  clarke_rank all;
  clarke_status status = support != NULL ? CLARKE_OK
                                         : clarke_no_memory(err);

  *found = false;
  clarke_rank_init(&all);
  for (size_t i = 0; i < s->n && status == CLARKE_OK; i++)
    support[i] = i;
  if (status == CLARKE_OK)
    status = find_rank(&all, s, support, s->n, q, err);
  /* A round that leaves the cells as they were would be the same again. */
  for (size_t i = 0, before = 0; i < ROUNDS && !*found && status == CLARKE_OK && all.known && s->n != before; i++) {
    before = s->n;
    status = try_support(found, x, s, support, &all, q, err);
  }
  if (status == CLARKE_OK && *found)
    status = list_touches(x, &s->classes, err);
  clarke_rank_clear(&all);
  free(support);
  CLARKE_VERIFY_CHECK(status != CLARKE_OK || !*found || clarke_simplex_is_valid(x, q));
  return status;
}
