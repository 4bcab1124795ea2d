/* Values without records: what they lead to, and what is said of them. */
#include "recorded.h"
#include "scene.h"

#include <math.h>

/* u = x + x; a = u + b; s = sigmoid(a); r = sqrt(s); p = s s; q = r + p; the loss is the sum of q. */
static void
build(scene *s, clarke_certify *c)
{
  clarke_model m;

  model_begin(&m, 17);
  model_input(&m, "x", SHAPE(-1, 4, ));
  model_floats(&m, "b", SHAPE(4, ));
  model_node(&m, "Add", "x,x", "u");
  model_node(&m, "Add", "u,b", "a");
  model_node(&m, "Sigmoid", "a", "s");
  model_node(&m, "Sqrt", "s", "r");
  model_node(&m, "Mul", "s,s", "p");
  model_node(&m, "Add", "r,p", "q");
  model_output(&m, "q");
  s->x = tensor_of("x", CLARKE_F32, SHAPE(1, 4, ));
  clarke_tensor_init(&s->y);
  scene_build(s, &m, (clarke_loss){.kind = CLARKE_LOSS_SUM, .samples = 1}, "float32", 1);
  clarke_certify_init(c);
  c->g = &s->graph;
  c->loss = &s->loss;
  c->trace = &s->trace;
  c->recorded = calloc(s->graph.n_values + 1, sizeof *c->recorded);
}

static size_t
named(const clarke_certify *c, const char *name)
{
  for (size_t v = 0; v < c->g->n_values; v++)
    if (c->g->values[v].name != NULL && strcmp(c->g->values[v].name, name) == 0)
      return v;
  ck_abort_msg("no value %s", name);
}

static void
set_recorded(clarke_certify *c, const char *names)
{
  for (size_t v = 0; v < c->g->n_values; v++) {
    const char *name = c->g->values[v].name;

    free(c->recorded[v]);
    c->recorded[v] = name != NULL && strlen(name) == 1 && strchr(names, *name) != NULL ? calloc(4, sizeof **c->recorded) : NULL;
  }
}

static const struct {
  const char *recorded, *of;
  bool leads, meets;
} forward_case[] = {
  {"uarpq", "s", true, true},  {"usarp", "q", false, false}, {"usarp", "s", true, true}, {"q", "a", true, true},
  {"uas", "r", false, false},  {"uasq", "r", true, false},   {"", "u", false, true},     {"a", "u", true, false},
  {"sq", "a", true, false},    {"rq", "s", true, true},
};

START_TEST(outputs)
{
  clarke_certify c;
  scene s;

  build(&s, &c);
  for (size_t i = 0; i < sizeof forward_case / sizeof *forward_case; i++) {
    const size_t v = named(&c, forward_case[i].of);
    bool leads = false, meets = false;

    set_recorded(&c, forward_case[i].recorded);
    OK(clarke_certify_leads_on(&leads, &c, v, &error));
    OK(clarke_certify_meets_place(&meets, &c, v, &error));
    ck_assert_msg(leads == forward_case[i].leads && meets == forward_case[i].meets, "%zu: %d %d", i, leads, meets);
  }
  clarke_certify_clear(&c);
  scene_clear(&s);
}
END_TEST

/* a = 2 s - s - s + b, s = sigmoid(x), of which the rectified alone was recorded. Where b is 0 the enclosure does not tell the side;
 * elsewhere it does. */
START_TEST(sides)
{
  const double b[4] = {0, 1, -1, 0.5}, x[4] = {3, 1, -1, 2}, r[4] = {0, 1, 0, 0.5}, back[4] = {0, 1, 0, 1};
  clarke_certify c;
  clarke_model m;
  size_t a;
  scene s;

  model_begin(&m, 17);
  model_input(&m, "x", SHAPE(-1, 4, ));
  memcpy(model_floats(&m, "b", SHAPE(4, )), b, sizeof b);
  model_floats(&m, "two", SHAPE(1, ))[0] = 2;
  model_node(&m, "Sigmoid", "x", "s");
  model_node(&m, "Mul", "s,two", "t");
  model_node(&m, "Sub", "t,s", "u");
  model_node(&m, "Sub", "u,s", "v");
  model_node(&m, "Add", "v,b", "a");
  model_node(&m, "Relu", "a", "r");
  model_output(&m, "r");
  s.x = tensor_of("x", CLARKE_F32, SHAPE(1, 4, ));
  memcpy(s.x.real, x, sizeof x);
  clarke_tensor_init(&s.y);
  scene_build(&s, &m, (clarke_loss){.kind = CLARKE_LOSS_SUM, .samples = 1}, "float32", 1);
  put(&s.trace, "output/r", SHAPE(1, 4, ), r);
  put(&s.gradients, "b", SHAPE(4, ), back);
  put(&s.gradients, "two", SHAPE(1, ), back);
  scene_certify(&c, &s, &s.trace, &s.gradients, false);
  a = named(&c, "a");
  for (size_t e = 0; e < 4; e++)
    ck_assert_int_eq(isinf(c.rounded.error[a][e]) != 0, e == 0);
  for (size_t i = 0; i < c.n; i++)
    if (c.certificate[i].part == CLARKE_OUTPUT)
      ck_assert_int_eq(c.certificate[i].certainty, strcmp(c.certificate[i].name, "r") == 0 ? CLARKE_CANNOT_SAY : CLARKE_FOLLOWED);
  c.rounded.error[a][0] = 0; /* once more, of a step without kinks; of one whose argument was recorded */
  clarke_certify_doubt_sides(&c, s.graph.values[a].producer);
  c.recorded[a] = calloc(4, sizeof **c.recorded);
  clarke_certify_doubt_sides(&c, s.graph.values[named(&c, "r")].producer);
  ck_assert(c.rounded.error[a][0] == 0);
  clarke_certify_clear(&c);
  scene_clear(&s);
}
END_TEST

/* The loss's log-softmax reads the output. */
START_TEST(the_log_softmax)
{
  const double zeros[4] = {0};
  clarke_certify c;
  bool leads;
  scene s;

  build(&s, &c);
  set_recorded(&c, "ua");
  c.log_softmax = "l";
  OK(clarke_certify_leads_on(&leads, &c, named(&c, "q"), &error));
  ck_assert(!leads && !clarke_certify_has(&c, "output", "l"));
  put(&s.trace, "output/l", SHAPE(1, 4, ), zeros);
  for (const char *of = "qrps"; *of != '\0'; of++) {
    OK(clarke_certify_leads_on(&leads, &c, named(&c, (char[]){*of, '\0'}), &error));
    ck_assert(leads);
  }
  ck_assert(clarke_certify_has(&c, "output", "l") && !clarke_certify_has(&c, "gradient", "l"));
  set_recorded(&c, "uaq");
  c.log_softmax = NULL;
  OK(clarke_certify_leads_on(&leads, &c, named(&c, "q"), &error));
  ck_assert(!leads);
  clarke_certify_clear(&c);
  scene_clear(&s);
}
END_TEST

/* u has no parameter before it: a gradient of it would be judged by nobody. */
START_TEST(gradients)
{
  const double zeros[4] = {0};
  clarke_certify c;
  bool leads;
  scene s;

  build(&s, &c);
  for (const char *of = "uaq"; *of != '\0'; of++) {
    OK(clarke_certify_leads_back(&leads, &c, named(&c, (char[]){*of, '\0'}), &error));
    ck_assert_int_eq(leads, *of != 'u'); /* b is a parameter */
  }
  for (size_t p = 0; p < s.graph.n_parameters; p++)
    s.graph.parameters[p].wrt = false;
  OK(clarke_certify_leads_back(&leads, &c, named(&c, "q"), &error));
  ck_assert(!leads);
  put(&s.trace, "gradient/u", SHAPE(1, 4, ), zeros);
  OK(clarke_certify_leads_back(&leads, &c, named(&c, "a"), &error));
  ck_assert(!leads);
  clarke_certify_clear(&c);
  scene_clear(&s);
}
END_TEST

/* A record is on the way of some gradients, and not of others'. */
START_TEST(gradients_of_records)
{
  const double zeros[4] = {0};
  clarke_certify c;
  clarke_model m;
  bool leads;
  scene s;

  model_begin(&m, 17);
  model_input(&m, "x", SHAPE(-1, 4, ));
  model_floats(&m, "b", SHAPE(4, ));
  model_node(&m, "Add", "x,b", "a");
  model_node(&m, "Relu", "x", "r");
  model_node(&m, "Relu", "r", "s");
  model_node(&m, "Add", "a,s", "q");
  model_output(&m, "q");
  s.x = tensor_of("x", CLARKE_F32, SHAPE(1, 4, ));
  clarke_tensor_init(&s.y);
  scene_build(&s, &m, (clarke_loss){.kind = CLARKE_LOSS_SUM, .samples = 1}, "float32", 1);
  clarke_certify_init(&c);
  c.g = &s.graph;
  c.trace = &s.trace;
  put(&s.trace, "gradient/r", SHAPE(1, 4, ), zeros);
  OK(clarke_certify_leads_back(&leads, &c, named(&c, "s"), &error));
  ck_assert(!leads); /* r's gradient is recorded, but nothing trained is behind it */
  OK(clarke_certify_leads_back(&leads, &c, named(&c, "q"), &error));
  ck_assert(leads);
  clarke_certify_clear(&c);
  scene_clear(&s);
}
END_TEST

START_TEST(said)
{
  const double bound[4] = {0, 1, 0x1p-20, 3}, wide[4] = {0, 1, INFINITY, 3};
  clarke_certify c;
  scene s;

  build(&s, &c);
  for (int i = 0; i < 6; i++) {
    const bool output = i % 2 == 0, infinite = i / 2 == 1, nowhere = i / 2 == 2;
    clarke_certificate made;

    set_recorded(&c, nowhere ? "ua" : "uapq");
    OK(clarke_certificate_init(&made, output ? CLARKE_OUTPUT : CLARKE_GRADIENT, "v", "Relu", &error));
    OK(clarke_certify_follow(&c, &made, named(&c, nowhere && !output ? "u" : "s"), infinite ? wide : bound, 4, &error));
    ck_assert_int_eq(made.certainty, infinite || nowhere ? CLARKE_CANNOT_SAY : CLARKE_FOLLOWED);
    ck_assert_uint_eq(made.entries, 4);
    ck_assert_uint_eq(made.open, infinite || nowhere ? 4 : 0);
    ck_assert_msg(strstr(made.why, output ? "its output was not recorded" : "its gradient was not recorded") == made.why
                  && (strstr(made.why, "no bound") != NULL) == infinite, "%s", made.why);
    clarke_certificate_clear(&made);
  }
  clarke_certify_clear(&c);
  scene_clear(&s);
}
END_TEST

/* t = 2 x has no record, but its sum has: it is what follows, but for rounding, or t is not told. */
START_TEST(the_loss)
{
  static const struct {
    double loss;
    bool follows;
  } told[] = {{10, true}, {10 + 0x1p-20, true}, {10.001, false}, {-10, false}, {NAN, false}, {INFINITY, false}};
  const double x[4] = {3, 1, -1, 2}, back[1] = {5};
  clarke_certify c;
  clarke_model m;
  size_t t;
  scene s;

  model_begin(&m, 17);
  model_input(&m, "x", SHAPE(-1, 4, ));
  model_floats(&m, "two", SHAPE(1, ))[0] = 2;
  model_node(&m, "Mul", "x,two", "t");
  model_output(&m, "t");
  s.x = tensor_of("x", CLARKE_F32, SHAPE(1, 4, ));
  memcpy(s.x.real, x, sizeof x);
  clarke_tensor_init(&s.y);
  scene_build(&s, &m, (clarke_loss){.kind = CLARKE_LOSS_SUM, .samples = 1}, "float32", 1);
  put(&s.gradients, "two", SHAPE(1, ), back);
  scene_certify(&c, &s, &s.trace, &s.gradients, false);
  t = named(&c, "t");
  ck_assert(!c.by_loss && c.certificate[0].part == CLARKE_OUTPUT && c.certificate[0].certainty == CLARKE_CANNOT_SAY);
  c.has_loss = true;
  for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
    c.recorded_loss = told[i].loss;
    OK(clarke_certify_follow(&c, &c.certificate[0], t, c.rounded.error[t], 4, &error));
    ck_assert(c.by_loss && c.certificate[0].certainty == CLARKE_FOLLOWED);
    OK(clarke_certify_loss(&c, &error));
    ck_assert_int_eq(c.certificate[0].certainty, told[i].follows ? CLARKE_FOLLOWED : CLARKE_CANNOT_SAY);
  }
  clarke_certify_clear(&c);
  scene_clear(&s);
}
END_TEST

/* PyTorch's silu has no sigmoid, nll_loss no products: they are followed; no gap is left, and the answer is no stronger. */
START_TEST(of_a_record)
{
  clarke_certified c;
  size_t followed = 0;

  run_record(&c, "words", true);
  for (size_t i = 0; i < c.nodes.n; i++) {
    followed += c.nodes.certificate[i].certainty == CLARKE_FOLLOWED;
    ck_assert_int_lt(c.nodes.certificate[i].certainty, CLARKE_CANNOT_SAY);
  }
  ck_assert_uint_eq(followed, 8);
  for (size_t i = 0; i < c.nodes.n; i++)
    if (c.nodes.certificate[i].certainty == CLARKE_WITHIN_BOUND)
      c.nodes.certificate[i].certainty = CLARKE_BIT_EXACT;
  ck_assert_int_eq(clarke_certify_answer(&c.nodes), CLARKE_WITHIN_BOUND);
  ck_assert_str_eq(clarke_certainty_name(CLARKE_FOLLOWED), "followed");
  clarke_certified_clear(&c);
}
END_TEST

MODULE(follow)
{
  TCase *tests = tests_of("follow");

  tcase_add_test(tests, outputs);
  tcase_add_test(tests, sides);
  tcase_add_test(tests, the_log_softmax);
  tcase_add_test(tests, gradients);
  tcase_add_test(tests, gradients_of_records);
  tcase_add_test(tests, said);
  tcase_add_test(tests, the_loss);
  tcase_add_test(tests, of_a_record);
  return all_tests;
}
