/* What is asked of a pass and its derivatives beside their numbers: one column alone, enclosures of a few values, who depends on
 * the parameters, single constants, the sides of touches, the options of windows. On drawn networks, by the headers' words. */
#include "machine.h"
#include "networks.h"
#include "convolutional.h"
#include "compared.h"
#include "network/linear.h"
#include "network/piecewise.h"
#include "network/tangent.h"
#include "network/window.h"

static const char profile_text[] =
  "Relu 0 1/3\nLeakyRelu 0 right\nPRelu 0 left\nAbs 0 -1/2\nClip 0 left\nClip 1 2/7\nHardSigmoid 0 1/12\nHardSigmoid 1 right\n"
  "HardSwish 0 right\nHardSwish 1 5\ntie MaxPool mean\n";

typedef struct {
  growing grown;
  clarke_tensor x;
  machine k;
} drawn;

/* Networks of all operators, and with windows, one after another; a direction, and tangents along it. */
static void
drawn_begin(drawn *n, size_t i, uint64_t *state)
{
  if (i % 2 == 0)
    n->x = grow_network(&n->grown, state, small_number, 2 + draw_below(state, 8), i % 4 == 0);
  else {
    grow_convolutional(&n->grown, state, small_number);
    n->x = grow_batch(&n->grown, 1 + draw_below(state, 3));
  }
  machine_begin(&n->k, &n->grown.m, &n->x, profile_text, draw_below(state, 2));
  for (size_t p = 0; p < n->k.g.n_parameters; p++) {
    const clarke_parameter *w = &n->k.g.parameters[p];
    double *d = calloc(w->count + 1, sizeof *d);

    for (size_t e = 0; e < w->count; e++)
      d[e] = (double)draw_between(state, -9, 9) / 4;
    if (w->wrt && draw_below(state, 4) > 0)
      OK(clarke_matrix_set_doubles(&n->k.d[p], w->count, 1, d, &error));
    free(d);
  }
  OK(clarke_tangent_run(n->k.tangent, &n->k.pass, &n->k.slopes, n->k.d, &error));
}

static void
drawn_end(drawn *n)
{
  machine_end(&n->k);
  clarke_tensor_clear(&n->x);
  clarke_model_clear(&n->grown.m);
}

/* Column `from` of a is column `to` of b, exactly; no rows are zeros. */
static bool
same_column(const clarke_matrix *a, size_t from, const clarke_matrix *b, size_t to)
{
  const size_t rows = a->rows > 0 ? a->rows : b->rows;
  bool same = a->rows == 0 || b->rows == 0 || a->rows == b->rows;
  mpq_t p, q;

  mpq_inits(p, q, NULL);
  for (size_t f = 0; f < rows && same; f++) {
    if (a->rows > 0)
      clarke_matrix_get(p, a, f, from);
    if (b->rows > 0)
      clarke_matrix_get(q, b, f, to);
    same = mpq_equal(p, q);
  }
  mpq_clears(p, q, NULL);
  return same;
}

/* Is every entry of `exact` (no rows: zeros) in the enclosure? */
static bool
holds(const clarke_matrix *m, const clarke_matrix *exact)
{
  bool inside = true;
  mpq_t p, q, r;

  mpq_inits(p, q, r, NULL);
  for (size_t e = 0; e < m->rows * m->cols && inside; e++) {
    clarke_matrix_get(p, m, e / m->cols, e % m->cols);
    if (exact->rows > 0)
      clarke_matrix_get(q, exact, e / m->cols, e % m->cols);
    mpq_sub(p, p, q);
    mpq_abs(p, p);
    mpq_set_d(r, clarke_matrix_radius(m, e / m->cols, e % m->cols));
    inside = mpq_cmp(p, r) <= 0;
  }
  mpq_clears(p, q, r, NULL);
  return inside && (m->rows > 0 || clarke_matrix_is_zero(exact));
}

/* --- one column --- */

START_TEST(one_column_is_a_pass_of_its_own)
{
  uint64_t state = 1;
  size_t compared = 0;

  for (size_t i = 0; i < draw_count(600); i++) {
    drawn n;
    clarke_forward column;
    clarke_slopes slopes;
    clarke_matrix *tangent;
    size_t j;

    drawn_begin(&n, i, &state);
    j = draw_below(&state, n.k.pass.n);
    clarke_forward_init(&column);
    clarke_slopes_init(&slopes);
    tangent = clarke_matrices_new(n.k.g.n_values);
    OK(clarke_forward_column(&column, &n.k.pass, j, &error));
    OK(clarke_slopes_column(&slopes, &n.k.slopes, &n.k.pass, j, &error));
    OK(clarke_tangent_run(tangent, &column, &slopes, n.k.d, &error));
    ck_assert_uint_eq(column.n, 1);
    for (size_t v = 0; v < n.k.g.n_values; v++) {
      ck_assert(same_column(&column.value[v], 0, &n.k.pass.value[v], j));
      ck_assert_msg(same_column(&tangent[v], 0, &n.k.tangent[v], j), "network %zu, column %zu", i, j);
      compared += tangent[v].rows > 0;
    }
    clarke_matrices_free(tangent, n.k.g.n_values);
    clarke_slopes_clear(&slopes);
    clarke_forward_clear(&column);
    drawn_end(&n);
  }
  ck_assert_uint_gt(compared, draw_count(400));
}
END_TEST

/* Step by step the pass is the same. */
START_TEST(a_pass_step_by_step)
{
  uint64_t state = 2;

  for (size_t i = 0; i < draw_count(300); i++) {
    drawn n;
    clarke_forward f;

    drawn_begin(&n, i, &state);
    clarke_forward_init(&f);
    OK(clarke_forward_begin(&f, n.k.pass.constants, &n.k.pass.value[n.k.g.input], 64, &error));
    for (size_t s = 0; s < n.k.g.n_steps; s++)
      OK(clarke_forward_next(&f, s, &error));
    ck_assert(!clarke_forward_is_vague(&f, CLARKE_OK) && clarke_forward_is_vague(&f, CLARKE_EVAGUE));
    for (size_t v = 0; v < n.k.g.n_values; v++)
      for (size_t j = 0; j < f.n && n.k.pass.value[v].rows > 0; j++)
        ck_assert(same_column(&f.value[v], j, &n.k.pass.value[v], j));
    for (size_t s = 0; s < n.k.g.n_steps; s++)
      ck_assert(n.k.pass.piece[s] == NULL
                || memcmp(f.piece[s], n.k.pass.piece[s], n.k.g.values[n.k.g.steps[s].out].count * f.n) == 0);
    clarke_forward_clear(&f);
    drawn_end(&n);
  }
}
END_TEST

/* --- enclosures --- */

static bool *
draw_keep(const clarke_graph *g, uint64_t *state)
{
  bool *keep = calloc(g->n_values + 1, sizeof *keep);

  for (size_t v = 0; v < g->n_values; v++)
    keep[v] = draw_below(state, 2);
  keep[g->output] = true;
  return keep;
}

static void
seed_ones(machine *k)
{
  const clarke_loss loss = {CLARKE_LOSS_SUM, NULL, k->replay.samples};

  for (size_t v = 0; v < k->g.n_values; v++) {
    clarke_matrix_clear(&k->grad[v]);
    clarke_matrix_init(&k->grad[v]);
  }
  OK(clarke_loss_seed(&k->grad[k->g.output], &loss, &k->pass, NULL, &error));
}

/* The last step that reads a value, by looking at them all from the end. */
static size_t
last_reader(const clarke_graph *g, size_t value)
{
  for (size_t i = g->n_steps; i-- > 0;)
    for (size_t o = 0; o < g->steps[i].n_in; o++)
      if (g->steps[i].in[o].value == value)
        return i;
  return CLARKE_NONE;
}

/* Derivatives of a few bits: what is kept holds the exact ones, what is read and not kept is gone. */
START_TEST(enclosed_derivatives)
{
  uint64_t state = 3;
  size_t rounded = 0;

  for (size_t i = 0; i < draw_count(600); i++) {
    drawn n;
    clarke_matrix *enclosed, *exact;
    size_t *last;
    bool *keep;

    drawn_begin(&n, i, &state);
    keep = draw_keep(&n.k.g, &state);
    enclosed = clarke_matrices_new(n.k.g.n_values);
    last = malloc(n.k.g.n_values * sizeof *last);
    clarke_graph_last_uses(last, &n.k.g, NULL);
    OK(clarke_tangent_enclose(enclosed, keep, &n.k.pass, &n.k.slopes, n.k.d, 3, &error));
    for (size_t v = 0; v < n.k.g.n_values; v++) {
      ck_assert_uint_eq(last[v], last_reader(&n.k.g, v));
      if (keep[v])
        ck_assert_msg(holds(&enclosed[v], &n.k.tangent[v]), "network %zu: a tangent is outside", i);
      else if (last[v] != CLARKE_NONE && n.k.pass.value[n.k.g.steps[last[v]].out].rows > 0)
        ck_assert_uint_eq(enclosed[v].rows, 0);
    }
    exact = n.k.grad;
    seed_ones(&n.k);
    OK(clarke_reverse_visited(exact, &n.k.pass, &n.k.slopes, NULL, clarke_gradient_sink, n.k.gradient, &error));
    n.k.grad = enclosed;
    seed_ones(&n.k);
    OK(clarke_matrix_need_radius(&n.k.grad[n.k.g.output], &error));
    OK(clarke_reverse_enclose(n.k.grad, keep, &n.k.pass, &n.k.slopes, 3, &error));
    for (size_t v = 0; v < n.k.g.n_values; v++) {
      const bool made = !n.k.g.values[v].constant && n.k.g.values[v].producer != CLARKE_NONE;

      if (made && keep[v])
        ck_assert_msg(holds(&enclosed[v], &exact[v]), "network %zu: a gradient is outside", i);
      else if (made)
        ck_assert_uint_eq(enclosed[v].rows, 0);
      rounded += made && keep[v] && enclosed[v].radius != NULL && enclosed[v].radius[0] > 0;
    }
    n.k.grad = exact;
    clarke_matrices_free(enclosed, n.k.g.n_values);
    free(last);
    free(keep);
    drawn_end(&n);
  }
  ck_assert_uint_gt(rounded, draw_count(50));
}
END_TEST

/* --- reverse mode --- */

/* Does the value follow from a wrt parameter, by its producer's operands? */
static bool
follows(const clarke_graph *g, size_t value)
{
  const clarke_value *v = &g->values[value];
  const clarke_step *s;
  bool any;

  if (v->constant || v->producer == CLARKE_NONE)
    return v->parameter != CLARKE_NONE && v->constant && g->parameters[v->parameter].wrt;
  s = &g->steps[v->producer];
  any = (s->kind == CLARKE_DENSE && follows(g, s->dense.weight))
        || (s->kind == CLARKE_PIECEWISE && s->pieces.slope != CLARKE_NONE && follows(g, s->pieces.slope));
  for (size_t k = 0; k < s->n_in && !any; k++)
    any = follows(g, s->in[k].value);
  return any;
}

typedef struct {
  size_t steps, before, doubled;
  clarke_matrix *sum; /* by parameter, from single constants */
} visits;

/* Steps come from the last to the first; one's gradient is put at twice its number. */
static clarke_status
visit(void *context, clarke_matrix *g, size_t step, clarke_error *err)
{
  visits *v = context;
  clarke_status status = CLARKE_OK;
  mpq_t two;

  ck_assert_uint_lt(step, v->before);
  v->before = step;
  v->steps++;
  mpq_init(two);
  mpq_set_ui(two, 2, 1);
  if (step == v->doubled)
    status = clarke_matrix_scale(g, g, two, err);
  mpq_clear(two);
  return status;
}

/* Every constant's gradient, put where its entries are the parameter's. */
static clarke_status
collect(void *context, const clarke_forward *f, const clarke_step *step, size_t operand, const clarke_matrix *g,
        clarke_error *err)
{
  visits *v = context;
  const clarke_value *shown;
  clarke_matrix c, placed, *sum;
  size_t value;

  clarke_matrix_init(&c);
  clarke_matrix_init(&placed);
  OK(clarke_constant_gradient(&c, &value, f, step, operand, g, err));
  shown = &f->g->values[value];
  ck_assert(shown->constant && f->g->parameters[shown->parameter].wrt);
  ck_assert_uint_eq(c.rows, shown->count);
  if (shown->origin != NULL)
    OK(clarke_matrix_scatter_rows(&placed, &c, shown->origin, f->g->parameters[shown->parameter].count, err));
  else
    OK(clarke_matrix_copy(&placed, &c, err));
  sum = &v->sum[shown->parameter];
  if (sum->rows == 0)
    OK(clarke_matrix_resize(sum, placed.rows, 1, 1, err));
  OK(clarke_matrix_add(sum, sum, &placed, err));
  clarke_matrix_clear(&c);
  clarke_matrix_clear(&placed);
  return CLARKE_OK;
}

START_TEST(carriers_visits_and_constants)
{
  uint64_t state = 4;
  mpq_t half;

  mpq_init(half);
  mpq_set_ui(half, 1, 2);
  for (size_t i = 0; i < draw_count(600); i++) {
    drawn n;
    visits v = {.before = CLARKE_NONE, .doubled = CLARKE_NONE};
    bool *carries, *within;

    drawn_begin(&n, i, &state);
    carries = calloc(n.k.g.n_values, sizeof *carries);
    within = calloc(n.k.g.n_values, sizeof *within);
    v.sum = clarke_matrices_new(n.k.g.n_parameters);
    clarke_reverse_carriers(carries, &n.k.g, CLARKE_NONE);
    for (size_t u = 0; u < n.k.g.n_values; u++) {
      if (!n.k.g.values[u].constant)
        ck_assert_msg(carries[u] == follows(&n.k.g, u), "network %zu, value %zu", i, u);
      ck_assert(n.k.g.values[u].constant || carries[u] || clarke_matrix_is_zero(&n.k.tangent[u]));
    }
    for (size_t s = 0; s < n.k.g.n_steps; s++) /* a segment's values are some of these */
      if (clarke_step_has_kinks(&n.k.g.steps[s])) {
        clarke_reverse_carriers(within, &n.k.g, s);
        for (size_t u = 0; u < n.k.g.n_values; u++)
          ck_assert(!within[u] || carries[u]);
      }
    seed_ones(&n.k);
    OK(clarke_reverse_run(n.k.grad, &n.k.pass, &n.k.slopes, CLARKE_NONE, clarke_gradient_sink, n.k.gradient, &error));
    v.doubled = n.k.g.values[n.k.g.output].producer; /* twice the output: twice all gradients */
    seed_ones(&n.k);
    OK(clarke_reverse_visited(n.k.grad, &n.k.pass, &n.k.slopes, visit, collect, &v, &error));
    ck_assert_uint_gt(v.steps, 0);
    for (size_t p = 0; p < n.k.g.n_parameters; p++) {
      OK(clarke_matrix_scale(&v.sum[p], &v.sum[p], half, &error));
      ck_assert_msg(same_column(&v.sum[p], 0, &n.k.gradient[p], 0), "network %zu, parameter %zu", i, p);
    }
    clarke_matrices_free(v.sum, n.k.g.n_parameters);
    free(carries);
    free(within);
    drawn_end(&n);
  }
  mpq_clear(half);
}
END_TEST

/* --- columns of constants --- */

/* What entry f of a SCALE step is multiplied by: c, or 1 / c, through its map and times its coefficient. */
static void
check_scale(const machine *k, const clarke_step *s)
{
  const clarke_value *c = &k->g.values[s->in[1].value];
  clarke_matrix column;
  mpq_t want, found;

  mpq_inits(want, found, NULL);
  clarke_matrix_init(&column);
  OK(clarke_scale_column(&column, &k->pass, s, &error));
  ck_assert(column.rows == k->g.values[s->out].count && column.cols == 1);
  for (size_t f = 0; f < column.rows; f++) {
    mpq_set_d(want, c->real[clarke_operand_entry(&s->in[1], f)] * s->in[1].coef);
    if (s->divide)
      mpq_inv(want, want);
    clarke_matrix_get(found, &column, f, 0);
    ck_assert(mpq_equal(found, want));
  }
  clarke_matrix_clear(&column);
  mpq_clears(want, found, NULL);
}

static void
check_prelu(const machine *k, const clarke_step *s)
{
  const double *slope = k->g.values[s->pieces.slope].real;
  clarke_matrix column;
  mpq_t found, x;

  mpq_inits(found, x, NULL);
  clarke_matrix_init(&column);
  OK(clarke_slope_column(&column, k->pass.constants, s, &error));
  ck_assert(column.rows == k->g.values[s->out].count && column.cols == 1);
  for (size_t f = 0; f < column.rows; f++) {
    const double want = slope[s->pieces.slope_map != NULL ? s->pieces.slope_map[f] : f];

    ck_assert(clarke_matrix_get_double(&column, f, 0) == want);
    clarke_piecewise_slope(found, &k->g, s, f, 0, x);
    ck_assert(mpq_get_d(found) == want);
    clarke_piecewise_slope(found, &k->g, s, f, 1, x);
    ck_assert(mpq_cmp_ui(found, 1, 1) == 0);
  }
  clarke_matrix_clear(&column);
  mpq_clears(found, x, NULL);
}

START_TEST(scales_and_slopes_as_columns)
{
  uint64_t state = 7;
  size_t scales = 0, slopes = 0;

  for (size_t i = 0; i < draw_count(600); i++) {
    drawn n;

    drawn_begin(&n, i, &state);
    for (size_t s = 0; s < n.k.g.n_steps; s++) {
      const clarke_step *step = &n.k.g.steps[s];

      if (step->kind == CLARKE_SCALE && !step->root && n.k.pass.value[step->out].rows > 0)
        check_scale(&n.k, step), scales++;
      if (step->kind == CLARKE_PIECEWISE && step->pieces.slope != CLARKE_NONE)
        check_prelu(&n.k, step), slopes++;
    }
    drawn_end(&n);
  }
  ck_assert(scales > draw_count(100) && slopes > draw_count(40));
}
END_TEST

/* --- touches --- */

/* The two slopes at the kink, from the polynomials; PRelu's left one is a parameter's entry. */
static void
side_by_pieces(mpq_t slope, const clarke_graph *g, const clarke_touch *t, bool right)
{
  const clarke_step *s = &g->steps[t->step];
  const size_t piece = t->kink + right;
  mpq_t x;

  mpq_init(x);
  if (s->pieces.slope != CLARKE_NONE && piece == 0)
    mpq_set_d(slope, g->values[s->pieces.slope].real[s->pieces.slope_map != NULL ? s->pieces.slope_map[t->feature] : t->feature]);
  else {
    mpq_mul(x, s->pieces.coef[piece][2], s->pieces.kink[t->kink]);
    mpq_add(x, x, x);
    mpq_add(slope, s->pieces.coef[piece][1], x);
  }
  mpq_clear(x);
}

static void
loose_slope_holds(const clarke_slopes *loose, const clarke_touch *t, const mpq_t slope)
{
  const clarke_matrix *m = &loose->slope[t->step];
  mpq_t off, radius;

  mpq_inits(off, radius, NULL);
  clarke_matrix_get(off, m, t->feature, t->column);
  mpq_sub(off, off, slope);
  mpq_abs(off, off);
  mpq_set_d(radius, clarke_matrix_radius(m, t->feature, t->column));
  ck_assert_int_le(mpq_cmp(off, radius), 0);
  mpq_clears(off, radius, NULL);
}

/* A kink's slopes by its polynomials; a slope that was chosen is that side's; loosened ones hold both sides. */
static void
check_kink(const machine *k, size_t number, const clarke_slopes *chosen, const clarke_slopes *loose, int8_t side)
{
  const clarke_touch *t = &k->replay.touch[number];
  const clarke_step *s = &k->g.steps[t->step];
  const clarke_proxy *proxy = clarke_profile_find(&k->profile, s->op, s->pieces.first_kink + t->kink);
  mpq_t slope, want[2], found;

  mpq_inits(slope, want[0], want[1], found, NULL);
  for (int right = 0; right < 2; right++) {
    side_by_pieces(want[right], &k->g, t, right);
    clarke_touch_side(slope, &k->g, t, right);
    ck_assert(mpq_equal(slope, want[right]));
    loose_slope_holds(loose, t, slope);
  }
  OK(clarke_touch_proxy(slope, &k->g, t, &k->profile, &error));
  ck_assert(mpq_equal(slope, proxy->kind == CLARKE_PROXY_VALUE ? proxy->value : want[proxy->kind == CLARKE_PROXY_RIGHT]));
  clarke_matrix_get(found, &chosen->slope[t->step], t->feature, t->column);
  ck_assert(mpq_equal(found, want[side == CLARKE_RIGHT]));
  mpq_clears(slope, want[0], want[1], found, NULL);
}

/* The window's largest entries by comparing all; its options among them, the first of each identity. */
static void
check_window(const machine *k, size_t number, const clarke_slopes *chosen, int8_t side)
{
  const clarke_touch *t = &k->replay.touch[number];
  const clarke_step *s = &k->g.steps[t->step];
  const clarke_forward *f = &k->replay.near;
  const clarke_matrix *x = &f->value[s->in[0].value];
  const size_t *entry = s->in[0].map + t->feature * s->width;
  size_t tied[CLARKE_MAX_WIDTH], option[CLARKE_MAX_WIDTH], at = 0;
  const size_t n = clarke_window_tied(tied, f, t->step, t->feature, t->column);

  for (size_t i = 0; i < s->width; i++) {
    bool largest = entry[i] != CLARKE_NONE;

    for (size_t o = 0; o < s->width && largest; o++)
      largest = entry[o] == CLARKE_NONE || clarke_matrix_compare_entries(x, entry[i], entry[o], t->column) >= 0;
    if (largest)
      ck_assert_uint_eq(tied[at++], i);
  }
  ck_assert_uint_eq(at, n);
  ck_assert_uint_eq(clarke_window_options(option, f, t->step, t->feature, t->column), t->n_options);
  for (size_t o = 0; o < t->n_options; o++)
    ck_assert_uint_eq(entry[option[o]], t->option[o]);
  ck_assert_uint_eq(option[0], tied[0]);
  at = clarke_window_last_option(f, t->step, t->feature, t->column);
  ck_assert(clarke_identity_of(f->identities, s->in[0].value, entry[tied[n - 1]], t->column)
            == clarke_identity_of(f->identities, s->in[0].value, t->option[at], t->column));
  ck_assert_uint_eq(chosen->route[t->step].from[0][t->feature * f->n + t->column], t->option[CLARKE_OPTION_OF(side)]);
}

START_TEST(sides_of_touches)
{
  uint64_t state = 5;
  size_t kinks = 0, windows = 0;

  for (size_t i = 0; i < draw_count(900); i++) {
    drawn n;
    clarke_slopes chosen, loose;
    int8_t *side;

    drawn_begin(&n, i, &state);
    side = malloc(n.k.replay.n_touches + 1);
    for (size_t t = 0; t < n.k.replay.n_touches; t++) {
      const clarke_touch *touch = &n.k.replay.touch[t];
      const size_t o = draw_below(&state, clarke_touch_sides(touch));

      side[t] = clarke_side_numbered(touch, o);
      ck_assert_uint_eq(clarke_side_number(touch, side[t]), o);
    }
    clarke_slopes_init(&chosen);
    clarke_slopes_init(&loose);
    if (n.k.replay.n_touches > 0) {
      OK(clarke_slopes_choose(&chosen, &n.k.replay.near, n.k.replay.touch, n.k.replay.n_touches, side, &n.k.profile, &error));
      OK(clarke_slopes_choose(&loose, &n.k.replay.near, n.k.replay.touch, n.k.replay.n_touches, NULL, &n.k.profile, &error));
      OK(clarke_slopes_loosen(&loose, &n.k.replay.near, n.k.replay.touch, n.k.replay.n_touches, &error));
    }
    for (size_t t = 0; t < n.k.replay.n_touches; t++)
      if (n.k.replay.touch[t].n_options == 0)
        check_kink(&n.k, t, &chosen, &loose, side[t]), kinks++;
      else
        check_window(&n.k, t, &chosen, side[t]), windows++;
    clarke_slopes_clear(&chosen);
    clarke_slopes_clear(&loose);
    free(side);
    drawn_end(&n);
  }
  ck_assert_uint_gt(kinks, draw_count(200));
  ck_assert_uint_gt(windows, draw_count(100));
}
END_TEST

/* What the profile does not say is an error that names the operator. */
START_TEST(a_profile_must_say)
{
  uint64_t state = 6;
  clarke_profile silent;
  clarke_tie_rule rule = {.known = true, .tie = CLARKE_TIE_FIRST};
  bool asked = false;
  mpq_t slope;

  mpq_init(slope);
  clarke_profile_init(&silent);
  silent.name = strdup("silent"); /* knows no operator at all */
  for (size_t i = 0; i < 40 && !asked; i++) {
    drawn n;

    drawn_begin(&n, 2 * i, &state);
    for (size_t t = 0; t < n.k.replay.n_touches; t++) {
      ck_assert_int_eq(clarke_touch_proxy(slope, &n.k.g, &n.k.replay.touch[t], &silent, &error), CLARKE_EINPUT);
      says(error.text, "silent|says nothing of|kink");
      OK(clarke_tie_check(&rule, &silent, n.k.g.steps[n.k.replay.touch[t].step].op, &error));
      ck_assert_int_eq(clarke_tie_check(NULL, &silent, n.k.g.steps[n.k.replay.touch[t].step].op, &error), CLARKE_EINPUT);
      says(error.text, "silent|has no rule for ties of");
      rule.tie = CLARKE_TIE_STABLE; /* of programs' sort: not a window's */
      ck_assert_int_eq(clarke_tie_check(&rule, &silent, n.k.g.steps[n.k.replay.touch[t].step].op, &error), CLARKE_EINPUT);
      rule.tie = CLARKE_TIE_FIRST;
      asked = true;
    }
    drawn_end(&n);
  }
  ck_assert(asked);
  clarke_profile_clear(&silent);
  mpq_clear(slope);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("derivatives");

  tcase_add_test(tests, one_column_is_a_pass_of_its_own);
  tcase_add_test(tests, a_pass_step_by_step);
  tcase_add_test(tests, enclosed_derivatives);
  tcase_add_test(tests, carriers_visits_and_constants);
  tcase_add_test(tests, scales_and_slopes_as_columns);
  tcase_add_test(tests, sides_of_touches);
  tcase_add_test(tests, a_profile_must_say);
  return run_tests();
}
