/* Where AD's output lies, part by part: the patterns gathered, AD's own, what is judged from them. Evidence is checked by what it has to
 * satisfy. */
#include "evidence.h"
#include "../suites.h"
#include "executed.h"

#include "program/derive_inside.h"
#include "program/derive_mean.h"
#include "program/derive_open.h"
#include "program/derive_own.h"

typedef struct {
  executed x;
  clarke_profile profile;
  clarke_derivation d;
} scene;

/* Executed at (0, 0), AD's output and patterns found; nothing judged. */
static void
open_scene(scene *s, const char *text)
{
  begin(&s->x, text, 0, 0);
  clarke_profile_init(&s->profile);
  OK(clarke_profile_load(&s->profile, "pytorch-2.13", &error));
  clarke_derivation_init(&s->d);
  s->d.p = &s->x.p;
  s->d.profile = &s->profile;
  s->d.dim = 2 * s->x.p.n_outputs;
  s->d.ad_pattern = s->d.far = CLARKE_NONE;
  s->d.lipschitz = true;
  OK(clarke_execute(&s->d.execution, &s->x.p, s->x.at, &error));
  s->d.ad = clarke_numbers(s->d.dim);
  OK(clarke_execution_ad(s->d.ad, &s->d.execution, &s->profile, &error));
  s->d.ad_exact = true;
  OK(clarke_patterns_find(&s->d.patterns, &s->d.execution, &error));
}

static void
close_scene(scene *s)
{
  clarke_derivation_clear(&s->d);
  clarke_profile_clear(&s->profile);
  end(&s->x);
}

static const char unanimous_text[] = "input x, y\noutput relu(x) - relu(-x)";

/* --- what is gathered --- */

START_TEST(what_is_said_is_kept)
{
  clarke_derivation d;

  clarke_derivation_init(&d);
  clarke_derive_say(&d, CLARKE_IN_CLARKE, CLARKE_EVIDENCE_HULL, "so");
  ck_assert(d.verdict == CLARKE_IN_CLARKE && d.evidence == CLARKE_EVIDENCE_HULL);
  ck_assert_str_eq(d.why, "so");
  clarke_derivation_clear(&d);
}
END_TEST

START_TEST(patterns_are_unanimous_or_not)
{
  scene s;

  open_scene(&s, unanimous_text);
  ck_assert(s.d.patterns.n == 2 && clarke_derive_unanimous(&s.d));
  s.d.patterns.tree.complete = false;
  ck_assert(!clarke_derive_unanimous(&s.d));
  s.d.patterns.tree.complete = s.d.patterns.jumps = true;
  ck_assert(!clarke_derive_unanimous(&s.d));
  s.d.patterns.jumps = s.d.patterns.pattern[0].exact = false;
  ck_assert(!clarke_derive_unanimous(&s.d));
  close_scene(&s);
  open_scene(&s, "input x, y\noutput abs(x)");
  ck_assert(!clarke_derive_unanimous(&s.d));
  close_scene(&s);
}
END_TEST

START_TEST(distinct_gradients_are_gathered_with_their_patterns)
{
  clarke_gathered g;
  scene s;

  open_scene(&s, "input x, y\noutput relu(x) - relu(-x) + max(y, 0)");
  ck_assert_uint_eq(s.d.patterns.n, 4);
  OK(clarke_gather(&g, &s.d, true, &error));
  ck_assert_uint_eq(g.points.n, 2);
  for (size_t k = 0; k < 2; k++)
    for (size_t j = 0; j < 2; j++)
      ck_assert(mpq_equal(g.points.entry[2 * k + j], s.d.patterns.pattern[g.pattern[k]].gradient[j].q));
  clarke_gathered_clear(&g);
  for (size_t i = 0; i < 4; i++) /* those realized, or all */
    s.d.patterns.pattern[i].realized = is(&s.d.patterns.pattern[i].gradient[1], 0);
  OK(clarke_gather(&g, &s.d, true, &error));
  ck_assert(g.points.n == 1 && mpq_sgn(g.points.entry[1]) == 0);
  clarke_gathered_clear(&g);
  OK(clarke_gather(&g, &s.d, false, &error));
  ck_assert_uint_eq(g.points.n, 2);
  clarke_gathered_clear(&g);
  close_scene(&s);
}
END_TEST

/* --- AD's own pattern --- */

static const struct {
  const char *text;
  size_t choice; /* at the first fork that does what AD does; CLARKE_NONE: none */
  bool own;      /* is there a pattern that AD follows? */
} owns[] = {
  {"input x, y\noutput relu(x) + y", 0, true},
  {"input x, y\noutput relu{right}(x) + y", 1, true},
  {"input x, y\noutput relu{1/2}(x) + y", CLARKE_NONE, false},
  {"input x, y\noutput abs(x)", CLARKE_NONE, false},
  {"input x, y\noutput max{first}(x, y)", 0, true},
  {"input x, y\noutput max{last}(x, y)", 1, true},
  {"input x, y\noutput max{mean}(x, y)", CLARKE_NONE, false},
  {"input x, y\noutput if x <= y then x else y", 0, true},
  {"input x, y\noutput if x >= y then x else y", 1, true},
  {"input x, y\noutput if x == y then x else y", CLARKE_NONE, false},
};

START_TEST(ad_chooses_as_its_proxy_says)
{
  for (size_t i = 0; i < sizeof owns / sizeof owns[0]; i++) {
    clarke_walk_state state;
    size_t choice, found;
    clarke_walk w;
    scene s;

    open_scene(&s, owns[i].text);
    OK(clarke_walk_init(&w, &s.d.execution, NULL, 0, &error));
    OK(clarke_walk_on(&w, &state, &error));
    ck_assert_int_eq(state, CLARKE_WALK_FORK);
    OK(clarke_derive_choice(&choice, &s.d, &w, &error));
    ck_assert_msg(choice == owns[i].choice, "%s: %zu", owns[i].text, choice);
    OK(clarke_derive_own(&found, &s.d, &error));
    ck_assert_msg((found != CLARKE_NONE) == owns[i].own, "%s", owns[i].text);
    if (found != CLARKE_NONE) {
      const clarke_pattern *p = &s.d.patterns.pattern[found];

      ck_assert(p->n_choices == 1 && p->choice[0] == owns[i].choice && clarke_numbers_equal(p->gradient, s.d.ad, 2));
    }
    clarke_walk_clear(&w);
    close_scene(&s);
  }
}
END_TEST

START_TEST(forks_left_open_may_say_one_thing)
{
  static const struct {
    const char *text;
    size_t n_open; /* 0: they do not */
  } known[] = {{"input x, y\noutput 0*relu(x) + y", 1}, {"input x, y\noutput abs(x)", 0}, {"input x, y\noutput 0*relu(x) + max(x, y)*0 + y", 2},
               {"input x, y\noutput relu(x) - relu(-x)", 0}};

  for (size_t i = 0; i < 4; i++) {
    scene s;

    open_scene(&s, known[i].text);
    OK(clarke_derive_open(&s.d, &error));
    ck_assert_msg(s.d.opened == (known[i].n_open > 0) && s.d.n_open == known[i].n_open, "%s: %zu", known[i].text, s.d.n_open);
    close_scene(&s);
  }
}
END_TEST

/* --- what is judged --- */

static const struct {
  const char *text;
  clarke_verdict verdict;
  clarke_evidence evidence;
} judged[] = {
  {"input x, y\noutput x*y + 2*x", CLARKE_IN_BOULIGAND, CLARKE_EVIDENCE_AD},
  {"input x, y\noutput relu(x) + y", CLARKE_IN_BOULIGAND, CLARKE_EVIDENCE_AD},
  {"input x, y\noutput abs(x) + y", CLARKE_IN_CLARKE, CLARKE_EVIDENCE_HULL},
  {"input x, y\noutput max{mean}(x, y)", CLARKE_IN_CLARKE, CLARKE_EVIDENCE_HULL},
  {unanimous_text, CLARKE_NOT_IN_CLARKE, CLARKE_EVIDENCE_SEPARATOR},
  {"input x, y\noutput relu{right}(x) - relu{left}(-x)", CLARKE_IN_BOULIGAND, CLARKE_EVIDENCE_AD},
  {"input x, y\noutput relu{1/2}(x) - relu{1/2}(-x)", CLARKE_IN_BOULIGAND, CLARKE_EVIDENCE_UNANIMOUS},
  {"input x, y\noutput relu{1/2}(x) - relu{1/2}(-x) + relu(y)", CLARKE_IN_BOULIGAND, CLARKE_EVIDENCE_HULL},
  {"input x, y\noutput relu{2}(x)", CLARKE_NOT_IN_CLARKE, CLARKE_EVIDENCE_SEPARATOR},
  {"input x, y\noutput if x > 0 then 1 else 0", CLARKE_UNDECIDED, CLARKE_EVIDENCE_NONE},
  /* the mean of both sides, by numbers that are not rational */
  {"input x, y\noutput exp(1 + abs(x))", CLARKE_IN_CLARKE, CLARKE_EVIDENCE_HULL},
  {"input x, y\noutput exp(1)*max{mean}(x, y) + sin(1 + norm2(x, x + y, 2*y))", CLARKE_IN_CLARKE, CLARKE_EVIDENCE_HULL},
  {"input x, y\noutput norm2(x, x)", CLARKE_IN_CLARKE, CLARKE_EVIDENCE_HULL},
  {"input x, y\noutput relu{1/2}(tanh(x))*exp(1 + y)", CLARKE_IN_CLARKE, CLARKE_EVIDENCE_HULL},
  {"input x, y\noutput exp(1)*relu{1/3}(x)", CLARKE_UNDECIDED, CLARKE_EVIDENCE_NONE},
  {"input x, y\noutput exp(1)*max{mean}(x, y, 0)", CLARKE_UNDECIDED, CLARKE_EVIDENCE_NONE},
  {"input x, y\noutput exp(1)*abs(y + abs(x))", CLARKE_UNDECIDED, CLARKE_EVIDENCE_NONE},
  {"input x, y\noutput exp(1)*abs(x*x)", CLARKE_IN_BOULIGAND, CLARKE_EVIDENCE_UNANIMOUS},
};

/* Weights that are not negative, sum to 1, and mix realized patterns' gradients to AD's output. */
static void
hull_holds(const clarke_derivation *d)
{
  mpq_t sum, t;

  mpq_inits(sum, t, NULL);
  for (size_t k = 0; k <= d->dim; k++) {
    mpq_set_ui(sum, 0, 1);
    for (size_t i = 0; i < d->patterns.n; i++) {
      ck_assert(mpq_sgn(d->weight[i]) >= 0 && (mpq_sgn(d->weight[i]) == 0 || d->patterns.pattern[i].realized));
      if (k < d->dim)
        mpq_mul(t, d->weight[i], d->patterns.pattern[i].gradient[k].q);
      else
        mpq_set(t, d->weight[i]);
      mpq_add(sum, sum, t);
    }
    ck_assert(k < d->dim ? mpq_equal(sum, d->ad[k].q) : mpq_cmp_ui(sum, 1, 1) == 0);
  }
  mpq_clears(sum, t, NULL);
}

static void
separator_holds(const clarke_derivation *d)
{
  mpq_t sum, t;

  mpq_inits(sum, t, NULL);
  ck_assert(d->patterns.tree.complete);
  for (size_t i = 0; i < d->patterns.n; i++) {
    mpq_set_ui(sum, 0, 1);
    for (size_t k = 0; k < d->dim; k++) {
      mpq_sub(t, d->ad[k].q, d->patterns.pattern[i].gradient[k].q);
      mpq_mul(t, t, d->separator[k]);
      mpq_add(sum, sum, t);
    }
    ck_assert(mpq_sgn(sum) > 0);
  }
  mpq_clears(sum, t, NULL);
}

/* A direction is found where each kink is halved, and none is made of another; it decides them all. */
START_TEST(a_line_on_both_sides)
{
  static const char *const texts[] = {"abs(x) + max{mean}(x, 2*y)*norm2(x, y - x)", "relu{1/2}(x - y)", "relu{1/4}(x)", "abs(abs(x) + y)",
                                      "norm2(x, x*x)", "abs(x*y)", "if x > y then x else y"};

  for (size_t i = 0; i < 7; i++) {
    char text[128];
    scene s;

    snprintf(text, sizeof text, "input x, y\noutput %s", texts[i]);
    open_scene(&s, text);
    OK(clarke_derive_mean(&s.d, &error));
    ck_assert_msg((s.d.opposite != NULL) == (i < 2 || i == 4), "%s", texts[i]);
    close_scene(&s);
  }
}
END_TEST

START_TEST(the_verdict_has_its_evidence)
{
  for (size_t i = 0; i < sizeof judged / sizeof judged[0]; i++) {
    scene s;

    open_scene(&s, judged[i].text);
    OK(clarke_derive_judge(&s.d, &error));
    ck_assert_msg(s.d.verdict == judged[i].verdict && s.d.evidence == judged[i].evidence, "%s: %s", judged[i].text, s.d.why);
    ck_assert(s.d.why[0] != '\0');
    if (s.d.evidence == CLARKE_EVIDENCE_HULL && s.d.opposite == NULL)
      hull_holds(&s.d);
    if (s.d.opposite != NULL)
      ck_assert_msg(verdict_fault(&s.d) == NULL, "%s: %s", judged[i].text, verdict_fault(&s.d));
    if (s.d.evidence == CLARKE_EVIDENCE_SEPARATOR)
      separator_holds(&s.d);
    if (s.d.evidence == CLARKE_EVIDENCE_AD)
      ck_assert(clarke_numbers_equal(s.d.patterns.pattern[s.d.ad_pattern].gradient, s.d.ad, s.d.dim));
    close_scene(&s);
  }
}
END_TEST

START_TEST(nothing_is_judged_of_what_may_not_be_lipschitz)
{
  scene s;

  open_scene(&s, "input x, y\noutput relu(x) + y");
  s.d.lipschitz = false;
  snprintf(s.d.not_lipschitz, sizeof s.d.not_lipschitz, "for a reason");
  OK(clarke_derive_judge(&s.d, &error));
  ck_assert(s.d.verdict == CLARKE_UNDECIDED && s.d.evidence == CLARKE_EVIDENCE_NONE && strstr(s.d.why, "for a reason") != NULL);
  close_scene(&s);
}
END_TEST

/* --- patterns from elsewhere --- */

typedef struct {
  bool finds;
  size_t asked;
} source_state;

/* The two cones of relu: (0, 0) left, (1, 0) right. */
static clarke_status
find_cones(void *context, bool *found, clarke_patterns *t, clarke_error *err)
{
  source_state *s = context;

  s->asked++;
  *found = s->finds;
  if (!s->finds)
    return CLARKE_OK;
  t->dim = t->width = 2;
  t->tree.complete = t->all_known = t->cones = true;
  t->pattern = calloc(2, sizeof *t->pattern);
  t->n = t->capacity = 2;
  for (size_t i = 0; i < 2; i++) {
    clarke_pattern *p = &t->pattern[i];

    p->gradient = clarke_numbers(2);
    clarke_number_set_si(&p->gradient[0], (long)i);
    p->exact = p->realized = p->first_order = true;
    p->direction = calloc(1, sizeof *p->direction);
    p->direction[0] = clarke_rationals(2);
    mpq_set_si(p->direction[0][0], i == 0 ? -1 : 1, 1);
    p->n_directions = 1;
  }
  return err == NULL ? CLARKE_EINTERNAL : CLARKE_OK;
}

START_TEST(patterns_may_come_from_a_source)
{
  static const struct {
    const char *text;
    clarke_verdict verdict;
  } known[] = {{"input x, y\noutput relu(x)", CLARKE_IN_BOULIGAND}, {"input x, y\noutput relu{1/2}(x)", CLARKE_IN_CLARKE},
               {"input x, y\noutput relu{2}(x)", CLARKE_NOT_IN_CLARKE}};

  for (size_t i = 0; i < 3; i++)
    for (int finds = 0; finds < 2; finds++) {
      source_state state = {.finds = finds};
      const clarke_pattern_source source = {&state, find_cones};
      clarke_derivation d, alone;
      scene s;

      open_scene(&s, known[i].text);
      clarke_derivation_init(&d);
      clarke_derivation_init(&alone);
      OK(clarke_derive(&alone, &s.x.p, s.x.at, &s.profile, &error));
      OK(clarke_derive_by(&d, &s.x.p, s.x.at, &s.profile, &source, &error));
      ck_assert(state.asked == 1 && d.patterns.cones == finds && (d.patterns.tree.n == 0) == finds);
      ck_assert_msg(d.verdict == known[i].verdict && alone.verdict == known[i].verdict, "%s: %s", known[i].text, d.why);
      ck_assert(d.sets_known && d.clarke.n == 2 && d.zone == alone.zone && d.differentiable == alone.differentiable);
      for (size_t k = 0; k < 4; k++)
        ck_assert(mpq_equal(d.clarke.entry[k], alone.clarke.entry[k]));
      clarke_derivation_clear(&d);
      clarke_derivation_clear(&alone);
      close_scene(&s);
    }
}
END_TEST

MODULE(membership)
{
  TCase *tests = tests_of("membership");

  tcase_add_test(tests, what_is_said_is_kept);
  tcase_add_test(tests, patterns_are_unanimous_or_not);
  tcase_add_test(tests, distinct_gradients_are_gathered_with_their_patterns);
  tcase_add_test(tests, ad_chooses_as_its_proxy_says);
  tcase_add_test(tests, forks_left_open_may_say_one_thing);
  tcase_add_test(tests, a_line_on_both_sides);
  tcase_add_test(tests, the_verdict_has_its_evidence);
  tcase_add_test(tests, nothing_is_judged_of_what_may_not_be_lipschitz);
  tcase_add_test(tests, patterns_may_come_from_a_source);
  return all_tests;
}
