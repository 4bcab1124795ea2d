/* Drawn convolutions with one bias, ReLU with the slope 0 at 0 and pools, of one sample (suite.h): Park, Chun and Lee's Algorithms 1 and 2, made
 * by hand, beside the sets that are found. */
#include "suite.h"
#include "suite_posed.h"

#include "exact/cone.h"

#include <string.h>

#define MOST_LAYERS 2
#define MOST_ENTRIES 10
#define PARAMETERS 3 /* of a layer: two weights, and the bias */
#define MOST_ROWS 5
#define ALL_PARAMETERS (MOST_LAYERS * PARAMETERS)

/* y_i = w0 z_i + w1 z_(i+1) + b of the layer before; of each pool's entries, which follow one another, the first of the largest. */
typedef struct {
  size_t n, n_pools, start[MOST_ENTRIES + 1]; /* pool j: entries start[j] .. start[j + 1] - 1 */
  size_t winner[MOST_ENTRIES];
  long z[MOST_ENTRIES + 1], y[MOST_ENTRIES]; /* z: what it takes, n + 1 of them */
  long row[MOST_ENTRIES][ALL_PARAMETERS];    /* AD's derivative of relu(y_i) in all parameters up to the layer's */
} convolution;

typedef struct {
  size_t n_layers;
  long w[ALL_PARAMETERS], c[MOST_ENTRIES];
  convolution layer[MOST_LAYERS];
} pooled;

static long
above(long y)
{
  return y > 0 ? y : 0;
}

/* --- drawing ---------------------------------------------------------------------------------- */

static void
draw_pools(convolution *l, clarke_draws *d)
{
  l->n_pools = 0;
  for (size_t at = 0; at < l->n;) {
    l->start[l->n_pools++] = at;
    at += 2 + clarke_draw_below(d, 2);
    at = at + 1 >= l->n ? l->n : at;
    l->start[l->n_pools] = at;
  }
}

/* What AD's derivative of z_i, an entry of what the layer takes, is by parameter k: z_i is a pool of the layer before. */
static long
derivative_before(const pooled *net, size_t layer, size_t i, size_t k)
{
  const convolution *before = &net->layer[layer - 1];

  return before->row[before->winner[i]][k];
}

static void
compute(pooled *net, size_t layer)
{
  convolution *l = &net->layer[layer];
  const long *w = &net->w[layer * PARAMETERS];

  for (size_t i = 0; i < l->n; i++) {
    l->y[i] = w[0] * l->z[i] + w[1] * l->z[i + 1] + w[2];
    for (size_t k = 0; k < ALL_PARAMETERS; k++)
      l->row[i][k] = layer > 0 && l->y[i] > 0 ? w[0] * derivative_before(net, layer, i, k) + w[1] * derivative_before(net, layer, i + 1, k) : 0;
    for (size_t k = 0; k < PARAMETERS; k++)
      l->row[i][layer * PARAMETERS + k] = l->y[i] <= 0 ? 0 : k < 2 ? l->z[i + k] : 1;
  }
  for (size_t j = 0; j < l->n_pools; j++) {
    l->winner[j] = l->start[j];
    for (size_t i = l->start[j]; i < l->start[j + 1]; i++)
      if (above(l->y[i]) > above(l->y[l->winner[j]]))
        l->winner[j] = i;
  }
}

/* The bias often puts an entry at 0, or all entries where they tie. */
static void
draw_weights(pooled *net, clarke_draws *d, size_t layer)
{
  const convolution *l = &net->layer[layer];
  const size_t i = clarke_draw_below(d, l->n);
  long *w = &net->w[layer * PARAMETERS];

  const bool flat = clarke_draw_below(d, 3) == 0; /* all entries tie */

  w[0] = flat ? 0 : clarke_draw_between(d, -1, 2);
  w[1] = flat ? 0 : clarke_draw_between(d, -1, 1);
  w[2] = clarke_draw_below(d, 2) == 0 ? -(w[0] * l->z[i] + w[1] * l->z[i + 1]) : clarke_draw_between(d, 0, 2);
}

static void
draw_net(pooled *net, clarke_draws *d, size_t n_layers)
{
  memset(net, 0, sizeof *net);
  net->n_layers = n_layers;
  net->layer[0].n = n_layers == 1 ? 4 + clarke_draw_below(d, 3) : 6 + clarke_draw_below(d, 3);
  for (size_t i = 0; i <= net->layer[0].n; i++)
    net->layer[0].z[i] = clarke_draw_between(d, -2, 2);
  for (size_t layer = 0; layer < n_layers; layer++) {
    convolution *l = &net->layer[layer];

    if (layer > 0) {
      l->n = l[-1].n_pools - 1;
      for (size_t i = 0; i <= l->n; i++)
        l->z[i] = above(l[-1].y[l[-1].winner[i]]);
    }
    draw_pools(l, d);
    draw_weights(net, d, layer);
    compute(net, layer);
  }
  for (size_t j = 0; j < net->layer[n_layers - 1].n_pools; j++)
    net->c[j] = clarke_draw_below(d, 2) ? clarke_draw_between(d, 1, 3) : -clarke_draw_between(d, 1, 3);
}

/* --- as a program ------------------------------------------------------------------------------ */

static void
put_layer(FILE *to, const pooled *net, size_t layer)
{
  const convolution *l = &net->layer[layer];
  const size_t w = layer * PARAMETERS;

  for (size_t i = 0; i < l->n; i++) {
    fprintf(to, "let a%zu_%zu = relu(", layer, i);
    for (size_t k = 0; k < 2; k++)
      if (layer == 0)
        fprintf(to, "w[%zu]*(%ld) + ", w + k, l->z[i + k]);
      else
        fprintf(to, "w[%zu]*z%zu_%zu + ", w + k, layer - 1, i + k);
    fprintf(to, "w[%zu])\n", w + 2);
  }
  for (size_t j = 0; j < l->n_pools; j++) {
    fprintf(to, "let z%zu_%zu = maxpool(", layer, j);
    for (size_t i = l->start[j]; i < l->start[j + 1]; i++)
      fprintf(to, "%sa%zu_%zu", i > l->start[j] ? ", " : "", layer, i);
    fputs(")\n", to);
  }
}

static clarke_status
pose(clarke_posed *q, const pooled *net, clarke_error *err)
{
  const size_t last = net->n_layers - 1;
  clarke_text t;
  clarke_status status = clarke_text_open(&t, err);

  if (status != CLARKE_OK)
    return status;
  fprintf(t.to, "input w[%zu]\n", net->n_layers * PARAMETERS);
  for (size_t l = 0; l < net->n_layers; l++)
    put_layer(t.to, net, l);
  for (size_t j = 0; j < net->layer[last].n_pools; j++)
    fprintf(t.to, "%s(%ld)*z%zu_%zu", j > 0 ? " + " : "output ", net->c[j], last, j);
  fputs("\n", t.to);
  return clarke_posed_read(q, &t, net->w, net->n_layers * PARAMETERS, err);
}

/* --- the algorithms ---------------------------------------------------------------------------- */

typedef struct {
  size_t n;
  long row[4 * MOST_ENTRIES][PARAMETERS];
} rows;

/* by pi_i + other pi_j, where pi is the derivative of y in the layer's own parameters. */
static void
add_row(rows *r, const convolution *l, long by, size_t i, long other, size_t j)
{
  for (size_t k = 0; k < PARAMETERS; k++)
    r->row[r->n][k] = by * (k < 2 ? l->z[i + k] : 1) + other * (k < 2 ? l->z[j + k] : 1);
  r->n++;
}

/* Each i of S_j less T_j, beside the winner: by its slope, as Algorithm 1 has it; or by 1, where the largest is above 0 (Algorithm 2). */
static void
add_ties(rows *r, const convolution *l, size_t pool, bool second)
{
  const size_t winner = l->winner[pool];
  const bool up = l->y[winner] > 0;

  for (size_t i = l->start[pool]; i < l->start[pool + 1]; i++) {
    const bool tied = i != winner && above(l->y[i]) == above(l->y[winner]);

    if (tied && memcmp(l->row[i], l->row[winner], sizeof l->row[i]) != 0 && (up || !second))
      add_row(r, l, up, winner, -(long)(l->y[i] > 0), i);
  }
}

static void
find_rows(rows *r, const convolution *l, bool second)
{
  r->n = 0;
  for (size_t i = 0; i < l->n && !second; i++)
    if (l->y[i] == 0)
      add_row(r, l, -1, i, 0, i);
  for (size_t j = 0; j < l->n_pools; j++)
    add_ties(r, l, j, second);
}

/* Is there x with <row, x> > 0 for each row? */
static clarke_status
has_solution(clarke_truth *has, const rows *r, clarke_error *err)
{
  clarke_cone cone;
  fmpz_mat_t a;
  clarke_status status;

  fmpz_mat_init(a, (slong)r->n, PARAMETERS);
  for (size_t i = 0; i < r->n; i++)
    for (size_t k = 0; k < PARAMETERS; k++)
      fmpz_set_si(fmpz_mat_entry(a, (slong)i, (slong)k), r->row[i][k]);
  clarke_cone_init(&cone);
  status = clarke_cone_solve(&cone, a, CLARKE_CONE_WORK, err);
  *has = cone.answer == CLARKE_CONE_FEASIBLE ? CLARKE_YES : cone.answer == CLARKE_CONE_EMPTY ? CLARKE_NO : CLARKE_UNKNOWN;
  clarke_cone_clear(&cone);
  fmpz_mat_clear(a);
  return status;
}

/* Draws until there is a kink at 0, or a tie that is no identity, and not too many. */
static void
draw_touched(pooled *net, clarke_draws *d)
{
  size_t n;

  do {
    n = 0;
    draw_net(net, d, 1 + clarke_draw_below(d, MOST_LAYERS));
    for (size_t l = 0; l < net->n_layers; l++) {
      rows r;

      find_rows(&r, &net->layer[l], false);
      n += r.n;
    }
  } while (n == 0 || n > MOST_ROWS);
}

static size_t
kinks_at_0(const pooled *net)
{
  size_t n = 0;

  for (size_t l = 0; l < net->n_layers; l++)
    for (size_t i = 0; i < net->layer[l].n; i++)
      n += net->layer[l].y[i] == 0;
  return n;
}

/* Algorithm 2 has no rows of kinks at 0: yet its systems have solutions where Algorithm 1's have, and no others. */
clarke_status
clarke_suite_algorithm_2(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  pooled net;
  bool known = true, same = true, empty = false, differ = false;
  clarke_status status = CLARKE_OK;

  draw_touched(&net, d);
  for (size_t l = 0; l < net.n_layers && status == CLARKE_OK; l++) {
    clarke_truth one, two;
    rows first, second;

    find_rows(&first, &net.layer[l], false);
    find_rows(&second, &net.layer[l], true);
    status = has_solution(&one, &first, err);
    if (status == CLARKE_OK)
      status = has_solution(&two, &second, err);
    if (status != CLARKE_OK)
      return status;
    known = known && one != CLARKE_UNKNOWN && two != CLARKE_UNKNOWN;
    same = same && one == two;
    empty = empty || one == CLARKE_NO;
    differ = differ || first.n != second.n;
  }
  t->of[CLARKE_COUNT_TOUCHED] += kinks_at_0(&net);
  t->of[CLARKE_COUNT_EMPTY] += empty;
  t->of[CLARKE_COUNT_DIFFER] += differ;
  clarke_suite_add(t, !known ? CLARKE_UNKNOWN : same ? CLARKE_YES : CLARKE_NO);
  return status;
}

static clarke_status
all_have_solutions(clarke_truth *have, const pooled *net, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  *have = CLARKE_YES;
  for (size_t l = 0; l < net->n_layers && status == CLARKE_OK && *have == CLARKE_YES; l++) {
    rows r;

    find_rows(&r, &net->layer[l], false);
    status = has_solution(have, &r, err);
  }
  return status;
}

/* Theorem 8: where all P_l have solutions AD's output is in the Bouligand set. Instances with an empty one are drawn, too: they count as empty,
 * and as differing where AD's output is in the set all the same. */
clarke_status
clarke_suite_theorem_8(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  pooled net;
  clarke_posed q;
  clarke_truth have = CLARKE_UNKNOWN;
  clarke_status status;

  draw_touched(&net, d);
  clarke_posed_init(&q);
  status = all_have_solutions(&have, &net, err);
  if (status == CLARKE_OK)
    status = pose(&q, &net, err);
  if (status == CLARKE_OK)
    status = clarke_posed_derive(&q, err);
  t->of[CLARKE_COUNT_TOUCHED] += kinks_at_0(&net);
  t->of[CLARKE_COUNT_EMPTY] += have == CLARKE_NO;
  t->of[CLARKE_COUNT_DIFFER] += have == CLARKE_NO && q.d.verdict == CLARKE_IN_BOULIGAND;
  if (status == CLARKE_OK && have != CLARKE_NO)
    clarke_suite_add(t, have == CLARKE_UNKNOWN || q.d.verdict == CLARKE_UNDECIDED ? CLARKE_UNKNOWN
                        : q.d.verdict == CLARKE_IN_BOULIGAND                      ? CLARKE_YES
                                                                                   : CLARKE_NO);
  clarke_posed_clear(&q);
  return status;
}

/* Appendix J.1: Algorithm 1 has at most |A| - |B| + sum of |S_j| rows, A being the touched kinks, and B the pools of several largest entries.
 * Those that have fewer differ. */
clarke_status
clarke_suite_constraints(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  pooled net;
  bool within = true, fewer = false;

  (void)err;
  draw_touched(&net, d);
  for (size_t i = 0; i < net.n_layers; i++) {
    const convolution *l = &net.layer[i];
    size_t most = 0;
    rows r;

    for (size_t k = 0; k < l->n; k++)
      most += l->y[k] == 0;
    for (size_t j = 0; j < l->n_pools; j++) {
      size_t largest = 0;

      for (size_t k = l->start[j]; k < l->start[j + 1]; k++)
        largest += above(l->y[k]) == above(l->y[l->winner[j]]);
      most += largest - 1;
    }
    find_rows(&r, l, false);
    within = within && r.n <= most;
    fewer = fewer || r.n < most;
  }
  t->of[CLARKE_COUNT_TOUCHED] += kinks_at_0(&net);
  t->of[CLARKE_COUNT_DIFFER] += fewer;
  clarke_suite_add(t, within ? CLARKE_YES : CLARKE_NO);
  return CLARKE_OK;
}
