/* Claims about all programs, asked of drawn ones (suite.h). */
#include "suite_drawn.h"

/* --- Almost everywhere ------------------------------------------------------------------------- */

/* At a point off all kinks AD's output is the derivative, whatever it takes at kinks: differences say so. */
clarke_status
clarke_suite_almost_everywhere(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  clarke_drawn p;
  clarke_posed q;
  long at[MOST_INPUTS];
  mpq_t *g = clarke_rationals(MOST_INPUTS);
  bool equal = true;
  clarke_status status = g != NULL ? CLARKE_OK : clarke_no_memory(err);

  clarke_draw_point(at, d, MOST_INPUTS);
  clarke_drawn_draw(&p, d, at, MOST_INPUTS, MOST_NODES, CLARKE_DRAWN_MAX, true);
  clarke_posed_init(&q);
  if (status == CLARKE_OK)
    status = clarke_drawn_pose(&q, &p, at, 1, err);
  if (status == CLARKE_OK) {
    clarke_posed_leave_kinks(&q, d);
    status = clarke_posed_run(&q, g, err);
    t->of[CLARKE_COUNT_TOUCHED] += q.d.execution.n_touched;
  }
  for (size_t i = 0; i < MOST_INPUTS && status == CLARKE_OK; i++)
    status = clarke_posed_difference(&equal, &q, i, g[i], err);
  if (status == CLARKE_OK)
    clarke_suite_add(t, equal ? CLARKE_YES : CLARKE_NO);
  clarke_posed_clear(&q);
  clarke_rationals_free(g, MOST_INPUTS);
  return status;
}

/* --- Smooth programs --------------------------------------------------------------------------- */

#define SMOOTH_NODES 6 /* three products: of degree 8 at most */
#define STENCIL 4

/* The derivative by w_i from values alone: a polynomial of degree 8 has that of its values at nine points. */
static clarke_status
derivative_of_values(mpq_t slope, clarke_posed *q, size_t i, clarke_error *err)
{
  static const struct {
    long n;
    unsigned long d;
  } weight[STENCIL + 1] = {{0, 1}, {4, 5}, {-1, 5}, {4, 105}, {-1, 280}};
  clarke_status status = CLARKE_OK;
  mpq_t middle, by;

  mpq_inits(middle, by, NULL);
  mpq_set(middle, q->at[i]);
  mpq_set_ui(slope, 0, 1);
  for (long k = -STENCIL; k <= STENCIL && status == CLARKE_OK; k++) {
    mpq_set_si(by, k, 1);
    mpq_add(q->at[i], middle, by);
    status = clarke_posed_run(q, NULL, err);
    if (status != CLARKE_OK)
      break;
    mpq_set_si(by, k < 0 ? -weight[-k].n : weight[k].n, weight[k < 0 ? -k : k].d);
    mpq_canonicalize(by);
    mpq_mul(by, by, q->d.execution.value[q->p.output[0]].q);
    mpq_add(slope, slope, by);
  }
  mpq_set(q->at[i], middle);
  mpq_clears(middle, by, NULL);
  return status;
}

/* AD differentiates smooth programs: its output is the derivative of the function. */
clarke_status
clarke_suite_smooth(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  clarke_drawn p;
  clarke_posed q;
  long at[MOST_INPUTS];
  mpq_t *g = clarke_rationals(MOST_INPUTS), slope;
  bool equal = true, still = true;
  clarke_status status = g != NULL ? CLARKE_OK : clarke_no_memory(err);

  mpq_init(slope);
  clarke_draw_point(at, d, MOST_INPUTS);
  clarke_drawn_draw(&p, d, at, MOST_INPUTS, SMOOTH_NODES, CLARKE_DRAWN_PRODUCT, false);
  for (size_t i = 1; i < p.n; i += 2)
    p.node[i].kind = CLARKE_DRAWN_PRODUCT;
  clarke_posed_init(&q);
  if (status == CLARKE_OK)
    status = clarke_drawn_pose(&q, &p, at, 1, err);
  if (status == CLARKE_OK)
    status = clarke_posed_run(&q, g, err);
  for (size_t i = 0; i < MOST_INPUTS && status == CLARKE_OK; i++) {
    status = derivative_of_values(slope, &q, i, err);
    equal = equal && mpq_equal(slope, g[i]);
    still = still && mpq_sgn(slope) == 0;
  }
  if (status == CLARKE_OK)
    clarke_suite_add(t, equal ? CLARKE_YES : CLARKE_NO);
  t->of[CLARKE_COUNT_DIFFER] += !still;
  mpq_clear(slope);
  clarke_posed_clear(&q);
  clarke_rationals_free(g, MOST_INPUTS);
  return status;
}

/* --- Segments ---------------------------------------------------------------------------------- */

/* Along a segment what AD returns integrates to the difference, even where the segment stays on kinks. Segments of several pieces differ. */
clarke_status
clarke_suite_segments(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  clarke_drawn p;
  clarke_posed q;
  long at[MOST_INPUTS], along = clarke_draw_between(d, 1, 3);
  const bool diagonal = clarke_draw_below(d, 2) == 0;
  mpq_t *to = clarke_rationals(MOST_INPUTS);
  clarke_status status = to != NULL ? CLARKE_OK : clarke_no_memory(err);

  clarke_draw_point(at, d, MOST_INPUTS);
  if (diagonal)
    at[1] = at[2] = at[0];
  clarke_drawn_draw(&p, d, at, MOST_INPUTS, MOST_NODES, CLARKE_DRAWN_MAX, true);
  clarke_posed_init(&q);
  if (status == CLARKE_OK)
    status = clarke_drawn_pose(&q, &p, at, 1, err);
  for (size_t i = 0; i < MOST_INPUTS && status == CLARKE_OK; i++)
    mpq_set_si(to[i], at[i] + (diagonal || i == 0 ? along : clarke_draw_between(d, -3, 3)), 1);
  if (status == CLARKE_OK)
    status = clarke_posed_follow(t, &q, to, err);
  clarke_posed_clear(&q);
  clarke_rationals_free(to, MOST_INPUTS);
  return status;
}

/* --- Zones ------------------------------------------------------------------------------------- */

/* Is the zone as its definition has it, by what is touched and whether the choices there lead to one result? */
static clarke_truth
zone_is_right(const clarke_derivation *d)
{
  const clarke_conservative *c = &d->conservative;

  if (d->zone == CLARKE_ZONE_UNKNOWN || (!c->known && !c->singleton_known))
    return CLARKE_UNKNOWN;
  if (d->execution.n_touched == 0)
    return d->zone == CLARKE_ZONE_REGULAR ? CLARKE_YES : CLARKE_NO;
  return (d->zone == CLARKE_ZONE_BIFURCATION) == !c->singleton ? CLARKE_YES : CLARKE_NO;
}

/* Each point is in one zone, and none off all kinks in the bifurcation zone. Points with integers in it differ. */
clarke_status
clarke_suite_zones(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  clarke_drawn p;
  clarke_posed q;
  long at[MOST_INPUTS];
  clarke_truth right = CLARKE_UNKNOWN;
  clarke_status status;

  clarke_draw_point(at, d, MOST_INPUTS);
  clarke_drawn_draw(&p, d, at, MOST_INPUTS, MOST_NODES - 4, CLARKE_DRAWN_MAX, false);
  clarke_posed_init(&q);
  status = clarke_drawn_pose(&q, &p, at, 1, err);
  if (status == CLARKE_OK)
    status = clarke_posed_derive(&q, err);
  if (status == CLARKE_OK) {
    right = zone_is_right(&q.d);
    t->of[CLARKE_COUNT_TOUCHED] += q.d.execution.n_touched;
    t->of[CLARKE_COUNT_DIFFER] += q.d.zone == CLARKE_ZONE_BIFURCATION;
    clarke_posed_leave_kinks(&q, d);
    status = clarke_posed_derive(&q, err);
  }
  if (status == CLARKE_OK)
    clarke_suite_add(t, right != CLARKE_YES                          ? right
                        : q.d.zone == CLARKE_ZONE_UNKNOWN     ? CLARKE_UNKNOWN
                        : q.d.zone == CLARKE_ZONE_BIFURCATION ? CLARKE_NO
                                                               : CLARKE_YES);
  clarke_posed_clear(&q);
  return status;
}

/* --- Paths ------------------------------------------------------------------------------------- */

/* AD's output with the slope 1 at the touched ReLUs whose bits are set, else 0: is it the first one? */
static clarke_status
compare_choice(bool *one, mpq_t *first, clarke_drawn *p, const long *at, size_t bits, clarke_error *err)
{
  mpq_t *g = clarke_rationals(p->n_inputs);
  clarke_posed q;
  clarke_status status;

  if (g == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < p->n; i++)
    p->node[i].choice = p->node[i].kind == CLARKE_DRAWN_RELU ? 1 + (bits >> i / 2 & 1) : 0;
  clarke_posed_init(&q);
  status = clarke_drawn_pose(&q, p, at, 1, err);
  if (status == CLARKE_OK)
    status = clarke_posed_run(&q, g, err);
  for (size_t i = 0; i < p->n_inputs && status == CLARKE_OK; i++)
    if (bits == 0)
      mpq_set(first[i], g[i]);
    else
      *one = *one && mpq_equal(first[i], g[i]);
  clarke_posed_clear(&q);
  clarke_rationals_free(g, p->n_inputs);
  return status;
}

/* Proposition 4: whether all choices give one result is found by paths. Here beside all vertices, of programs of sums and ReLUs; where there
 * are two results, the two found are two. Instances that have several results differ. */
clarke_status
clarke_suite_paths(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  clarke_drawn p;
  clarke_posed q;
  long at[MOST_INPUTS];
  mpq_t *first = clarke_rationals(MOST_INPUTS);
  bool one = true;
  clarke_status status = first != NULL ? CLARKE_OK : clarke_no_memory(err);

  clarke_draw_point(at, d, MOST_INPUTS);
  clarke_drawn_draw(&p, d, at, MOST_INPUTS, MOST_NODES, CLARKE_DRAWN_RELU, false);
  clarke_posed_init(&q);
  if (status == CLARKE_OK)
    status = clarke_drawn_pose(&q, &p, at, 1, err);
  if (status == CLARKE_OK)
    status = clarke_posed_run(&q, NULL, err);
  if (status == CLARKE_OK)
    status = clarke_conservative_find(&q.d.conservative, &q.d.execution, err);
  for (size_t bits = 0; bits < (size_t)1 << MOST_NODES / 2 && status == CLARKE_OK; bits++)
    status = compare_choice(&one, first, &p, at, bits, err);
  if (status == CLARKE_OK) {
    const clarke_conservative *c = &q.d.conservative;
    bool same = c->element[1] == NULL;

    for (size_t i = 0; i < MOST_INPUTS && !same; i++)
      same = !mpq_equal(c->element[0][i], c->element[1][i]);
    t->of[CLARKE_COUNT_TOUCHED] += q.d.execution.n_touched;
    t->of[CLARKE_COUNT_DIFFER] += !one;
    clarke_suite_add(t, !c->known ? CLARKE_UNKNOWN : c->singleton == one && (one || c->element[1] != NULL) && same ? CLARKE_YES : CLARKE_NO);
  }
  clarke_posed_clear(&q);
  clarke_rationals_free(first, MOST_INPUTS);
  return status;
}

/* --- The chain rule ---------------------------------------------------------------------------- */

/* AD's output, and how many kinks it meets. */
static clarke_status
differentiate(mpq_t *out, size_t *touched, clarke_posed *q, clarke_status posed, clarke_error *err)
{
  clarke_status status = posed == CLARKE_OK ? clarke_posed_run(q, out, err) : posed;

  *touched = status == CLARKE_OK ? q->d.execution.n_touched : 0;
  clarke_posed_clear(q);
  return status;
}

/* Is `whole` = outer J, J being two rows? */
static bool
is_product(mpq_t *whole, mpq_t *outer, mpq_t *j, size_t n)
{
  mpq_t a, b;
  bool equal = true;

  mpq_init(a);
  mpq_init(b);
  for (size_t i = 0; i < n; i++) {
    mpq_mul(a, outer[0], j[i]);
    mpq_mul(b, outer[1], j[n + i]);
    mpq_add(a, a, b);
    equal = equal && mpq_equal(a, whole[i]);
  }
  mpq_clear(a);
  mpq_clear(b);
  return equal;
}

/* AD's output of a composition is the product of AD's outputs, at kinks too. */
clarke_status
clarke_suite_chain_rule(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  clarke_drawn f, g;
  clarke_posed q;
  long at[MOST_INPUTS], inner[2];
  size_t touched[3] = {0};
  mpq_t *x = clarke_rationals(3 * MOST_INPUTS + 2), *j = x + MOST_INPUTS, *outer = x + 3 * MOST_INPUTS;
  clarke_status status = x != NULL ? CLARKE_OK : clarke_no_memory(err);

  if (status != CLARKE_OK)
    return status;
  clarke_draw_point(at, d, MOST_INPUTS);
  clarke_drawn_draw(&f, d, at, MOST_INPUTS, MOST_NODES / 2, CLARKE_DRAWN_PRODUCT, true);
  for (size_t i = 0; i < 2; i++)
    inner[i] = clarke_drawn_value(&f, at, f.n_inputs + f.n - 2 + i);
  clarke_drawn_draw(&g, d, inner, 2, MOST_NODES / 2, CLARKE_DRAWN_PRODUCT, true);
  clarke_posed_init(&q);
  status = differentiate(x, &touched[0], &q, clarke_drawn_pose_both(&q, &f, &g, at, err), err);
  if (status == CLARKE_OK)
    status = differentiate(j, &touched[1], &q, clarke_drawn_pose(&q, &f, at, 2, err), err);
  if (status == CLARKE_OK)
    status = differentiate(outer, &touched[2], &q, clarke_drawn_pose(&q, &g, inner, 1, err), err);
  if (status == CLARKE_OK)
    clarke_suite_add(t, is_product(x, outer, j, MOST_INPUTS) ? CLARKE_YES : CLARKE_NO);
  t->of[CLARKE_COUNT_TOUCHED] += touched[0];
  clarke_rationals_free(x, 3 * MOST_INPUTS + 2);
  return status;
}

/* --- ReLU'(0) ---------------------------------------------------------------------------------- */

/* *equal: do ReLU'(0) = 0 and 1 give one output at the point? */
static clarke_status
slopes_agree(bool *equal, clarke_posed *q, mpq_t *zero, mpq_t *one, clarke_error *err)
{
  clarke_status status = clarke_posed_take(q, "like pytorch-2.13\nRelu 0 1\n", err);

  if (status == CLARKE_OK)
    status = clarke_posed_run(q, one, err);
  if (status == CLARKE_OK)
    status = clarke_posed_take(q, "like pytorch-2.13\nRelu 0 0\n", err);
  if (status == CLARKE_OK)
    status = clarke_posed_run(q, zero, err);
  *equal = true;
  for (size_t i = 0; i < q->n && status == CLARKE_OK; i++)
    *equal = *equal && mpq_equal(zero[i], one[i]);
  return status;
}

/* Theorem 1 of Bertoin et al.: off all kinks the output does not depend on ReLU'(0), and elsewhere only where a ReLU's argument is 0.
 * Instances that depend on it at their integers differ. */
clarke_status
clarke_suite_slope_of_relu(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  clarke_drawn p;
  clarke_posed q;
  long at[MOST_INPUTS];
  mpq_t *x = clarke_rationals(2 * MOST_INPUTS);
  bool here = true, off = true;
  size_t touched = 0;
  clarke_status status = x != NULL ? CLARKE_OK : clarke_no_memory(err);

  clarke_draw_point(at, d, MOST_INPUTS);
  clarke_drawn_draw(&p, d, at, MOST_INPUTS, MOST_NODES, CLARKE_DRAWN_RELU, false);
  clarke_posed_init(&q);
  if (status == CLARKE_OK)
    status = clarke_drawn_pose(&q, &p, at, 1, err);
  if (status == CLARKE_OK)
    status = slopes_agree(&here, &q, x, x + MOST_INPUTS, err);
  if (status == CLARKE_OK) {
    touched = q.d.execution.n_touched;
    clarke_posed_leave_kinks(&q, d);
    status = slopes_agree(&off, &q, x, x + MOST_INPUTS, err);
  }
  t->of[CLARKE_COUNT_TOUCHED] += touched;
  t->of[CLARKE_COUNT_DIFFER] += !here;
  if (status == CLARKE_OK)
    clarke_suite_add(t, off && (here || touched > 0) ? CLARKE_YES : CLARKE_NO);
  clarke_posed_clear(&q);
  clarke_rationals_free(x, 2 * MOST_INPUTS);
  return status;
}

#define DESCENT_STEPS 5

/* *equal: do some steps of gradient descent with ReLU'(0) = 0 and with 1 stay together? */
static clarke_status
descend(bool *equal, clarke_posed *q, mpq_t *g, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  *equal = true;
  for (size_t k = 0; k < DESCENT_STEPS && *equal && status == CLARKE_OK; k++) {
    status = slopes_agree(equal, q, g, g + q->n, err);
    for (size_t i = 0; i < q->n && status == CLARKE_OK; i++) {
      mpq_div_2exp(g[i], g[i], 4);
      mpq_sub(q->at[i], q->at[i], g[i]);
    }
  }
  return status;
}

/* Theorem 2 of Bertoin et al.: from a point that is drawn the steps of gradient descent do not depend on ReLU'(0). From a point on kinks
 * they may: such instances differ. */
clarke_status
clarke_suite_descent(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  clarke_drawn p;
  clarke_posed q;
  long at[MOST_INPUTS];
  mpq_t *g = clarke_rationals(2 * MOST_INPUTS);
  bool from_kinks = true, drawn = true;
  clarke_status status = g != NULL ? CLARKE_OK : clarke_no_memory(err);

  clarke_draw_point(at, d, MOST_INPUTS);
  clarke_drawn_draw(&p, d, at, MOST_INPUTS, 6, CLARKE_DRAWN_RELU, false);
  p.node[4].kind = CLARKE_DRAWN_PRODUCT;
  clarke_posed_init(&q);
  if (status == CLARKE_OK)
    status = clarke_drawn_pose(&q, &p, at, 1, err);
  if (status == CLARKE_OK)
    status = descend(&from_kinks, &q, g, err);
  for (size_t i = 0; i < MOST_INPUTS && status == CLARKE_OK; i++)
    mpq_set_si(q.at[i], at[i], 1);
  if (status == CLARKE_OK) {
    clarke_posed_leave_kinks(&q, d);
    status = descend(&drawn, &q, g, err);
  }
  t->of[CLARKE_COUNT_DIFFER] += !from_kinks;
  if (status == CLARKE_OK)
    clarke_suite_add(t, drawn ? CLARKE_YES : CLARKE_NO);
  clarke_posed_clear(&q);
  clarke_rationals_free(g, 2 * MOST_INPUTS);
  return status;
}
