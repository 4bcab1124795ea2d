/* Branches that records took, beside the exact replay and beside one another, by comparisons written down here. */
#include "recorded.h"

#include "trace/certify/branches.h"
#include "trace/bound/rounding_loss.h"

/* The piece of a number, or the kink it is at, by comparisons. */
static clarke_branch
place_of(const clarke_pieces *p, double x)
{
  clarke_branch piece = 0;

  for (size_t k = 0; k < p->n_kinks; k++) {
    const double kink = mpq_get_d(p->kink[k]);

    if (x == kink)
      return CLARKE_AT(k);
    piece += x > kink;
  }
  return piece;
}

START_TEST(branches_of_kinks)
{
  clarke_branches p;
  clarke_certified c;
  size_t at = 0, asked = 0;

  run_record(&c, records[_i], false);
  clarke_branches_init(&p);
  OK(clarke_branches_compare(&p, &c.nodes, &c.audit.replay, &error));
  ck_assert(p.n == c.pattern.n && p.open == 0 && p.unrecorded == 0);
  for (size_t i = 0; i < c.nodes.g->n_steps; i++) {
    const clarke_step *s = &c.nodes.g->steps[i];
    const size_t entries = c.nodes.g->values[s->out].count * c.nodes.pass.n, x = s->in[0].value;

    if (!clarke_step_has_kinks(s))
      continue;
    asked += entries;
    while (s->kind == CLARKE_MAX && at < p.n && p.parted[at].step == i)
      at++;
    for (size_t e = 0; s->kind == CLARKE_PIECEWISE && e < entries; e++) {
      const clarke_branch exact = c.audit.replay.piece[i][e];
      const double number = c.nodes.recorded[x] != NULL ? c.nodes.recorded[x][e]
                                                        : clarke_matrix_get_double(&c.nodes.pass.value[x], e / c.nodes.pass.n, e % c.nodes.pass.n);
      const clarke_branch recorded = place_of(&s->pieces, number);

      if (exact == recorded)
        continue;
      ck_assert(at < p.n && p.parted[at].step == i && p.parted[at].feature == e / c.nodes.pass.n && p.parted[at].sample == e % c.nodes.pass.n);
      ck_assert_int_eq(p.parted[at].kind, exact < 0 ? CLARKE_AT_EXACTLY : recorded < 0 ? CLARKE_AT_RECORDED : CLARKE_OTHER_SIDE);
      at++;
    }
  }
  ck_assert_uint_eq(at, p.n);
  ck_assert_uint_eq(p.asked, asked);
  clarke_branches_clear(&p);
  ck_assert(p.n == 0 && p.parted == NULL && p.asked == 0);
  clarke_certified_clear(&c);
}
END_TEST

/* Pieces that join without a kink are one branch: no entry parts at their place. */
START_TEST(branches_of_joined_pieces)
{
  clarke_branches p;
  clarke_certified c;
  size_t parted[2] = {0, 0};

  for (int joined = 0; joined < 2; joined++) {
    run_record(&c, "parted", false);
    for (size_t i = 0; i < c.nodes.g->n_steps; i++) {
      clarke_step *s = &c.audit.graph.steps[i];

      if (s->kind != CLARKE_PIECEWISE || s->pieces.n_kinks == 0)
        continue;
      for (size_t e = 0; e < c.nodes.g->values[s->out].count * c.nodes.pass.n; e++) /* recorded on the other side of 0 */
        if (c.audit.replay.piece[i][e] >= 0)
          c.nodes.pass.piece[i][e] = (clarke_branch)(1 - c.audit.replay.piece[i][e]);
      if (!joined)
        continue;
      mpq_set_ui(s->pieces.coef[0][2], 1, 2); /* x^2 / 2 below 0, and 0 from there on */
      mpq_set_ui(s->pieces.coef[1][1], 0, 1);
    }
    clarke_branches_init(&p);
    OK(clarke_branches_compare(&p, &c.nodes, &c.audit.replay, &error));
    for (size_t i = 0; i < p.n; i++)
      parted[joined] += c.nodes.g->steps[p.parted[i].step].kind == CLARKE_PIECEWISE && p.parted[i].kind == CLARKE_OTHER_SIDE;
    clarke_branches_clear(&p);
    clarke_certified_clear(&c);
  }
  ck_assert(parted[0] > 0 && parted[1] == 0);
}
END_TEST

START_TEST(branches_of_windows)
{
  static const struct {
    clarke_divergence kind;
    size_t feature;
    bool alike;
  } want[] = {{CLARKE_AT_RECORDED, 2, false}, {CLARKE_AT_EXACTLY, 4, false}, {CLARKE_OTHER_SIDE, 0, false}, {CLARKE_AT_RECORDED, 1, true},
              {CLARKE_AT_EXACTLY, 2, true}};
  clarke_certified c;
  clarke_branches p;
  size_t x;

  run_record(&c, "parted", false);
  clarke_branches_init(&p);
  OK(clarke_branches_compare(&p, &c.nodes, &c.audit.replay, &error));
  ck_assert_uint_eq(p.n, 5);
  for (size_t i = 0; i < 5; i++)
    ck_assert(p.parted[i].kind == want[i].kind && p.parted[i].feature == want[i].feature && p.parted[i].alike == want[i].alike);
  clarke_branches_clear(&p);
  x = value_named(c.nodes.g, "mix/convolution"); /* the relu's arguments are forgotten, and its outputs are there */
  free(c.nodes.recorded[x]);
  c.nodes.recorded[x] = NULL;
  OK(clarke_branches_compare(&p, &c.nodes, &c.audit.replay, &error));
  ck_assert(p.n == 5 && p.unrecorded == 6 && p.doubtful == 0 && p.asked == 9); /* they are known without an error */
  clarke_branches_clear(&p);
  for (size_t e = 0; e < 6; e++)
    c.nodes.rounded.error[x][e] = 16;
  OK(clarke_branches_compare(&p, &c.nodes, &c.audit.replay, &error));
  ck_assert(p.n == 3 && p.unrecorded == 6 && p.doubtful == 6 && p.asked == 9);
  clarke_branches_clear(&p);
  ck_assert(clarke_roundoff_may_win(&c.nodes.rounded, x, 0, 1, 0)); /* both are off by 16 at most */
  c.nodes.rounded.error[x][0] = c.nodes.rounded.error[x][1] = 0;
  ck_assert(!clarke_roundoff_may_win(&c.nodes.rounded, x, 0, 1, 0));
  ck_assert(clarke_roundoff_loss(&c.nodes.rounded) >= 0 && clarke_roundoff_loss(&c.nodes.rounded) < 1e-4);
  {
    const size_t n = c.nodes.n;

    OK(clarke_certify_untold(&c.nodes, &error)); /* it has no buffers */
    ck_assert_uint_eq(c.nodes.n, n);
  }
  c.audit.replay.piece[c.nodes.g->values[value_named(c.nodes.g, "max_pool2d_with_indices")].producer][0] = CLARKE_OPEN;
  OK(clarke_branches_compare(&p, &c.nodes, &c.audit.replay, &error));
  ck_assert(p.n == 2 && p.open == 1 && p.doubtful == 5);
  clarke_branches_clear(&p);
  clarke_certified_clear(&c);
}
END_TEST

/* The relu of "own-side" is touched exactly; the record has its argument on one side. */
START_TEST(sides)
{
  clarke_certified c;
  const clarke_touch *t;
  clarke_branch *piece;
  bool known;

  run_record(&c, "own-side", false);
  ck_assert_uint_eq(c.audit.replay.n_touches, 1);
  t = &c.audit.replay.touch[0];
  piece = &c.nodes.pass.piece[t->step][0];
  ck_assert_int_eq(clarke_branches_side(&known, &c.nodes, &c.audit.replay, 0),
                   c.nodes.recorded[c.nodes.g->steps[t->step].in[0].value][0] > 0 ? CLARKE_RIGHT : CLARKE_LEFT);
  ck_assert(known);
  *piece = 0;
  ck_assert_int_eq(clarke_branches_side(&known, &c.nodes, &c.audit.replay, 0), CLARKE_LEFT);
  *piece = 1;
  ck_assert_int_eq(clarke_branches_side(&known, &c.nodes, &c.audit.replay, 0), CLARKE_RIGHT);
  *piece = CLARKE_AT(0);
  ck_assert_int_eq(clarke_branches_side(&known, &c.nodes, &c.audit.replay, 0), CLARKE_PROXY);
  ck_assert(known);
  *piece = 2;
  clarke_branches_side(&known, &c.nodes, &c.audit.replay, 0);
  ck_assert(!known);
  clarke_certified_clear(&c);
  /* A window: the option that the record names. */
  run_record(&c, "parted", false);
  for (size_t k = 0; k < c.audit.replay.n_touches; k++) {
    const size_t e = c.audit.replay.touch[k].feature * c.nodes.pass.n + c.audit.replay.touch[k].sample;

    t = &c.audit.replay.touch[k];
    for (size_t o = 0; o < t->n_options; o++) {
      c.nodes.slopes.route[t->step].from[0][e] = t->option[o];
      ck_assert_int_eq(clarke_branches_side(&known, &c.nodes, &c.audit.replay, k), CLARKE_OPTION(o));
      ck_assert(known);
    }
    if (t->n_options == 0)
      continue;
    c.nodes.slopes.route[t->step].from[0][e] = c.nodes.g->values[c.nodes.g->steps[t->step].in[0].value].count - 1 - t->option[0];
    clarke_branches_side(&known, &c.nodes, &c.audit.replay, k);
    ck_assert(!known);
  }
  clarke_certified_clear(&c);
}
END_TEST

/* The first kink or window that parts, in the graph's order. */
START_TEST(forks)
{
  clarke_certified a, b;
  clarke_bifurcation at;
  size_t pool, relu, twin[64];

  run_record(&a, "small", true);
  run_record(&b, "small", true);
  ck_assert_uint_le(a.nodes.g->n_steps, 64);
  for (size_t i = 0; i < a.nodes.g->n_steps; i++)
    twin[i] = i;
  pool = a.nodes.g->values[value_named(a.nodes.g, "2/max_pool2d_with_indices")].producer;
  relu = a.nodes.g->values[value_named(a.nodes.g, "4/relu")].producer;
  ck_assert(!clarke_branches_fork(&at, &a.nodes, &b.nodes, twin));
  b.nodes.pass.piece[relu][6] = (clarke_branch)!b.nodes.pass.piece[relu][6];
  ck_assert(clarke_branches_fork(&at, &a.nodes, &b.nodes, twin));
  ck_assert(at.step == relu && at.feature == 6 / b.nodes.pass.n && at.sample == 6 % b.nodes.pass.n);
  b.nodes.pass.piece[pool][9] = 3; /* of a window the winner counts, not how it came to be */
  ck_assert(clarke_branches_fork(&at, &b.nodes, &a.nodes, twin) && at.step == relu);
  b.nodes.slopes.route[pool].from[0][9]++;
  ck_assert(clarke_branches_fork(&at, &a.nodes, &b.nodes, twin));
  ck_assert(at.step == pool && at.feature == 9 / b.nodes.pass.n && at.sample == 9 % b.nodes.pass.n);
  clarke_certified_clear(&a);
  clarke_certified_clear(&b);
}
END_TEST

MODULE(branches)
{
  TCase *tests = tests_of("branches");

  tcase_add_loop_test(tests, branches_of_kinks, 0, RECORDS);
  tcase_add_test(tests, branches_of_joined_pieces);
  tcase_add_test(tests, branches_of_windows);
  tcase_add_test(tests, sides);
  tcase_add_test(tests, forks);
  return all_tests;
}
