/* Identities and systems, computed in two ways (suite.h): Park et al., 3.2; thesis, Lemma 1, (2.16), chapters 1 and 4. */
#include "suite_drawn.h"

#include "cost/program.h"
#include "exact/cone.h"

#include <string.h>

#define INPUTS 2

/* --- Park et al., 3.2 --------------------------------------------------------------------------- */

#define MOST_ROWS 5
#define BOX (2 * INPUTS)

/* A half-space normal . (x, c) >= least. */
typedef struct {
  long normal[INPUTS + 1], least;
} half_space;

static long
determinant(const long a[3], const long b[3], const long c[3])
{
  return a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
}

/* Where the three borders meet, as numbers over `below` > 0; false: they meet in no single point. */
static bool
corner(long at[INPUTS + 1], long *below, const half_space *a, const half_space *b, const half_space *c)
{
  const half_space *h[3] = {a, b, c};
  long column[3][3];

  *below = determinant(a->normal, b->normal, c->normal);
  if (*below == 0)
    return false;
  for (size_t k = 0; k < 3; k++) {
    for (size_t i = 0; i < 3; i++)
      for (size_t j = 0; j < 3; j++)
        column[i][j] = j == k ? h[i]->least : h[i]->normal[j];
    at[k] = determinant(column[0], column[1], column[2]) * (*below < 0 ? -1 : 1);
  }
  *below *= *below < 0 ? -1 : 1;
  return true;
}

static bool
lies_in(const half_space *h, size_t n, const long at[INPUTS + 1], long below)
{
  for (size_t i = 0; i < n; i++)
    if (h[i].normal[0] * at[0] + h[i].normal[1] * at[1] + h[i].normal[2] * at[2] < h[i].least * below)
      return false;
  return true;
}

/* Is the greatest c with a_i . x >= c for all rows, and x in the box from -1 to 1, above 0? It is at a corner. */
static bool
optimum_is_positive(long row[][INPUTS], size_t m)
{
  static const half_space box[BOX] = {{{1, 0, 0}, -1}, {{-1, 0, 0}, -1}, {{0, 1, 0}, -1}, {{0, -1, 0}, -1}};
  half_space h[MOST_ROWS + BOX];
  long at[INPUTS + 1], below;

  for (size_t i = 0; i < m; i++)
    h[i] = (half_space){{row[i][0], row[i][1], -1}, 0};
  memcpy(h + m, box, sizeof box);
  for (size_t a = 0; a < m + BOX; a++)
    for (size_t b = 0; b < a; b++)
      for (size_t c = 0; c < b; c++)
        if (corner(at, &below, &h[a], &h[b], &h[c]) && at[INPUTS] > 0 && lies_in(h, m + BOX, at, below))
          return true;
  return false;
}

/* The strict system has a solution if and only if the linear program's optimum in a box is above 0. Those without are counted. */
clarke_status
clarke_suite_linear_program(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  const size_t m = 1 + clarke_draw_below(d, MOST_ROWS);
  long row[MOST_ROWS][INPUTS];
  clarke_cone cone;
  fmpz_mat_t a;
  clarke_status status;

  fmpz_mat_init(a, (slong)m, INPUTS);
  clarke_cone_init(&cone);
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < INPUTS; j++) {
      row[i][j] = clarke_draw_between(d, -3, 3);
      fmpz_set_si(fmpz_mat_entry(a, (slong)i, (slong)j), row[i][j]);
    }
  status = clarke_cone_solve(&cone, a, CLARKE_CONE_WORK, err);
  if (status == CLARKE_OK) {
    const bool positive = optimum_is_positive(row, m);

    t->of[CLARKE_COUNT_EMPTY] += !positive;
    clarke_suite_add(t, cone.answer == CLARKE_CONE_UNKNOWN                    ? CLARKE_UNKNOWN
                        : (cone.answer == CLARKE_CONE_FEASIBLE) == positive ? CLARKE_YES
                                                                            : CLARKE_NO);
  }
  clarke_cone_clear(&cone);
  fmpz_mat_clear(a);
  return status;
}

/* --- Thesis, Lemma 1 ---------------------------------------------------------------------------- */

#define NODES 8

/* The program, with each ReLU the multiplication by its slope at the point, if so asked. */
static clarke_status
pose_slopes(clarke_posed *q, const clarke_drawn *p, const long *at, const bool *right, clarke_error *err)
{
  clarke_text t;
  const clarke_status status = clarke_text_open(&t, err);

  if (status != CLARKE_OK)
    return status;
  fprintf(t.to, "input w[%d]\n", INPUTS);
  for (size_t i = 0; i < NODES; i++)
    if (right != NULL && p->node[i].kind == CLARKE_DRAWN_RELU)
      fprintf(t.to, "let v%zu = %d*v%zu\n", i, right[i], i - 1);
    else
      clarke_drawn_put_node(t.to, p, i, 'v', "w[", "]");
  fprintf(t.to, "output v%d\n", NODES - 1);
  return clarke_posed_read(q, &t, at, INPUTS, err);
}

/* On which sides of 0 are the ReLUs' arguments there? false: one is at 0. */
static bool
sides_of(bool *right, const clarke_drawn *p, const long *at)
{
  for (size_t i = 1; i < NODES; i++) {
    const long x = p->node[i].kind == CLARKE_DRAWN_RELU ? clarke_drawn_value(p, at, p->node[i].a) : 1;

    if (x == 0)
      return false;
    right[i] = x > 0;
  }
  return true;
}

/* Both have one value and one derivative; and what they cost, where a ReLU has a multiplication's price. */
static clarke_status
compare_slopes(bool *equal, bool *as_dear, clarke_posed q[2], clarke_error *err)
{
  mpq_t *g = clarke_rationals(2 * INPUTS), cost[2];
  clarke_status status = g != NULL ? CLARKE_OK : clarke_no_memory(err);

  mpq_inits(cost[0], cost[1], NULL);
  for (size_t k = 0; k < 2 && status == CLARKE_OK; k++) {
    clarke_count c;
    clarke_amount amount;
    clarke_prices prices;

    clarke_count_init(&c);
    clarke_amount_init(&amount);
    clarke_prices_init(&prices);
    status = clarke_posed_run(&q[k], g + k * INPUTS, err);
    if (status == CLARKE_OK)
      status = clarke_count_program(&c, &q[k].p, err);
    if (status == CLARKE_OK) {
      clarke_count_cost(&amount, &c);
      clarke_amount_price(cost[k], &amount, &prices);
    }
    clarke_prices_clear(&prices);
    clarke_amount_clear(&amount);
    clarke_count_clear(&c);
  }
  if (status == CLARKE_OK) {
    *equal = mpq_equal(q[0].d.execution.value[q[0].p.output[0]].q, q[1].d.execution.value[q[1].p.output[0]].q);
    for (size_t i = 0; i < INPUTS; i++)
      *equal = *equal && mpq_equal(g[i], g[INPUTS + i]);
    *as_dear = mpq_equal(cost[0], cost[1]);
  }
  mpq_clears(cost[0], cost[1], NULL);
  clarke_rationals_free(g, 2 * INPUTS);
  return status;
}

/* To the point, and so many times (numerator, -2 numerator) / denominator further. */
static void
move_to(clarke_posed q[2], const long *at, long numerator, unsigned long denominator)
{
  for (size_t k = 0; k < 2; k++)
    for (size_t i = 0; i < INPUTS; i++) {
      mpq_set_si(q[k].at[i], at[i] * (long)denominator + (i == 0 ? numerator : -2 * numerator), denominator);
      mpq_canonicalize(q[k].at[i]);
    }
}

/* With each ReLU replaced by its slope a program has the same value and derivative, at the point and nearby, and the same cost. Those differ
 * that have another value, or derivative, three units further on. */
clarke_status
clarke_suite_without_relus(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  bool right[NODES] = {false}, equal = true, here = false, as_dear = true;
  long at[INPUTS];
  clarke_drawn p;
  clarke_posed q[2];
  clarke_status status = CLARKE_OK;

  do {
    clarke_draw_point(at, d, INPUTS);
    clarke_drawn_draw(&p, d, at, INPUTS, NODES, CLARKE_DRAWN_RELU, false);
    for (size_t i = 0; i < NODES; i += 2)
      p.node[i].of[2] = clarke_draw_between(d, -2, 2);
    p.node[5].kind = CLARKE_DRAWN_PRODUCT;
  } while (!sides_of(right, &p, at));
  for (size_t k = 0; k < 2; k++) {
    clarke_posed_init(&q[k]);
    if (status == CLARKE_OK)
      status = pose_slopes(&q[k], &p, at, k == 1 ? right : NULL, err);
  }
  for (long step = 0; step < 4 && status == CLARKE_OK; step++) {
    move_to(q, at, step, step == 3 ? 1 : 1000000);
    status = compare_slopes(&here, &as_dear, q, err);
    equal = equal && as_dear && (here || step == 3);
    t->of[CLARKE_COUNT_DIFFER] += status == CLARKE_OK && step == 3 && !here;
  }
  if (status == CLARKE_OK)
    clarke_suite_add(t, equal ? CLARKE_YES : CLARKE_NO);
  for (size_t k = 0; k < 2; k++)
    clarke_posed_clear(&q[k]);
  return status;
}

/* --- Thesis, (2.16) ----------------------------------------------------------------------------- */

#define MOST_LAYERS 4
#define MOST_SIDE 3

/* M_i^T: rows x cols; of the diagonal behind it the constants and the variables. */
typedef struct {
  size_t layers, side[MOST_LAYERS + 1]; /* M_i^T is side[i] x side[i + 1] */
  long m[MOST_LAYERS][MOST_SIDE][MOST_SIDE], constant[MOST_LAYERS][MOST_SIDE], variable[MOST_LAYERS][MOST_SIDE];
} product;

static void
draw_product(product *p, clarke_draws *d)
{
  p->layers = 2 + clarke_draw_below(d, MOST_LAYERS - 1);
  for (size_t i = 0; i <= p->layers; i++)
    p->side[i] = i == p->layers ? 1 : 1 + clarke_draw_below(d, MOST_SIDE);
  for (size_t i = 0; i < p->layers; i++)
    for (size_t j = 0; j < MOST_SIDE; j++) {
      p->constant[i][j] = clarke_draw_between(d, 0, 1);
      p->variable[i][j] = p->constant[i][j] == 0 ? clarke_draw_between(d, -2, 2) : 0;
      for (size_t k = 0; k < MOST_SIDE; k++)
        p->m[i][k][j] = clarke_draw_between(d, -3, 3);
    }
}

/* row := row M_i^T, and then its entries times the diagonal, of which `times` are the variables. The last has no diagonal. */
static void
go_on(long *row, const product *p, size_t i, long constants, long variables)
{
  long next[MOST_SIDE] = {0};

  for (size_t j = 0; j < p->side[i + 1]; j++) {
    for (size_t k = 0; k < p->side[i]; k++)
      next[j] += row[k] * p->m[i][k][j];
    if (i + 1 < p->layers)
      next[j] *= constants * p->constant[i][j] + variables * p->variable[i][j];
  }
  memcpy(row, next, sizeof next);
}

/* Entry r of the product, a row vector to begin with. */
static long
entry_of(const product *p, size_t r, long constants, long variables)
{
  long row[MOST_SIDE] = {0};

  row[r] = 1;
  for (size_t i = 0; i < p->layers; i++)
    go_on(row, p, i, constants, variables);
  return row[0];
}

/* The same entry of the product of blocks: (M_1^T, -M_1^T), blocks of twice the side, and (M_L^T; M_L^T). They are made in full. */
static long
entry_of_blocks(const product *p, size_t r, bool as_printed)
{
  long row[2 * MOST_SIDE] = {0};

  row[r] = 1;
  for (size_t i = 0; i < p->layers; i++) {
    const size_t a = p->side[i], b = p->side[i + 1];
    const bool first = i == 0, last = i + 1 == p->layers;
    long next[2 * MOST_SIDE] = {0};

    for (size_t j = 0; j < (last ? b : 2 * b); j++)
      for (size_t k = 0; k < (first ? a : 2 * a); k++) {
        const bool upper = k < a, left = j < b;
        const long entry = first ? (left ? 1 : -1) * p->m[i][k][j % b] : last || upper == left ? p->m[i][k % a][j % b] : 0;

        next[j] += row[k] * entry;
      }
    for (size_t j = 0; !last && j < 2 * b; j++)
      next[j] *= j >= b       ? p->constant[i][j % b]
                 : as_printed ? 2 * p->variable[i][j]
                              : p->constant[i][j] + p->variable[i][j];
    memcpy(row, next, sizeof next);
  }
  return row[0];
}

/* The product of blocks is the product less its value at Q_i = 0. With D_i = Q_i + Q_i, as printed, some differ. */
clarke_status
clarke_suite_block_products(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  bool equal = true, printed = true;
  product p;

  (void)err;
  draw_product(&p, d);
  for (size_t r = 0; r < p.side[0]; r++) {
    const long less = entry_of(&p, r, 1, 1) - entry_of(&p, r, 1, 0);

    equal = equal && entry_of_blocks(&p, r, false) == less;
    printed = printed && entry_of_blocks(&p, r, true) == less;
  }
  t->of[CLARKE_COUNT_DIFFER] += !printed;
  clarke_suite_add(t, equal ? CLARKE_YES : CLARKE_NO);
  return CLARKE_OK;
}
