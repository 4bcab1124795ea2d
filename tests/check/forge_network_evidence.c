#include "forge_network_evidence.h"

#include "../network/models.h"

const char *const evidence_name[] = {"ad", "compensation", "mix", "hull", "simplices", "balance", "separator", "bound"};

static bool
once_in(size_t n, uint64_t *state)
{
  return draw_below(state, n) == 0;
}

/* Of half the proofs all is right that can be, but for what must be forged. */
static bool careful;

static bool
slips(size_t n, uint64_t *state)
{
  return !careful && once_in(n, state);
}

/* --- what a choice of sides makes of the network ------------------------------------------------------- */

enum { MOST_ROWS = 64 };

typedef struct {
  size_t dim, mark;
  const series **y;
  mpq_t *gradient;
  bool rounded;
  /* What the sides ask to be positive: derivatives. */
  size_t n;
  mpq_t *row[MOST_ROWS];
  size_t of[MOST_ROWS], option[MOST_ROWS];
  bool left[MOST_ROWS]; /* of a kink on its left: turned */
} view;

static const series *
argument_of(const view *v, const scene *s, size_t k, size_t option)
{
  const site *at = &s->site[k];

  return v->y[s->net->f.at[at->instruction].in[at->options > 0 ? at->entry[option] : 0]];
}

static void
add_row(view *v, const scene *s, size_t k, int side, size_t option)
{
  const series *q = argument_of(v, s, k, s->site[k].options > 0 ? (size_t)side - 1 : 0);

  if (v->n == MOST_ROWS)
    return;
  if (s->site[k].options > 0)
    q = series_add(q, argument_of(v, s, k, option), (small){-1, 1});
  v->row[v->n] = numbers(v->dim);
  gradient_of(v->row[v->n], q, v->dim);
  for (size_t i = 0; i < v->dim && side < 0; i++)
    mpq_neg(v->row[v->n][i], v->row[v->n][i]);
  v->of[v->n] = k;
  v->left[v->n] = side < 0;
  v->option[v->n++] = option;
}

/* Sides by touched kink; of one that is 0, AD's slope, and no rows. */
static void
look(view *v, const scene *s, const int *side)
{
  const formula *f = &s->net->f;
  int *all = calloc(f->n + 1, sizeof *all);

  *v = (view){.dim = s->net->claim.n_variables, .mark = series_mark(), .y = malloc((f->n + 1) * sizeof *v->y)};
  for (size_t k = 0; k < s->n; k++)
    all[s->site[k].instruction] = s->site[k].options > 0 && side[k] > 0 ? (int)s->site[k].entry[side[k] - 1] + 1
                                                                        : side[k];
  formula_follow(v->y, f, &s->net->claim, all);
  v->gradient = numbers(v->dim);
  gradient_of(v->gradient, v->y[f->loss[s->net->claim.loss]], v->dim);
  v->rounded = v->y[f->loss[s->net->claim.loss]]->rounded;
  for (size_t k = 0; k < s->n; k++)
    for (size_t o = 0; side[k] != 0 && o < (s->site[k].options > 0 ? s->site[k].options : 1); o++)
      if (s->site[k].options == 0 || (int)o + 1 != side[k])
        add_row(v, s, k, side[k], o);
  free(all);
}

static void
look_away(view *v)
{
  for (size_t i = 0; i < v->n; i++)
    numbers_free(v->row[i], v->dim);
  numbers_free(v->gradient, v->dim);
  free(v->y);
  series_release(v->mark);
}

static bool
is_zero(mpq_t *x, size_t n)
{
  size_t i = 0;

  while (i < n && mpq_sgn(x[i]) == 0)
    i++;
  return i == n;
}

static void
dot(mpq_t sum, mpq_t *a, mpq_t *b, size_t n)
{
  mpq_t t;

  mpq_init(t);
  mpq_set_si(sum, 0, 1);
  for (size_t i = 0; i < n; i++) {
    mpq_mul(t, a[i], b[i]);
    mpq_add(sum, sum, t);
  }
  mpq_clear(t);
}

/* The nearest multiple of 1/256. */
static void
make_short(mpq_t q)
{
  if (mpz_sizeinbase(mpq_denref(q), 2) > 64)
    mpq_set_d(q, (double)(long)(mpq_get_d(q) * 256) / 256);
}

/* --- linear programs -------------------------------------------------------------------------------------- */

/* A d whose product with each of the n rows is at least 1, those with `still` exactly 0; false: the nearest to it. */
static bool
positive_direction(mpq_t *d, mpq_t **row, const bool *still, size_t n, size_t dim)
{
  size_t columns = 2 * dim + n;
  mpq_t **a = malloc((columns + 1) * sizeof *a), *b = numbers(n), *x = numbers(columns), distance;
  bool found;

  for (size_t j = 0; j < columns; j++)
    a[j] = numbers(n);
  for (size_t r = 0; r < n; r++) {
    for (size_t i = 0; i < dim; i++) {
      mpq_set(a[i][r], row[r][i]);
      mpq_neg(a[dim + i][r], row[r][i]);
    }
    if (still != NULL && still[r])
      continue;
    mpq_set_si(a[2 * dim + r][r], -1, 1);
    mpq_set_si(b[r], 1, 1);
  }
  mpq_init(distance);
  nearest(distance, x, n, columns, a, b);
  found = mpq_sgn(distance) == 0;
  for (size_t i = 0; i < dim; i++)
    mpq_sub(d[i], x[i], x[dim + i]);
  mpq_clear(distance);
  for (size_t j = 0; j < columns; j++)
    numbers_free(a[j], n);
  free(a);
  numbers_free(b, n);
  numbers_free(x, columns);
  return found;
}

/* Weights of sum 1 whose combination of the n vectors is b (NULL: 0), or the nearest. */
static bool
combination(mpq_t *u, mpq_t **vector, size_t n, size_t dim, mpq_t *b, bool rounded)
{
  mpq_t **a = malloc((n + 1) * sizeof *a), *right = numbers(dim + 1), distance;
  bool found;

  for (size_t j = 0; j < n; j++) {
    a[j] = numbers(dim + 1);
    for (size_t i = 0; i < dim; i++)
      mpq_set(a[j][i], vector[j][i]);
    mpq_set_si(a[j][dim], 1, 1);
  }
  for (size_t i = 0; i < dim && b != NULL; i++)
    mpq_set(right[i], b[i]);
  mpq_set_si(right[dim], 1, 1);
  mpq_init(distance);
  nearest(distance, u, dim + 1, n, a, right);
  found = number_sign(distance, rounded) == 0;
  mpq_clear(distance);
  for (size_t j = 0; j < n; j++)
    numbers_free(a[j], dim + 1);
  free(a);
  numbers_free(right, dim + 1);
  return found;
}

/* --- directions ------------------------------------------------------------------------------------------- */

static void
put_rational(FILE *out, const mpq_t q)
{
  mpq_out_str(out, 10, q);
}

static void
put_direction(FILE *out, const scene *s, mpq_t *d)
{
  size_t index;

  fputs("direction\n", out);
  for (size_t i = 0; i < s->net->claim.n_variables; i++)
    if (mpq_sgn(d[i]) != 0) {
      fprintf(out, "move %s at ", entry_name(&index, s, i));
      fprintf(out, "%zu ", index);
      put_rational(out, d[i]);
      fputc('\n', out);
    }
}

static void
draw_direction(mpq_t *d, size_t dim, uint64_t *state)
{
  long wide = once_in(3, state) ? 3 : 1;

  do
    for (size_t i = 0; i < dim; i++)
      mpq_set_si(d[i], draw_between(state, -wide, wide), 1);
  while (is_zero(d, dim));
}

/* Is the direction good for all rows, and for which is it 0? Takes those it decides out. */
static bool
bears(mpq_t *d, mpq_t **row, size_t *n, size_t dim, bool take)
{
  size_t kept = 0;
  bool good = true;
  mpq_t t;

  mpq_init(t);
  for (size_t r = 0; r < *n; r++) {
    dot(t, d, row[r], dim);
    good = good && mpq_sgn(t) >= 0;
    if (mpq_sgn(t) == 0)
      row[kept++] = row[r];
  }
  if (take && good)
    *n = kept;
  mpq_clear(t);
  return good;
}

/* Wrong directions for the rows. */
static void
put_wrong_directions(FILE *out, const scene *s, mpq_t **row, size_t n, uint64_t *state)
{
  size_t dim = s->net->claim.n_variables, count = draw_below(state, 4);
  mpq_t *d = numbers(dim);

  if (once_in(3, state)) {
    fputs("directions 0\n", out);
    numbers_free(d, dim);
    return;
  }
  if (n > 0 && once_in(2, state)) {
    size_t left = draw_below(state, n);
    mpq_t *last = row[n - 1];

    row[n - 1] = row[left];
    row[left] = last;
    positive_direction(d, row, NULL, n - draw_below(state, 2), dim);
    if (!is_zero(d, dim)) {
      fputs("directions 1\n", out);
      put_direction(out, s, d);
      numbers_free(d, dim);
      return;
    }
  }
  fprintf(out, "directions %zu\n", count);
  for (; count > 0; count--) {
    draw_direction(d, dim, state);
    put_direction(out, s, d);
  }
  numbers_free(d, dim);
}

/* `directions` for the cell of the view, right ones when there are some of first order, and seldom even then. */
static void
put_directions(FILE *out, const scene *s, const view *v, uint64_t *state)
{
  mpq_t *row[MOST_ROWS], *d = numbers(v->dim), *first = numbers(v->dim);
  size_t n = 0;
  bool two = false;

  for (size_t r = 0; r < v->n; r++)
    if (!is_zero(v->row[r], v->dim))
      row[n++] = v->row[r];
  if (once_in(4, state)) {
    draw_direction(first, v->dim, state);
    two = bears(first, row, &n, v->dim, true);
  }
  if (n == 0 && !two)
    fputs("directions 0\n", out);
  else if (!positive_direction(d, row, NULL, n, v->dim) || slips(8, state))
    put_wrong_directions(out, s, row, n, state);
  else {
    bool more = !is_zero(d, v->dim);

    fprintf(out, "directions %d\n", two + more);
    if (two)
      put_direction(out, s, first);
    if (more)
      put_direction(out, s, d);
  }
  numbers_free(d, v->dim);
  numbers_free(first, v->dim);
}

static int
draw_side(const site *k, uint64_t *state)
{
  return k->options > 0 ? 1 + (int)draw_below(state, k->options) : once_in(2, state) ? -1 : 1;
}

static void
put_cell(FILE *out, const scene *s, const int *side, uint64_t *state)
{
  view v;

  look(&v, s, side);
  put_directions(out, s, &v, state);
  look_away(&v);
}

/* --- ad, mix ------------------------------------------------------------------------------------------------ */

/* AD's sides; a drawn one, or none, where it has none. */
static void
own_sides(int *side, const scene *s, uint64_t *state)
{
  scene_ad_sides(side, s);
  for (size_t k = 0; k < s->n; k++)
    if (side[k] == 0 && once_in(2, state))
      side[k] = draw_side(&s->site[k], state);
}

bool
forge_ad(FILE *out, scene *s, clarke_verdict v, uint64_t *state)
{
  int side[MOST_TOUCHED];

  (void)v;
  own_sides(side, s, state);
  fputs("evidence ad\ncell ad\n", out);
  put_cell(out, s, side, state);
  return true;
}

/* All touched kinks are cut off, none, the later ones, or any. */
bool
forge_compensation(FILE *out, scene *s, clarke_verdict v, uint64_t *state)
{
  const size_t how = draw_below(state, 4), first = draw_below(state, s->n + 1);

  (void)v;
  fputs("evidence compensation\n", out);
  for (size_t k = 0; k < s->n; k++)
    if (how == 0 || (how == 2 && k >= first) || (how == 3 && draw_below(state, 2)))
      fprintf(out, "cut %zu\n", k);
  return true;
}

/* lambda left + (1 - lambda) right = the proxy */
static void
share_of_left(mpq_t lambda, const scene *s, size_t k)
{
  const site *at = &s->site[k];
  const instruction *i = &s->net->f.at[at->instruction];
  const proxy *p = &s->net->claim.proxy[i->operator][i->pieces.first + at->kink];
  mpq_t left, right;

  mpq_inits(left, right, NULL);
  side_slope(left, &s->net->f, at->instruction, at->kink, false, s->y);
  side_slope(right, &s->net->f, at->instruction, at->kink, true, s->y);
  number_of(lambda, p->kind == PROXY_NUMBER ? p->number : (small){1, 2});
  mpq_sub(lambda, lambda, right);
  mpq_sub(left, left, right);
  if (mpq_sgn(left) != 0)
    mpq_div(lambda, lambda, left);
  mpq_clears(left, right, NULL);
}

bool
forge_mix(FILE *out, scene *s, clarke_verdict v, uint64_t *state)
{
  size_t node[MOST_TOUCHED], n = 0;
  int side[MOST_TOUCHED];
  mpq_t lambda;

  (void)v;
  mpq_init(lambda);
  for (size_t k = 0; k < s->n; k++) {
    size_t own = s->net->f.at[s->site[k].instruction].node;

    if (s->site[k].options > 0 || (n > 0 && node[n - 1] == own) || n == 3)
      continue;
    share_of_left(lambda, s, k);
    if ((mpq_sgn(lambda) > 0 && mpq_cmp_si(lambda, 1, 1) < 0) || once_in(6, state))
      node[n++] = own;
  }
  fprintf(out, "evidence mix %zu\n", n);
  for (size_t i = 0; i < n; i++) {
    size_t k = 0;

    while (s->net->f.at[s->site[k].instruction].node != node[i])
      k++;
    share_of_left(lambda, s, k);
    if (mpq_sgn(lambda) <= 0 || mpq_cmp_si(lambda, 1, 1) >= 0 || slips(10, state))
      if (once_in(2, state))
        mpq_set_si(lambda, 1, 2);
    fprintf(out, "mix %s ", s->net->m.nodes[node[i]].name);
    put_rational(out, lambda);
    fputc('\n', out);
  }
  mpq_clear(lambda);
  for (size_t mask = 0; n > 0 && mask < (size_t)1 << n; mask++) {
    fputs("cell mix ", out);
    for (size_t i = 0; i < n; i++)
      fputc("-+"[mask >> (n - 1 - i) & 1], out);
    fputc('\n', out);
    own_sides(side, s, state);
    for (size_t k = 0; k < s->n; k++)
      for (size_t i = 0; i < n; i++)
        if (s->net->f.at[s->site[k].instruction].node == node[i])
          side[k] = mask >> (n - 1 - i) & 1 ? 1 : -1;
    put_cell(out, s, side, state);
  }
  return n > 0;
}

/* --- hull ---------------------------------------------------------------------------------------------------- */

enum { MOST_CELLS = 6 };

static void
put_sides(FILE *out, const scene *s, const int *side)
{
  for (size_t k = 0; k < s->n; k++)
    fputc(s->site[k].options > 0 ? 'a' + side[k] - 1 : side[k] < 0 ? '-' : '+', out);
  fputs(s->n == 0 ? ".\n" : "\n", out);
}

/* Cells that are realized to first order, mostly. */
static size_t
draw_cells(int (*side)[MOST_TOUCHED], mpq_t **gradient, bool *rounded, const scene *s, size_t most, uint64_t *state)
{
  size_t n = 0, dim = s->net->claim.n_variables;
  mpq_t *d = numbers(dim);

  for (size_t tries = 0; tries < 3 * most && n < most; tries++) {
    mpq_t *row[MOST_ROWS];
    size_t rows = 0;
    view v;

    for (size_t k = 0; k < s->n; k++)
      side[n][k] = draw_side(&s->site[k], state);
    look(&v, s, side[n]);
    for (size_t r = 0; r < v.n; r++)
      if (!is_zero(v.row[r], dim))
        row[rows++] = v.row[r];
    if (positive_direction(d, row, NULL, rows, dim) || slips(4, state)) {
      *rounded = *rounded || v.rounded;
      gradient[n] = numbers(dim);
      for (size_t i = 0; i < dim; i++)
        mpq_set(gradient[n][i], v.gradient[i]);
      n++;
    }
    look_away(&v);
  }
  numbers_free(d, dim);
  return n;
}

/* Weights, wrong in one way or other where none are right. */
static void
spoil_weights(mpq_t *weight, size_t n, uint64_t *state)
{
  size_t i = draw_below(state, n), j = draw_below(state, n);
  mpq_t by;

  mpq_init(by);
  mpq_set_si(by, draw_between(state, -2, 2), (unsigned long)draw_between(state, 1, 3));
  mpq_canonicalize(by);
  mpq_add(weight[i], weight[i], by);
  if (once_in(2, state))
    mpq_sub(weight[j], weight[j], by);
  mpq_clear(by);
}

/* Weights of any sign and any sum whose combination is AD's output: what a hull would be with no rule on them. */
static void
free_weights(mpq_t *weight, mpq_t **gradient, size_t n, const scene *s, bool affine)
{
  size_t dim = s->net->claim.n_variables;
  mpq_t **a = malloc((2 * n + 1) * sizeof *a), *b = numbers(dim + 1), *x = numbers(2 * n), distance;

  for (size_t j = 0; j < 2 * n; j++) {
    a[j] = numbers(dim + 1);
    for (size_t i = 0; i < dim; i++)
      mpq_set(a[j][i], gradient[j % n][i]);
    mpq_set_si(a[j][dim], affine, 1);
    for (size_t i = 0; i <= dim && j >= n; i++)
      mpq_neg(a[j][i], a[j][i]);
  }
  for (size_t i = 0; i < dim; i++)
    mpq_set(b[i], s->ad[i]);
  mpq_set_si(b[dim], affine, 1);
  mpq_init(distance);
  nearest(distance, x, dim + 1, 2 * n, a, b);
  for (size_t j = 0; j < n; j++)
    mpq_sub(weight[j], x[j], x[n + j]);
  mpq_clear(distance);
  for (size_t j = 0; j < 2 * n; j++)
    numbers_free(a[j], dim + 1);
  free(a);
  numbers_free(b, dim + 1);
  numbers_free(x, 2 * n);
}

/* Weights whose mean of the cells' slopes is AD's, or near it. Their gradients have AD's for their mean only where no kink is behind
 * another. */
static bool
slope_weights(mpq_t *weight, int (*side)[MOST_TOUCHED], size_t n, const scene *s)
{
  size_t dim = 0, at = 0;
  mpq_t *of[MOST_CELLS], *ad;
  bool found;

  for (size_t k = 0; k < s->n; k++)
    dim += site_sides(&s->site[k]);
  ad = numbers(dim);
  for (size_t i = 0; i < n; i++)
    of[i] = numbers(dim);
  for (size_t k = 0; k < s->n; at += site_sides(&s->site[k]), k++) {
    const clarke_asked *asked = &s->question.touch[k];
    const bool window = s->site[k].options > 0;

    for (size_t i = 0; i < n; i++)
      mpq_set_ui(of[i][at + (window ? (size_t)side[i][k] - 1 : side[i][k] > 0)], 1, 1);
    if (asked->ad_side != CLARKE_PROXY)
      mpq_set_ui(ad[at + (window ? CLARKE_OPTION_OF(asked->ad_side) : asked->ad_side == CLARKE_RIGHT)], 1, 1);
    for (size_t o = 0; window && asked->ad_side == CLARKE_PROXY && o < s->site[k].options; o++)
      mpq_set_ui(ad[at + o], 1, s->site[k].options);
    if (window || asked->ad_side != CLARKE_PROXY)
      continue;
    mpq_set(ad[at], asked->lambda);
    mpq_set_ui(ad[at + 1], 1, 1);
    mpq_sub(ad[at + 1], ad[at + 1], asked->lambda);
  }
  found = combination(weight, of, n, dim, ad, false);
  for (size_t i = 0; i < n; i++)
    numbers_free(of[i], dim);
  numbers_free(ad, dim);
  return found;
}

bool
forge_hull(FILE *out, scene *s, clarke_verdict v, uint64_t *state)
{
  int side[MOST_CELLS][MOST_TOUCHED];
  size_t dim = s->net->claim.n_variables, most = v == CLARKE_IN_BOULIGAND ? 1 : s->clarke == NO ? MOST_CELLS : 2 + draw_below(state, MOST_CELLS - 1);
  mpq_t *gradient[MOST_CELLS], *weight = numbers(MOST_CELLS);
  bool rounded = s->rounded;
  size_t n = draw_cells(side, gradient, &rounded, s, most, state);

  if (n > 1 && once_in(2, state) && slope_weights(weight, side, n, s)) {
    ;
  } else if (n > 0 && !combination(weight, gradient, n, dim, s->ad, rounded) && n > 1) {
    if (once_in(2, state))
      free_weights(weight, gradient, n, s, once_in(2, state));
    else
      spoil_weights(weight, n, state);
  }
  if (n == 1)
    mpq_set_si(weight[0], 1, 1);
  fprintf(out, "evidence hull %zu\n", n);
  for (size_t i = 0; i < n; i++) {
    if (rounded)
      make_short(weight[i]);
    fputs("cell ", out);
    put_rational(out, weight[i]);
    fputc(' ', out);
    put_sides(out, s, side[i]);
    put_cell(out, s, side[i], state);
    numbers_free(gradient[i], dim);
  }
  numbers_free(weight, MOST_CELLS);
  return n > 0;
}

/* --- simplices -------------------------------------------------------------------------------------------------- */

typedef struct {
  bool in[MOST_TOUCHED];
  size_t n_cells;
  mpq_t *direction[2 * MOST_CELLS], *change[2 * MOST_CELLS];
} block;

/* Does the row of a touched kink not in the block have to be 0? Those of other blocks. */
static void
try_cell(block *b, const scene *s, const int *ad, const bool *elsewhere, uint64_t *state)
{
  int side[MOST_TOUCHED];
  size_t dim = s->net->claim.n_variables, rows = 0;
  mpq_t *row[MOST_ROWS], *d = numbers(dim);
  bool still[MOST_ROWS];
  view v;

  for (size_t k = 0; k < s->n; k++)
    side[k] = b->in[k] || elsewhere[k] ? draw_side(&s->site[k], state) : ad[k];
  look(&v, s, side);
  for (size_t r = 0; r < v.n; r++)
    if (b->in[v.of[r]] || elsewhere[v.of[r]]) {
      still[rows] = elsewhere[v.of[r]];
      row[rows++] = v.row[r];
    }
  if ((!positive_direction(d, row, still, rows, dim) && !slips(5, state)) || is_zero(d, dim)) {
    look_away(&v);
    numbers_free(d, dim);
    return;
  }
  look_away(&v);
  for (size_t k = 0; k < s->n; k++)
    side[k] = b->in[k] ? side[k] : 0;
  look(&v, s, side);
  b->change[b->n_cells] = numbers(dim);
  for (size_t i = 0; i < dim; i++)
    mpq_sub(b->change[b->n_cells][i], v.gradient[i], s->ad[i]);
  look_away(&v);
  b->direction[b->n_cells++] = d;
}

static void
drop_cell(block *b, size_t i, size_t dim)
{
  numbers_free(b->direction[i], dim);
  numbers_free(b->change[i], dim);
  b->n_cells--;
  b->direction[i] = b->direction[b->n_cells];
  b->change[i] = b->change[b->n_cells];
}

/* Keeps the cells of a vertex of the weights that cancel; where none do, of the nearest. */
static void
keep_simplex(block *b, size_t dim, uint64_t *state)
{
  mpq_t *u = numbers(2 * MOST_CELLS);

  combination(u, b->change, b->n_cells, dim, NULL, true);
  for (size_t i = b->n_cells; i-- > 0;)
    if (mpq_sgn(u[i]) == 0 && !slips(20, state)) {
      drop_cell(b, i, dim);
      for (size_t j = i; j < b->n_cells; j++)
        mpq_set(u[j], u[b->n_cells]);
    }
  numbers_free(u, 2 * MOST_CELLS);
}

/* Each touched kink in one of n blocks, or in none; those of a site's feature stay together mostly. How many blocks are
 * not empty. */
static size_t
draw_blocks(block *b, size_t n, const scene *s, uint64_t *state)
{
  bool by_feature = !once_in(3, state);
  uint64_t seed = draw(state);

  memset(b, 0, n * sizeof *b);
  for (size_t k = 0; k < s->n; k++) {
    const instruction *i = &s->net->f.at[s->site[k].instruction];
    uint64_t own = seed + (by_feature ? i->node * 64 + i->feature : k);
    size_t at = draw_below(&own, 4) == 0 && n > 1 ? n : draw_below(&own, n);

    if (i->node > s->net->f.at[s->site[0].instruction].node && !slips(3, state))
      at = n; /* behind the first */
    if (at < n)
      b[at].in[k] = true;
  }
  if (n > 1 && memchr(b[0].in, true, sizeof b[0].in) == NULL)
    b[0] = b[1];
  else if (n == 1 || memchr(b[1].in, true, sizeof b[1].in) != NULL)
    return n;
  return 1;
}

static void
put_block_cells(FILE *out, const scene *s, block *b, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    fprintf(out, "block %zu", b[i].n_cells);
    for (size_t k = 0; k < s->n; k++)
      if (b[i].in[k])
        fprintf(out, " %zu", k);
    fputc('\n', out);
  }
  for (size_t i = 0; i < n; i++)
    for (size_t c = 0; c < b[i].n_cells; c++)
      put_direction(out, s, b[i].direction[c]);
}

/* Directions for the kinks of no block, that leave the blocks' alone. */
static void
put_others(FILE *out, const scene *s, const int *ad, const bool *blocked, uint64_t *state)
{
  size_t dim = s->net->claim.n_variables, rows = 0;
  mpq_t *row[MOST_ROWS], *d = numbers(dim);
  bool still[MOST_ROWS];
  int side[MOST_TOUCHED];
  view v;

  for (size_t k = 0; k < s->n; k++)
    side[k] = blocked[k] ? 1 : ad[k];
  look(&v, s, side);
  for (size_t r = 0; r < v.n; r++)
    if (!is_zero(v.row[r], dim)) {
      still[rows] = blocked[v.of[r]] && !slips(10, state);
      if (blocked[v.of[r]] && !still[rows])
        continue;
      row[rows++] = v.row[r];
    }
  positive_direction(d, row, still, rows, dim);
  fprintf(out, "directions %d\n", !is_zero(d, dim));
  if (!is_zero(d, dim))
    put_direction(out, s, d);
  look_away(&v);
  numbers_free(d, dim);
}

bool
forge_simplices(FILE *out, scene *s, clarke_verdict verdict, uint64_t *state)
{
  size_t n = 1 + draw_below(state, 2), dim = s->net->claim.n_variables;
  int ad[MOST_TOUCHED];
  bool blocked[MOST_TOUCHED];
  block b[2];

  (void)verdict;
  if (s->n == 0)
    return false;
  scene_ad_sides(ad, s);
  n = draw_blocks(b, n, s, state);
  for (size_t i = 0; i < n; i++) {
    bool elsewhere[MOST_TOUCHED];

    for (size_t k = 0; k < s->n; k++) {
      elsewhere[k] = n > 1 && b[1 - i].in[k];
      blocked[k] = b[i].in[k] || elsewhere[k];
    }
    for (size_t tries = 0; tries < 16 && b[i].n_cells < 2 * MOST_CELLS; tries++)
      try_cell(&b[i], s, ad, elsewhere, state);
    if (b[i].n_cells > 0)
      keep_simplex(&b[i], dim, state);
    if (slips(6, state) && b[i].n_cells > 1)
      drop_cell(&b[i], 0, dim);
  }
  fprintf(out, "evidence simplices %zu\n", n);
  put_block_cells(out, s, b, n);
  put_others(out, s, ad, blocked, state);
  for (size_t i = 0; i < n; i++)
    while (b[i].n_cells > 0)
      drop_cell(&b[i], 0, dim);
  return true;
}

/* --- balance -------------------------------------------------------------------------------------------------- */

/* Cells whose weights are positive, where a mean of all is AD's; else all. */
static size_t
keep_balance(int (*side)[MOST_TOUCHED], mpq_t **gradient, size_t n, const scene *s, bool rounded)
{
  size_t dim = s->net->claim.n_variables, kept = 0;
  mpq_t *weight = numbers(n + 1);
  bool found = combination(weight, gradient, n, dim, s->ad, rounded);

  for (size_t i = 0; i < n; i++)
    if (!found || mpq_sgn(weight[i]) > 0)
      memmove(side[kept++], side[i], sizeof *side);
  numbers_free(weight, n + 1);
  return kept;
}

static void
put_group(FILE *out, const scene *s, size_t cells, const bool *second, bool which)
{
  fprintf(out, "group %zu", cells);
  for (size_t k = 0; k < s->n; k++)
    if (second[k] == which)
      fprintf(out, " %zu", k);
  fputc('\n', out);
}

/* All kinks in one group; or in two, with a cell for each choice of theirs. */
static size_t
pair_groups(int (*side)[MOST_TOUCHED], const scene *s, const bool *second, uint64_t *state)
{
  int one[2][MOST_TOUCHED];

  for (size_t i = 0; i < 2; i++)
    for (size_t k = 0; k < s->n; k++)
      one[i][k] = i == 1 && s->site[k].options == 0 && once_in(2, state) ? -one[0][k] : draw_side(&s->site[k], state);
  for (size_t i = 0; i < 4; i++)
    for (size_t k = 0; k < s->n; k++)
      side[i][k] = one[second[k] ? i % 2 : i / 2][k];
  return 4;
}

bool
forge_balance(FILE *out, scene *s, clarke_verdict v, uint64_t *state)
{
  int side[MOST_CELLS][MOST_TOUCHED];
  size_t dim = s->net->claim.n_variables, n, of_second = 0;
  mpq_t *gradient[MOST_CELLS];
  bool rounded = s->rounded, second[MOST_TOUCHED] = {false}, two;

  for (size_t k = 0; k < s->n; k++)
    of_second += second[k] = once_in(2, state);
  two = v != CLARKE_IN_BOULIGAND && once_in(3, state) && of_second > 0 && of_second < s->n;
  if (two)
    n = pair_groups(side, s, second, state);
  else {
    const size_t drawn = draw_cells(side, gradient, &rounded, s, v == CLARKE_IN_BOULIGAND ? 1 : MOST_CELLS, state);

    memset(second, 0, sizeof second);
    n = drawn > 0 && !slips(8, state) ? keep_balance(side, gradient, drawn, s, rounded) : drawn;
    for (size_t i = 0; i < drawn; i++)
      numbers_free(gradient[i], dim);
  }
  if (s->n == 0 || n == 0)
    return false;
  fprintf(out, "evidence balance %d\n", 1 + two);
  put_group(out, s, two ? 2 : n, second, false);
  if (two)
    put_group(out, s, 2, second, true);
  for (size_t i = 0; i < n; i++) {
    fputs("cell ", out);
    put_sides(out, s, side[i]);
    put_cell(out, s, side[i], state);
  }
  return true;
}

/* --- separators --------------------------------------------------------------------------------------------------- */

/* The row of least product with v, if that is not positive; else n. */
static size_t
most_violated(mpq_t *v, mpq_t **row, size_t n, size_t dim)
{
  size_t worst = n;
  mpq_t x, least;

  mpq_inits(x, least, NULL);
  for (size_t r = 0; r < n; r++) {
    dot(x, v, row[r], dim);
    if (mpq_cmp(x, least) <= 0) {
      worst = r;
      mpq_set(least, x);
    }
  }
  mpq_clears(x, least, NULL);
  return worst;
}

/* A v whose product with all rows is positive, if there is one; else with some of them. */
static void
separate(mpq_t *v, mpq_t **row, size_t n, size_t dim)
{
  for (size_t used = 0, worst; used < 16 && (worst = most_violated(v, row, n, dim)) < n;) {
    mpq_t *first = row[worst];

    if (worst < used)
      return;
    row[worst] = row[used];
    row[used++] = first;
    if (!positive_direction(v, row, NULL, used, dim))
      return;
  }
}

/* A v that separates AD's output from the gradients that occur, but for some where it is none of theirs. */
static void
draw_separator(mpq_t *v, const scene *s, uint64_t *state)
{
  size_t dim = s->net->claim.n_variables, n = 0;
  mpq_t *row[MOST_LEAVES];
  size_t left_out = s->clarke == NO ? 0 : 1 + draw_below(state, 2), from = draw_below(state, s->found.n + 1);

  for (size_t i = 0; i < s->found.n; i++) {
    size_t at = (from + i) % s->found.n;

    if (i < left_out || same_vector(s->found.leaf[at].gradient, s->ad, dim, true))
      continue;
    row[n] = numbers(dim);
    for (size_t k = 0; k < dim; k++)
      mpq_sub(row[n][k], s->ad[k], s->found.leaf[at].gradient[k]);
    n++;
  }
  if (once_in(8, state))
    draw_direction(v, dim, state);
  else
    separate(v, row, n, dim);
  for (size_t k = 0; k < dim; k++)
    make_short(v[k]);
  if (is_zero(v, dim))
    draw_direction(v, dim, state);
  while (n > 0)
    numbers_free(row[--n], dim);
}

static void
put_separator(FILE *out, const scene *s, mpq_t *v)
{
  size_t index;

  for (size_t i = 0; i < s->net->claim.n_variables; i++)
    if (mpq_sgn(v[i]) != 0) {
      fprintf(out, "v %s ", entry_name(&index, s, i));
      fprintf(out, "%zu ", index);
      put_rational(out, v[i]);
      fputc('\n', out);
    }
}

static void
put_row(FILE *out, const scene *s, const view *v, size_t r, const mpq_t by)
{
  fprintf(out, "u %zu ", v->of[r]);
  if (s->site[v->of[r]].options > 0)
    fprintf(out, "%c ", (int)('a' + v->option[r]));
  put_rational(out, by);
  fputc('\n', out);
}

/* `dead` by a combination of the rows, if there is one; else, when it must be, by one that is none. */
static bool
put_dead(FILE *out, const scene *s, view *v, bool must, uint64_t *state)
{
  mpq_t *u = numbers(v->n);
  bool right = v->n > 0 && combination(u, v->row, v->n, v->dim, NULL, false);
  size_t n = 0;

  for (size_t r = 0; r < v->n; r++)
    n += mpq_sgn(u[r]) != 0 && (!right || !is_zero(v->row[r], v->dim));
  if (right && n == 0 && !must)
    right = false;
  if (right || must) {
    fprintf(out, "dead %zu\n", n);
    for (size_t r = 0; r < v->n; r++)
      if (mpq_sgn(u[r]) != 0 && (!right || !is_zero(v->row[r], v->dim)))
        put_row(out, s, v, r, u[r]);
  }
  (void)state;
  numbers_free(u, v->n);
  return right || must;
}

/* A combination that is zero of rows some of which are turned, or have negative coefficients. */
static void
put_signed_dead(FILE *out, const scene *s, view *v, uint64_t *state)
{
  bool turned[MOST_ROWS], negative = once_in(2, state), unsided = once_in(2, state);
  mpq_t *u = numbers(v->n);
  size_t n = 0;

  for (size_t r = 0; r < v->n; r++) {
    turned[r] = unsided ? v->left[r] : once_in(2, state);
    for (size_t i = 0; i < v->dim && turned[r]; i++)
      mpq_neg(v->row[r][i], v->row[r][i]);
  }
  if (v->n > 0)
    combination(u, v->row, v->n, v->dim, NULL, false);
  for (size_t r = 0; r < v->n; r++)
    n += mpq_sgn(u[r]) != 0;
  fprintf(out, "dead %zu\n", n);
  for (size_t r = 0; r < v->n; r++)
    if (mpq_sgn(u[r]) != 0) {
      if (negative && turned[r])
        mpq_neg(u[r], u[r]);
      put_row(out, s, v, r, u[r]);
    }
  numbers_free(u, v->n);
}

/* One way or other to pass over a cell from which AD's output is not separated. */
static void
put_cheat(FILE *out, const scene *s, view *v, uint64_t *state)
{
  size_t r = v->n > 0 ? draw_below(state, v->n) : 0, k = s->n > 0 ? draw_below(state, s->n) : 0;
  mpq_t by;

  for (size_t i = 0; i < v->n && once_in(2, state); i++)
    r = is_zero(v->row[i], v->dim) ? i : r;
  mpq_init(by);
  mpq_set_si(by, 1, 1);
  switch (draw_below(state, 10)) {
  case 0:
    fputs("dead 0\n", out);
    break;
  case 1:
    mpq_set_si(by, 0, 1); /* and, beside it, nothing */
    /* fall through */
  case 2:
    fputs(v->n > 0 ? "dead 1\n" : "leaf\n", out);
    if (v->n > 0)
      put_row(out, s, v, r, by);
    break;
  case 3:
    put_dead(out, s, v, true, state);
    break;
  case 4:
    put_signed_dead(out, s, v, state);
    break;
  case 5: /* the subtree is missing */
    break;
  case 6:
    fprintf(out, "dead 1\nu %zu %s1\n", k, s->n > 0 && s->site[k].options > 0 ? "a " : "");
    break;
  case 7: /* a row and its opposite */
    if (v->n > 0) {
      fputs("dead 2\n", out);
      put_row(out, s, v, r, by);
      mpq_set_si(by, -1, 1);
      put_row(out, s, v, r, by);
    }
    break;
  case 8:
    fprintf(out, "branch %zu\nleaf\nleaf\n", k);
    break;
  default:
    fputs("leaf\n", out);
    break;
  }
  mpq_clear(by);
}

typedef struct {
  FILE *out;
  const scene *s;
  mpq_t *v;
  int side[MOST_TOUCHED], order[MOST_TOUCHED];
  bool branched[MOST_TOUCHED];
  uint64_t *state;
} tree;

/* Does the kink's argument, or do its options' differences, have derivative zero under the sides so far? Or rest
 * along v? */
static bool
can_skip(const tree *t, const view *w, size_t k)
{
  size_t n = t->s->site[k].options;
  bool zero = true, still = true;
  mpq_t *row = numbers(w->dim), x;

  mpq_init(x);
  for (size_t o = n > 0; o < (n > 0 ? n : 1); o++) {
    const series *q = argument_of(w, t->s, k, o);

    if (n > 0)
      q = series_add(q, argument_of(w, t->s, k, 0), (small){-1, 1});
    gradient_of(row, q, w->dim);
    dot(x, row, t->v, w->dim);
    zero = zero && is_zero(row, w->dim);
    still = still && mpq_sgn(x) == 0;
  }
  mpq_clear(x);
  numbers_free(row, w->dim);
  return zero ? !slips(8, t->state) : still ? once_in(3, t->state) : slips(8, t->state);
}

/* Flat and skipped ones are on the left, or have option a. */
static void
grown_sides(int *side, const tree *t)
{
  for (size_t k = 0; k < t->s->n; k++)
    side[k] = t->side[k] != 0 ? t->side[k] : t->s->site[k].options > 0 ? 1 : -1;
}

static void
put_leaf(tree *t, view *branches)
{
  int side[MOST_TOUCHED];
  mpq_t own, other;
  view w;

  grown_sides(side, t);
  look(&w, t->s, side);
  mpq_inits(own, other, NULL);
  dot(own, t->s->ad, t->v, w.dim);
  dot(other, w.gradient, t->v, w.dim);
  mpq_sub(own, own, other);
  if (number_sign(own, true) > 0)
    fputs("leaf\n", t->out);
  else
    put_cheat(t->out, t->s, branches, t->state);
  mpq_clears(own, other, NULL);
  look_away(&w);
}

/* `dead` by rows of kinks that have not been branched on, as if these were on some side. */
static bool
put_early_dead(tree *t)
{
  int side[MOST_TOUCHED];
  bool done;
  view w;

  for (size_t k = 0; k < t->s->n; k++)
    side[k] = t->side[k] != 0 ? t->side[k] : once_in(3, t->state) ? draw_side(&t->s->site[k], t->state) : 1;
  look(&w, t->s, side);
  done = put_dead(t->out, t->s, &w, false, t->state);
  look_away(&w);
  return done;
}

static void
put_tree(tree *t, size_t at)
{
  size_t k;
  view w;

  look(&w, t->s, t->side);
  if (slips(12, t->state) && put_early_dead(t)) {
    look_away(&w);
    return;
  }
  if (at > 0 && !slips(12, t->state) && put_dead(t->out, t->s, &w, false, t->state)) {
    look_away(&w);
    return;
  }
  while (at < t->s->n && can_skip(t, &w, (size_t)t->order[at]))
    at++;
  if (at == t->s->n)
    put_leaf(t, &w);
  look_away(&w);
  if (at == t->s->n)
    return;
  k = (size_t)t->order[at];
  fprintf(t->out, "branch %zu\n", k);
  for (size_t i = 0; i < site_sides(&t->s->site[k]); i++) {
    t->side[k] = t->s->site[k].options > 0 ? (int)i + 1 : i == 0 ? -1 : 1;
    put_tree(t, at + 1);
  }
  t->side[k] = 0;
}

bool
forge_separator(FILE *out, scene *s, clarke_verdict v, uint64_t *state)
{
  tree t = {.out = out, .s = s, .v = numbers(s->net->claim.n_variables), .state = state};

  (void)v;
  for (size_t k = 0; k < s->n; k++)
    t.order[k] = (int)k;
  for (size_t k = 1; k < s->n && slips(10, state); k++) {
    size_t other = draw_below(state, k);

    t.order[k] = t.order[other];
    t.order[other] = (int)k;
  }
  draw_separator(t.v, s, state);
  fputs("evidence separator\n", out);
  put_separator(out, s, t.v);
  fputs("tree\n", out);
  put_tree(&t, 0);
  numbers_free(t.v, s->net->claim.n_variables);
  return true;
}

/* --- bounds --------------------------------------------------------------------------------------------------------- */

/* A tree whose leaves are split, or cheated on, where the checker rejects them. */
typedef struct {
  enum { LEAF, BRANCH, DEAD, CHEAT } is;
  size_t k, child, line; /* child: the first of its sides */
  char *text;            /* of DEAD and CHEAT */
} bound_node;

enum { MOST_NODES = 96, MOST_ROUNDS = 10 };

typedef struct {
  scene *s;
  uint64_t *state;
  bound_node node[MOST_NODES];
  size_t n;
  mpq_t *v;
  char *parallel; /* lines */
  size_t as[MOST_TOUCHED];
  bool turned[MOST_TOUCHED]; /* it takes the other side */
} bound_tree;

/* Are the rows of K, a kink, or a window with as many options, multiples of J's by a number of that sign? */
static bool
are_parallel(const scene *s, size_t j, size_t k, int sign)
{
  int side[MOST_TOUCHED];
  view v;
  mpq_t *rows[2][MOST_OPTIONS], by, t;
  size_t n[2] = {0, 0};
  bool yes = s->site[j].options == s->site[k].options;

  for (size_t i = 0; i < s->n; i++)
    side[i] = i == j || i == k ? 1 : 0;
  look(&v, s, side);
  for (size_t r = 0; r < v.n; r++)
    rows[v.of[r] == k][n[v.of[r] == k]++] = v.row[r];
  mpq_inits(by, t, NULL);
  for (size_t r = 0; r < n[0] && yes; r++)
    for (size_t i = 0; i < v.dim && yes; i++) {
      if (mpq_sgn(by) == 0 && mpq_sgn(rows[0][r][i]) != 0)
        mpq_div(by, rows[1][r][i], rows[0][r][i]);
      mpq_mul(t, by, rows[0][r][i]);
      yes = mpq_equal(t, rows[1][r][i]);
    }
  yes = yes && mpq_sgn(by) == sign;
  mpq_clears(by, t, NULL);
  look_away(&v);
  return yes;
}

static bool
leads(const bound_tree *b, size_t j)
{
  for (size_t k = 0; k < b->s->n; k++)
    if (k != j && b->as[k] == j)
      return true;
  return false;
}

/* Right ones mostly. */
static void
draw_together(FILE *out, bound_tree *b, bool wild, int sign)
{
  for (size_t j = 0; j < b->s->n && !once_in(4, b->state); j++) {
    bool any = false;

    for (size_t k = j + 1; k < b->s->n && b->as[j] == j; k++) {
      bool right = are_parallel(b->s, j, k, sign) && (sign > 0 || b->s->site[k].options == 0);

      if (b->as[k] != k || leads(b, k) || (!right && !(wild && once_in(3, b->state))))
        continue;
      if (!any)
        fprintf(out, "%s %zu", sign > 0 ? "parallel" : "opposite", j);
      fprintf(out, " %zu", k);
      b->as[k] = j;
      b->turned[k] = sign < 0;
      any = true;
    }
    if (any)
      fputc('\n', out);
  }
}

static void
draw_parallels(bound_tree *b)
{
  size_t size;
  FILE *out = open_memstream(&b->parallel, &size);
  bool wild = once_in(4, b->state);

  for (size_t k = 0; k < b->s->n; k++)
    b->as[k] = k;
  draw_together(out, b, wild, 1);
  if (!once_in(3, b->state))
    draw_together(out, b, wild, -1);
  fclose(out);
}

static void
put_bound_node(FILE *out, bound_tree *b, size_t i, size_t *line)
{
  bound_node *at = &b->node[i];

  at->line = ++*line;
  if (at->is == LEAF)
    fputs("leaf\n", out);
  else if (at->is != BRANCH) {
    fputs(at->text, out);
    for (const char *c = strchr(at->text, '\n'); c != NULL && c[1] != '\0'; c = strchr(c + 1, '\n'))
      ++*line;
    if (*at->text == '\0')
      --*line;
  } else {
    fprintf(out, "branch %zu\n", at->k);
    for (size_t c = 0; c < site_sides(&b->s->site[at->k]); c++)
      put_bound_node(out, b, at->child + c, line);
  }
}

static char *
bound_text(bound_tree *b, size_t *size)
{
  char *text;
  FILE *out = open_memstream(&text, size);
  size_t line = 0;

  put_statement(out, b->s, CLARKE_NOT_IN_CLARKE);
  fputs("evidence bound\n", out);
  put_separator(out, b->s, b->v);
  fprintf(out, "%stree\n", b->parallel);
  fflush(out);
  for (size_t i = 0; i < *size; i++)
    line += text[i] == '\n';
  put_bound_node(out, b, 0, &line);
  fclose(out);
  return text;
}

/* The sides on the way to a node; false when it is not below `from`. */
static bool
sides_at(int *side, const bound_tree *b, size_t from, size_t node)
{
  const bound_node *at = &b->node[from];

  if (from == node)
    return true;
  for (size_t c = 0; at->is == BRANCH && c < site_sides(&b->s->site[at->k]); c++) {
    for (size_t k = 0; k < b->s->n; k++)
      if (b->as[k] == at->k)
        side[k] = b->s->site[at->k].options > 0 ? (int)c + 1 : (c == 0) != b->turned[k] ? -1 : 1;
    if (sides_at(side, b, at->child + c, node))
      return true;
  }
  for (size_t k = 0; at->is == BRANCH && k < b->s->n; k++)
    if (b->as[k] == at->k)
      side[k] = 0;
  return false;
}

/* Makes a node dead, if it is by those branched on, or cheats. */
static bool
end_node(bound_tree *b, size_t i, bool cheat)
{
  int side[MOST_TOUCHED] = {0};
  bound_node *at = &b->node[i];
  size_t size;
  FILE *out = open_memstream(&at->text, &size);
  bool done = true;
  view w;

  sides_at(side, b, 0, i);
  for (size_t k = 0; k < b->s->n; k++)
    side[k] = b->as[k] == k || once_in(10, b->state) ? side[k] : 0;
  look(&w, b->s, side);
  if (cheat)
    put_cheat(out, b->s, &w, b->state);
  else
    done = put_dead(out, b->s, &w, false, b->state);
  look_away(&w);
  fclose(out);
  if (done)
    at->is = cheat ? CHEAT : DEAD;
  else
    free(at->text);
  return done;
}

/* What a rejected leaf becomes. False: nothing is left to try. */
static bool
split_leaf(bound_tree *b, size_t i)
{
  int side[MOST_TOUCHED] = {0};
  size_t open[MOST_TOUCHED], n = 0;
  bound_node *at = &b->node[i];

  sides_at(side, b, 0, i);
  for (size_t k = 0; k < b->s->n; k++)
    if (b->as[k] == k && side[k] == 0)
      open[n++] = k;
  if (n == 0 || b->n + MOST_OPTIONS > MOST_NODES || once_in(20, b->state))
    return end_node(b, i, true);
  at->is = BRANCH;
  at->k = open[draw_below(b->state, n)];
  at->child = b->n;
  b->n += site_sides(&b->s->site[at->k]);
  for (size_t c = at->child; c < b->n; c++) {
    b->node[c] = (bound_node){.is = LEAF};
    if (!slips(3, b->state))
      end_node(b, c, false);
  }
  return true;
}

void
be_careful(uint64_t *state)
{
  careful = once_in(2, state);
}

void
forge_bounds(scene *s, uint64_t *state, void (*say)(void *to, const char *proof, size_t size, size_t *line), void *to)
{
  bound_tree b = {.s = s, .state = state, .n = 1, .v = numbers(s->net->claim.n_variables)};
  bool go = true;

  draw_separator(b.v, s, state);
  draw_parallels(&b);
  for (size_t round = 0; round < MOST_ROUNDS && go; round++) {
    size_t size, line = 0, i = 0;
    char *text = bound_text(&b, &size);

    say(to, text, size, &line);
    free(text);
    while (i < b.n && (b.node[i].line != line || b.node[i].is == BRANCH))
      i++;
    go = line > 0 && i < b.n && b.node[i].is == LEAF && split_leaf(&b, i);
  }
  for (size_t i = 0; i < b.n; i++)
    if (b.node[i].is >= DEAD)
      free(b.node[i].text);
  free(b.parallel);
  numbers_free(b.v, s->net->claim.n_variables);
}

/* --- alterations ------------------------------------------------------------------------------------------------------ */

/* A number in the line, changed. */
static void
alter_number(FILE *out, const char *line, size_t length, uint64_t *state)
{
  static const char *const others[] = {"0", "1", "-1", "1/2", "2", "3", "-1/2", "3/2"};
  size_t at[32], n = 0, i, end;

  for (i = 1; i < length && n < 32; i++)
    if (line[i - 1] == ' ' && (line[i] == '-' || (line[i] >= '0' && line[i] <= '9')))
      at[n++] = i;
  if (n == 0) {
    fwrite(line, 1, length, out);
    return;
  }
  i = at[draw_below(state, n)];
  for (end = i; end < length && line[end] != ' ';)
    end++;
  fwrite(line, 1, i, out);
  if (once_in(3, state) && line[i] != '-')
    fprintf(out, "-%.*s", (int)(end - i), line + i);
  else if (once_in(3, state) && line[i] == '-' && end > i + 1)
    fprintf(out, "%.*s", (int)(end - i - 1), line + i + 1);
  else
    fputs(others[draw_below(state, 8)], out);
  fwrite(line + end, 1, length - end, out);
}

/* Each side turned, now and then. */
static void
alter_sides(FILE *out, const char *line, size_t length, uint64_t *state)
{
  for (size_t i = 0; i < length; i++) {
    bool turn = once_in(3, state);

    fputc(turn && line[i] == '+' ? '-' : turn && line[i] == '-' ? '+' : line[i], out);
  }
}

static void
alter_line(FILE *out, const char *line, size_t length, uint64_t *state)
{
  switch (draw_below(state, 6)) {
  case 0: /* gone */
    return;
  case 1: /* twice */
    fwrite(line, 1, length, out);
    fputc('\n', out);
    break;
  case 2:
    alter_sides(out, line, length, state);
    fputc('\n', out);
    return;
  case 3:
    if (strncmp(line, "leaf", 4) == 0)
      fputs("dead 0\n", out);
    else if (strncmp(line, "dead", 4) == 0)
      fputs("leaf\n", out);
    return;
  default:
    alter_number(out, line, length, state);
    fputc('\n', out);
    return;
  }
  fwrite(line, 1, length, out);
  fputc('\n', out);
}

char *
altered(const char *text, uint64_t *state)
{
  size_t lines = 0, size, first, second;
  char *changed;
  FILE *out = open_memstream(&changed, &size);

  for (const char *c = text; *c != '\0'; c++)
    lines += *c == '\n';
  first = draw_below(state, lines + 1);
  second = once_in(3, state) ? draw_below(state, lines + 1) : first;
  for (size_t i = 0; *text != '\0'; i++) {
    size_t length = strcspn(text, "\n");

    if (i == first || i == second)
      alter_line(out, text, length, state);
    else
      fprintf(out, "%.*s\n", (int)length, text);
    text += length + (text[length] == '\n');
  }
  fclose(out);
  return changed;
}
