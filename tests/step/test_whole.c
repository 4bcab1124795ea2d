/* Adafactor and Muon, which ask about a tensor as a whole: one step in float32 that PyTorch 2.13 made, exactly and in its bounds; what is moved by a
 * little is found. */
#include "../ok.h"

#include "step/judge_inside.h"
#include "step/muon.h"
#include "step/piece.h"
#include "step/single_adafactor.h"
#include "step/single_muon.h"

#include <math.h>
#include <string.h>

static const size_t dims[] = {2, 3};

/* The second step from {{1, 2, 3}, {-1, 1/2, 4}} by {{1, 1/2, -1}, {1/4, 0, 2}} and then the gradient here; lr 0.01, weight decay 0.1. */
static const double gradient[] = {0.5, 0.5, -1, 0.25, 0x1.333334p-2, 2};
static const double adafactor[2][6] = {{0x1.ee52b4p-1, 0x1.f6a432p+0, 0x1.81981ap+1, -0x1.01573ep+0, 0x1.ff7ceep-2, 0x1.fc8b2ep+1},
                                       {0x1.e104bap-1, 0x1.ecdec2p+0, 0x1.837c3cp+1, -0x1.03368cp+0, 0x1.f02f38p-2, 0x1.f901d8p+1}};
static const double row[2][2] = {{0x1.8p-1, 0x1.5aaaaap+0}, {0x1.367bbcp-1, 0x1.5f13e2p+0}};
static const double col[2][3] = {{0x1.1p-1, 0x1p-3, 0x1.4p+1}, {0x1.43732ep-2, 0x1.34ee98p-3, 0x1.4p+1}};
static const double muon[2][6] = {{0x1.fabf7ep-1, 0x1.fe6874p+0, 0x1.7fdd0ep+1, -0x1.00e4dep+0, 0x1.fdd688p-2, 0x1.fea0c6p+1},
                                  {0x1.f66bd8p-1, 0x1.fc7008p+0, 0x1.7fdcb6p+1, -0x1.018c1p+0, 0x1.fa77dcp-2, 0x1.fd4474p+1}};
static const double buffer[2][6] = {{0x1.99999ap-5, 0x1.99999ap-6, -0x1.99999ap-5, 0x1.99999ap-7, 0, 0x1.99999ap-4},
                                    {0x1.28f5c2p-4, 0x1.8f5c2ap-5, -0x1.8f5c2ap-4, 0x1.8f5c2ap-6, 0x1.eb852p-7, 0x1.8f5c2ap-3}};

/* The rule with lr 0.01 and weight decay 0.1; as programs in float32 round, where `rounds`. */
static const clarke_rule *
choose(clarke_hypers *h, const char *name, bool rounds)
{
  const clarke_rule *r = clarke_rule_find(name);

  clarke_hypers_init(h);
  h->given[CLARKE_HYPER_STEP] = h->given[CLARKE_HYPER_DECAY] = true;
  mpq_set_d(h->of[CLARKE_HYPER_STEP], 0.01);
  mpq_set_d(h->of[CLARKE_HYPER_DECAY], 0.1);
  if (strcmp(name, "torch-adafactor") == 0) {
    h->given[CLARKE_HYPER_EPS] = h->given[CLARKE_HYPER_EPS2] = h->given[CLARKE_HYPER_BETA2_DECAY] = true;
    mpq_set_d(h->of[CLARKE_HYPER_EPS], 0x1p-23);
    mpq_set_d(h->of[CLARKE_HYPER_EPS2], 0.001);
    mpq_set_d(h->of[CLARKE_HYPER_BETA2_DECAY], -0.8);
  } else {
    h->given[CLARKE_HYPER_MOMENTUM] = true;
    mpq_set_d(h->of[CLARKE_HYPER_MOMENTUM], 0.95);
  }
  OK(clarke_rule_check(h, r, &error));
  if (rounds)
    h->rounding = (clarke_step_rounding){.unit = 24, .tiny = 126, .scalar = 52};
  return r;
}

static clarke_step_tensor
recorded(const char *name)
{
  clarke_step_tensor t = {.n = 6, .shape = clarke_step_shape_of(dims, 2), .gradient = gradient};

  for (int when = 0; when < 2; when++)
    if (strcmp(name, "torch-adafactor") == 0) {
      t.theta[when] = adafactor[when];
      t.slot[when][CLARKE_SLOT_ROW] = row[when];
      t.slot[when][CLARKE_SLOT_COL] = col[when];
    } else {
      t.theta[when] = muon[when];
      t.slot[when][CLARKE_SLOT_M] = buffer[when];
    }
  return t;
}

START_TEST(shapes)
{
  static const size_t four[] = {2, 3, 4, 5};
  const clarke_step_shape s = clarke_step_shape_of(four, 4), vector = clarke_step_shape_of(four, 1);
  const clarke_rule *const factors = clarke_rule_find("torch-adafactor"), *const orthogonal = clarke_rule_find("torch-muon");

  ck_assert(s.n == 120 && s.batches == 6 && s.rows == 4 && s.cols == 5 && vector.n == 2 && vector.rows == 0);
  ck_assert(clarke_shape_count(&s, CLARKE_SLOT_ROW) == 24 && clarke_shape_count(&s, CLARKE_SLOT_COL) == 30 && clarke_shape_count(&s, -1) == 120);
  ck_assert(clarke_shape_has(&s, factors, CLARKE_SLOT_ROW) && !clarke_shape_has(&s, factors, CLARKE_SLOT_V));
  ck_assert(clarke_shape_has(&vector, factors, CLARKE_SLOT_V) && !clarke_shape_has(&vector, factors, CLARKE_SLOT_COL));
  ck_assert(clarke_shape_has(&vector, orthogonal, -1) && clarke_shape_has(&vector, clarke_rule_find("adam"), CLARKE_SLOT_V));
  OK(clarke_shape_check(&s, factors, &error));
  ck_assert_int_eq(clarke_shape_check(&s, orthogonal, &error), CLARKE_EINPUT);
  OK(clarke_shape_check(&(clarke_step_shape){.rank = 2, .n = 1}, orthogonal, &error));
  ck_assert_int_eq(clarke_shape_check(&(clarke_step_shape){.rank = 2}, orthogonal, &error), CLARKE_EINPUT);
  ck_assert_int_eq(clarke_shape_check(&(clarke_step_shape){.rank = 1}, factors, &error), CLARKE_EINPUT);
  OK(clarke_shape_check(&(clarke_step_shape){.rank = 1}, clarke_rule_find("adam"), &error));
}
END_TEST

/* In exact numbers: float32's are off by less than 2^-20; Muon's by what products in bfloat16 are off. */
START_TEST(exact)
{
  static const struct {
    const char *name;
    double off;
  } cases[] = {{"torch-adafactor", 0x1p-20}, {"torch-muon", 0.0005}};

  for (size_t c = 0; c < 2; c++) {
    const clarke_step_tensor t = recorded(cases[c].name);
    double far[1 + CLARKE_N_SLOTS];
    clarke_hypers h;
    const clarke_step_question q = {.rule = choose(&h, cases[c].name, false), .hypers = &h, .k = 1, .dtype = CLARKE_F32};

    OK(clarke_step_distances(far, &q, &t, &error));
    ck_assert_msg(far[0] > 0 && far[0] < cases[c].off, "%s: %g", cases[c].name, far[0]);
    for (int s = 0; s < CLARKE_N_SLOTS; s++)
      ck_assert_msg(far[1 + s] < 0x1p-20, "%s: %g", cases[c].name, far[1 + s]);
    OK(clarke_judge_whole_distances(far, &q, &t, &h, &error));
    ck_assert(far[0] < cases[c].off);
    clarke_hypers_clear(&h);
  }
}
END_TEST

/* 3 (1 - eta 0.1) - 2 eta p(p(...)), p(x) = a x + b x^3 + c x^5, of x / x = 1; a matrix of 4 x 1 has the root of 4 for a factor. */
START_TEST(polynomial)
{
  static const size_t tall[] = {4, 1};
  const clarke_step_shape s = clarke_step_shape_of(tall, 2);
  clarke_step_whole w;
  clarke_hypers h;
  const clarke_rule *r = choose(&h, "torch-muon", false);
  clarke_number g[4], factor;
  double x = 1;

  for (int i = 0; i < 5; i++)
    x = 3.4445 * x - 4.775 * x * x * x + 2.0315 * x * x * x * x * x;
  OK(clarke_whole_init(&w, &s, r, &error));
  for (size_t i = 0; i < 4; i++) {
    clarke_number_init(&g[i]);
    clarke_number_set_si(&g[i], i == 2 ? 7 : 0);
    clarke_number_set_si(&w.theta[i], 3);
  }
  OK(clarke_whole_step(&w, r, g, &h, 0, &error));
  ck_assert_double_eq_tol(clarke_number_double(&w.theta[2]), 3 * (1 - 0.001) - 0.02 * x, 1e-14);
  ck_assert_double_eq_tol(clarke_number_double(&w.theta[0]), 3 * (1 - 0.001), 1e-14);
  clarke_number_init(&factor);
  clarke_muon_adjusts(&factor, &s, &h);
  ck_assert_double_eq(clarke_number_double(&factor), 2);
  h.matches = true;
  clarke_muon_adjusts(&factor, &s, &h);
  ck_assert_double_eq_tol(clarke_number_double(&factor), 0.4, 1e-15);
  OK(clarke_muon_iterate(g, &s, &h, &error));
  ck_assert_double_eq_tol(clarke_number_double(&g[2]), x, 1e-13);
  mpq_set_ui(h.of[CLARKE_HYPER_EPS], 0, 1);
  for (size_t i = 0; i < 4; i++)
    clarke_number_set_si(&g[i], 0);
  ck_assert_int_eq(clarke_muon_iterate(g, &s, &h, &error), CLARKE_EINPUT);
  for (size_t i = 0; i < 4; i++)
    clarke_number_clear(&g[i]);
  clarke_number_clear(&factor);
  clarke_whole_clear(&w);
  clarke_hypers_clear(&h);
}
END_TEST

START_TEST(judged)
{
  static const char *const names[] = {"torch-adafactor", "torch-muon"};

  for (size_t c = 0; c < 2; c++) {
    clarke_step_tensor t = recorded(names[c]);
    const int slot = c == 0 ? CLARKE_SLOT_COL : CLARKE_SLOT_M;
    const double *const right = t.slot[1][slot];
    double other[6], average[6];
    clarke_step_finding f;
    clarke_hypers h;
    clarke_step_question q = {.rule = choose(&h, names[c], true), .hypers = &h, .k = 1, .dtype = CLARKE_F32};

    OK(clarke_step_judge(&f, &q, &t, false, &error));
    ck_assert_msg(f.wrong == 0 && f.open == 0 && f.bits + f.within == 6 && !clarke_step_is_wide(&f, NULL), "%s: %zu %zu %zu", names[c], f.wrong, f.open, f.within);
    ck_assert_uint_eq(f.bits, 6);
    ck_assert(c == 1 || clarke_adafactor_is_program(&q, &t));
    clarke_step_finding_clear(&f);
    memcpy(other, t.theta[1], sizeof other);
    other[4] += (other[4] - t.theta[0][4]) * (c == 0 ? 0x1p-10 : 64); /* Muon's bounds are as wide as bfloat16's */
    t.theta[1] = other;
    OK(clarke_judge_whole(&f, &q, &t, &error));
    ck_assert(c == 1 || !clarke_adafactor_is_program(&q, &t));
    ck_assert_msg(f.wrong == (c == 0) && f.open == (c == 1) && f.slot == -1 && f.entry == 4, "%s: %zu, %zu open, %zu within %g", names[c], f.wrong, f.open,
                  f.within, f.bound[0]);
    clarke_step_finding_clear(&f);
    q.short_factors = true; /* then Adafactor's row col may be off by 2^-6 of itself */
    OK(clarke_step_judge(&f, &q, &t, false, &error));
    ck_assert_msg(f.wrong == 0 && f.open == 1, "%s: %zu wrong, %zu open", names[c], f.wrong, f.open);
    clarke_step_finding_clear(&f);
    q.short_factors = false;
    t.theta[1] = recorded(names[c]).theta[1];
    memcpy(average, right, (c == 0 ? 3 : 6) * sizeof *average);
    average[1] *= 1 + 0x1p-12;
    t.slot[1][slot] = average;
    OK(clarke_step_judge(&f, &q, &t, false, &error));
    ck_assert_msg(f.wrong >= 1 && (c == 1 || (f.slot == slot && f.entry == 1)), "%s: %d", names[c], f.slot);
    clarke_step_finding_clear(&f);
    clarke_hypers_clear(&h);
  }
}
END_TEST

/* Muon with one or two iterations, whose spans have an end: what the nearest way gives is that; what coarse sums may give is open; what is farther, wrong. */
START_TEST(coarse)
{
  for (int n = 1; n <= 2; n++) {
    clarke_step_tensor t = recorded("torch-muon");
    clarke_hypers h;
    clarke_step_question q = {.rule = choose(&h, "torch-muon", true), .hypers = &h, .k = 1, .dtype = CLARKE_F32};
    clarke_span span[3][6];
    clarke_step_finding f;
    double theta[6], start;
    bool point[6];

    mpq_set_si(h.of[CLARKE_HYPER_NS_STEPS], n, 1);
    ck_assert(clarke_muon_spans(span[0], point, &q, &t, 0) && clarke_muon_spans(span[1], point, &q, &t, CLARKE_MUON_NEAREST));
    ck_assert(clarke_muon_spans(span[2], point, &q, &t, CLARKE_MUON_COARSE));
    for (size_t i = 0; i < 6; i++) {
      ck_assert(span[2][i].lo < span[1][i].lo && span[1][i].lo <= span[0][i].lo && span[0][i].hi <= span[1][i].hi && span[1][i].hi < span[2][i].hi);
      theta[i] = span[0][i].lo;
    }
    t.theta[1] = theta;
    start = theta[5];
    for (int where = 0; where < 3; where++) {
      theta[5] = where == 0 ? start : where == 1 ? span[2][5].hi : nextafter(span[2][5].hi, INFINITY);
      OK(clarke_step_judge(&f, &q, &t, false, &error));
      ck_assert_msg(f.wrong == (where == 2) && f.open == (where == 1) && (where > 0 || f.bits == 6), "%d %d: %zu %zu %zu", n, where, f.wrong, f.open, f.bits);
      clarke_step_finding_clear(&f);
    }
    q.elsewhere = true;
    OK(clarke_step_judge(&f, &q, &t, false, &error));
    ck_assert(f.wrong == 0 && f.open == 1);
    clarke_step_finding_clear(&f);
    clarke_hypers_clear(&h);
  }
}
END_TEST

/* Spans of the program hold what PyTorch made, and where sums are rounded once they are that. */
START_TEST(spans)
{
  const clarke_step_tensor t = recorded("torch-muon");
  clarke_hypers h;
  const clarke_step_question q = {.rule = choose(&h, "torch-muon", true), .hypers = &h, .k = 1, .dtype = CLARKE_F32};
  clarke_span theta[6];
  bool point[6], all = false;

  for (unsigned way = 0; way < 2; way++) {
    bool these = true;

    ck_assert(clarke_muon_spans(theta, point, &q, &t, way));
    for (size_t i = 0; i < 6; i++)
      these = these && point[i] && muon[1][i] >= theta[i].lo && muon[1][i] <= theta[i].hi;
    all = all || these;
  }
  ck_assert(all);
  ck_assert(clarke_muon_spans(theta, point, &q, &t, CLARKE_MUON_NEAREST));
  for (size_t i = 0; i < 6; i++)
    ck_assert(muon[1][i] >= theta[i].lo && muon[1][i] <= theta[i].hi && theta[i].hi - theta[i].lo < 0.001);
  ck_assert(clarke_muon_is_lerp(CLARKE_F32, 1, 2, 0.25, 1.25) && !clarke_muon_is_lerp(CLARKE_F32, 1, 2, 0.25, 1.26));
  clarke_hypers_clear(&h);
}
END_TEST

START_TEST(numbers)
{
  const double two = 2;
  const clarke_step_tensor t = {.n = 1, .theta = {&two, &two}, .slot = {{0}, {[CLARKE_SLOT_M] = &two}}};
  const clarke_step_question q = {.rule = clarke_rule_find("momentum")};
  clarke_step_finding f = {.wrong = 0};
  clarke_number x, y;

  clarke_number_init(&x);
  clarke_number_init(&y);
  clarke_judge_set(&x, 0.375);
  ck_assert(clarke_number_double(&x) == 0.375 && clarke_judge_is_inside(&x, 0.375) == 1 && clarke_judge_is_inside(&x, 0.376) == 0);
  ck_assert(clarke_judge_radius(&x) == 0 && clarke_judge_distance(&x, 0.5) == 0.125 && !clarke_judge_is_at_rest(&x, 0.375, 0.375));
  clarke_judge_set(&y, 0.5);
  clarke_piece_larger(&x, &x, &y);
  ck_assert(clarke_number_double(&x) == 0.5);
  clarke_judge_set(&y, 2);
  clarke_number_root(&y, &y, 64);
  ck_assert(clarke_judge_is_inside(&y, 1.5) == 0 && clarke_judge_distance(&y, 1) > 0.414 && clarke_judge_radius(&y) > 0);
  ck_assert(clarke_judge_is_asked(&q, &t, -1) && clarke_judge_is_asked(&q, &t, CLARKE_SLOT_M) && !clarke_judge_is_asked(&q, &t, CLARKE_SLOT_V));
  OK(clarke_judge_note(&f, CLARKE_SLOT_M, 7, 2.5, &x, &error));
  ck_assert(f.slot == CLARKE_SLOT_M && f.entry == 7 && f.recorded == 2.5 && strcmp(f.by_rule, "1/2") == 0);
  clarke_step_finding_clear(&f);
  clarke_number_clear(&x);
  clarke_number_clear(&y);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("whole");

  tcase_add_test(tests, shapes);
  tcase_add_test(tests, exact);
  tcase_add_test(tests, polynomial);
  tcase_add_test(tests, judged);
  tcase_add_test(tests, coarse);
  tcase_add_test(tests, spans);
  tcase_add_test(tests, numbers);
  return run_tests();
}
