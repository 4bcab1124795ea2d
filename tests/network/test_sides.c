/* The slopes that derivatives are made of: columns of constants, the sides of touched kinks, the options of tied windows. On drawn
 * networks, by the headers' words. */
#include "drawn_pass.h"
#include "network/pass/linear.h"
#include "network/pass/piecewise.h"
#include "network/pass/window.h"

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
  ck_assert(scales > draw_count(60) && slopes > draw_count(24));
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
check_kink(const machine *k, size_t number, const clarke_slopes *chosen, const clarke_slopes *loose, clarke_branch side)
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
check_window(const machine *k, size_t number, const clarke_slopes *chosen, clarke_branch side)
{
  const clarke_touch *t = &k->replay.touch[number];
  const clarke_step *s = &k->g.steps[t->step];
  const clarke_forward *f = &k->replay.near;
  const clarke_matrix *x = &f->value[s->in[0].value];
  const size_t *entry = s->in[0].map + t->feature * s->width;
  size_t tied[CLARKE_MAX_WIDTH], option[CLARKE_MAX_WIDTH], count[CLARKE_MAX_WIDTH], at = 0;
  const size_t n = clarke_window_tied(tied, f, t->step, t->feature, t->column);
  size_t parted = 0;

  for (size_t i = 0; i < s->width; i++) {
    bool largest = entry[i] != CLARKE_NONE;

    for (size_t o = 0; o < s->width && largest; o++)
      largest = entry[o] == CLARKE_NONE || clarke_matrix_compare_entries(x, entry[i], entry[o], t->column) >= 0;
    if (largest)
      ck_assert_uint_eq(tied[at++], i);
  }
  ck_assert_uint_eq(at, n);
  for (size_t i = 0; i < n; i++)
    parted += clarke_identity_of(f->identities, s->in[0].value, entry[tied[i]], t->column)
              != clarke_identity_of(f->identities, s->in[0].value, t->option[0], t->column);
  ck_assert_uint_eq(clarke_window_parted(f, t->step, t->feature, t->column), parted);
  ck_assert_uint_eq(t->parted, parted);
  ck_assert_uint_eq(clarke_window_options(option, f, t->step, t->feature, t->column), t->n_options);
  for (size_t o = 0; o < t->n_options; o++)
    ck_assert_uint_eq(entry[option[o]], t->option[o]);
  ck_assert_uint_eq(option[0], tied[0]);
  memset(count, 0, sizeof count);
  clarke_window_count_options(count, f, t->step, t->feature, t->column);
  for (size_t i = 0; i < n; i++)
    for (size_t o = 0; o < t->n_options; o++)
      count[o] -= clarke_identity_of(f->identities, s->in[0].value, entry[tied[i]], t->column)
                  == clarke_identity_of(f->identities, s->in[0].value, t->option[o], t->column);
  for (size_t o = 0; o < t->n_options; o++)
    ck_assert_uint_eq(count[o], 0);
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
    clarke_branch *side;

    drawn_begin(&n, i, &state);
    side = malloc((n.k.replay.n_touches + 1) * sizeof *side);
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
  TCase *tests = tests_of("sides");

  tcase_add_test(tests, scales_and_slopes_as_columns);
  tcase_add_test(tests, sides_of_touches);
  tcase_add_test(tests, a_profile_must_say);
  return run_tests();
}
