/* What is asked of a pass and its derivatives beside their numbers: one column alone, step by step, enclosures of a few values, who
 * depends on the parameters, single constants. On drawn networks, by the headers' words. */
#include "drawn_pass.h"

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
                || memcmp(f.piece[s], n.k.pass.piece[s], n.k.g.values[n.k.g.steps[s].out].count * f.n * sizeof **f.piece) == 0);
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
  const clarke_loss loss = {.kind = CLARKE_LOSS_SUM, .y = NULL, .samples = k->replay.samples};

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

int
main(void)
{
  TCase *tests = tests_of("derivatives");

  tcase_add_test(tests, one_column_is_a_pass_of_its_own);
  tcase_add_test(tests, a_pass_step_by_step);
  tcase_add_test(tests, enclosed_derivatives);
  tcase_add_test(tests, carriers_visits_and_constants);
  return run_tests();
}
