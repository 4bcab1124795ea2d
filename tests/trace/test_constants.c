/* Gradients of constants that were cast, moved or turned in sign, one made of another. */
#include "recorded.h"
#include "scene.h"

#include <math.h>

#define U8 0x1p-8 /* the unit of bfloat16 */

/* How the weight w (3 x 2) comes to t (2 x 3), which multiplies x: w, c, t; "n" turns the sign between. */
static void
build(scene *s, const char *way, bool read_twice)
{
  const double w[6] = {1, 2, 3, 4, 5, 6}, x[4] = {1, 2, 4, 8};
  const char *at = "w";
  clarke_model m;

  model_begin(&m, 17);
  model_input(&m, "x", SHAPE(-1, 2, ));
  memcpy(model_floats(&m, "w", SHAPE(3, 2, )), w, sizeof w);
  for (; *way != '\0'; way++) {
    char *to = strdup((char[]){*way, '\0'});

    model_node(&m, *way == 't' ? "Transpose" : *way == 'n' ? "Neg" : "Identity", at, to);
    at = *way == 't' ? "t" : *way == 'n' ? "n" : *way == 'c' ? "c" : "d";
    free(to);
  }
  model_node(&m, "MatMul", "x,t", read_twice ? "a" : "y");
  if (read_twice) {
    model_node(&m, "MatMul", "a,c", "b");
    model_node(&m, "MatMul", "b,t", "y");
  }
  model_output(&m, "y");
  s->x = tensor_of("x", CLARKE_F32, SHAPE(2, 2, ));
  memcpy(s->x.real, x, sizeof x);
  clarke_tensor_init(&s->y);
  scene_build(s, &m, (clarke_loss){.kind = CLARKE_LOSS_SUM, .samples = 2}, "float32", 1);
}

/* The gradient in t: of both samples the sums of x, 5 and 10; in w the same, transposed. */
static const double of_t[6] = {5, 5, 5, 10, 10, 10}, of_w[6] = {5, 10, 5, 10, 5, 10};

static void
put_gradient(scene *s, const char *name, bool turned, double sign, double more)
{
  double numbers[6];

  for (size_t e = 0; e < 6; e++)
    numbers[e] = sign * ((turned ? of_t[e] : of_w[e]) + (e == 0 ? more : 0));
  if (strcmp(name, "w") == 0)
    put(&s->gradients, name, SHAPE(3, 2, ), numbers);
  else
    put(&s->trace, name, turned ? SHAPE(2, 3, ) : SHAPE(3, 2, ), numbers);
}

static const clarke_certificate *
find(const clarke_certify *c, const char *name)
{
  for (size_t i = 0; i < c->n; i++)
    if (c->certificate[i].part != CLARKE_OUTPUT && strcmp(c->certificate[i].name, name) == 0)
      return &c->certificate[i];
  return NULL;
}

/* By gradient: what is added to its first entry, which is 5 (NAN: it was not recorded), and what is said then: 'e' exact, 'w' within,
 * 'r' refuted, '-' nothing. */
static const struct {
  double t, c, w;
  const char *says;
  bool casts;
} recorded[] = {
  {0, 0, 0, "eee", false},
  {0, 1, 0, "err", false},   /* c is not what t says, and w not what c says */
  {0, 1, 1, "ere", false},
  {1, 1, 1, "ree", false},   /* only t differs from the product: c and w follow from it */
  {1, 0, 0, "rre", false},
  {NAN, 0, 0, "-ee", false}, /* through t to c */
  {NAN, 1, 1, "-re", false},
  {0, NAN, 0, "e-e", false}, /* through c to w */
  {0, NAN, 1, "e-r", false},
  {NAN, NAN, 0, "--e", false},
  {NAN, NAN, 1, "--r", false},
  {0, 0x1p-21, 0x1p-21, "ere", false}, /* 1.6 units: what is moved in one type is not rounded */
  {0, 0x1p-19, 0x1p-19, "ere", false}, /* 6.4 */
  {0, 5 * U8, 5 * U8, "ewe", true},    /* a cast may round */
  {0, 40 * U8, 40 * U8, "ere", true},
};

static char
said(const clarke_certify *c, const char *name)
{
  const clarke_certificate *found = find(c, name);

  return found == NULL ? '-' : found->certainty == CLARKE_BIT_EXACT ? 'e' : found->certainty == CLARKE_WITHIN_BOUND ? 'w'
         : found->certainty == CLARKE_IS_REFUTED ? 'r' : '?';
}

START_TEST(a_cast_that_is_transposed)
{
  for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++)
    for (int sieved = 0; sieved < 2; sieved++) {
      clarke_certify c;
      char says[4] = "";
      scene s;

      build(&s, "ct", false);
      if (recorded[i].casts)
        ck_assert(clarke_rounding_add_type(&s.by, "bfloat16"));
      if (!isnan(recorded[i].t))
        put_gradient(&s, "gradient/t", true, 1, recorded[i].t);
      if (!isnan(recorded[i].c))
        put_gradient(&s, "gradient/c", false, 1, recorded[i].c);
      put_gradient(&s, "w", false, 1, recorded[i].w);
      scene_certify(&c, &s, &s.trace, &s.gradients, sieved);
      ck_assert_int_eq(clarke_certify_has_chain(&c), !isnan(recorded[i].c));
      says[0] = said(&c, "t");
      says[1] = said(&c, "c");
      says[2] = said(&c, "w");
      ck_assert_msg(strcmp(says, recorded[i].says) == 0, "%zu: %s", i, says);
      clarke_certify_clear(&c);
      scene_clear(&s);
    }
}
END_TEST

/* Longer ways: what was recorded last is judged first; a sign that turns is turned once. */
START_TEST(longer_ways)
{
  static const char *const ways[] = {"cdt", "cnt", "ndct"};

  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
    for (int wrong = 0; wrong < 2; wrong++) {
      const char *turn = strchr(ways[i], 'n');
      clarke_certify c;
      scene s;

      build(&s, ways[i], false);
      for (const char *at = ways[i]; *at != '\0'; at++) {
        char name[] = "gradient/?";

        name[9] = *at;
        put_gradient(&s, name, *at == 't', turn != NULL && at < turn ? -1 : 1, wrong && at == ways[i] ? 1 : 0);
      }
      put_gradient(&s, "w", false, turn != NULL ? -1 : 1, wrong ? 1 : 0);
      scene_certify(&c, &s, &s.trace, &s.gradients, false);
      for (const char *at = ways[i]; *at != '\0'; at++)
        ck_assert_int_eq(said(&c, (char[]){*at, '\0'}), wrong && at == ways[i] ? 'r' : 'e');
      ck_assert_int_eq(said(&c, "w"), 'e');
      clarke_certify_clear(&c);
      scene_clear(&s);
    }
}
END_TEST

/* c is read by a product of its own, too: y = (x t c) t, with t of c. Its gradient is both sums. */
START_TEST(read_on_the_way)
{
  for (int wrong = 0; wrong < 2; wrong++) {
    double g[6], of_c[6] = {0};
    const double t[6] = {1, 3, 5, 2, 4, 6}, a[6] = {5, 11, 17, 20, 44, 68}, b[4] = {123, 156, 492, 624};
    const double back[4] = {9, 12, 9, 12}; /* in b: y's ones times t, transposed */
    clarke_certify c;
    scene s;

    build(&s, "ct", true);
    for (size_t i = 0; i < 3; i++)
      for (size_t j = 0; j < 2; j++)
        for (size_t n = 0; n < 2; n++)
          of_c[2 * i + j] += a[3 * n + i] * back[2 * n + j];
    put(&s.trace, "output/a", SHAPE(2, 3, ), a);
    put(&s.trace, "output/b", SHAPE(2, 2, ), b);
    put(&s.trace, "output/t", SHAPE(2, 3, ), t);
    put(&s.trace, "gradient/b", SHAPE(2, 2, ), back);
    for (size_t e = 0; e < 6; e++)
      g[e] = (double)e + 1; /* what is said of t is refuted, and of c true all the same */
    put(&s.trace, "gradient/t", SHAPE(2, 3, ), g);
    for (size_t i = 0; i < 3; i++)
      for (size_t j = 0; j < 2; j++)
        of_c[2 * i + j] += g[3 * j + i] + (wrong && i + j == 3 ? 1 : 0);
    put(&s.trace, "gradient/c", SHAPE(3, 2, ), of_c);
    put(&s.gradients, "w", SHAPE(3, 2, ), of_c);
    scene_certify(&c, &s, &s.trace, &s.gradients, false);
    ck_assert_int_eq(said(&c, "b"), 'e');
    ck_assert_int_eq(said(&c, "t"), 'r');
    ck_assert_int_eq(said(&c, "c"), wrong ? 'r' : 'e');
    ck_assert_int_eq(said(&c, "w"), 'e');
    clarke_certify_clear(&c);
    scene_clear(&s);
  }
}
END_TEST

/* w (1 x 3), cast to c, repeated to e (40 x 3), e moved to d; d multiplies x, which is ones. It is not known which of e's entries d's are:
 * of e and of c nothing is said. In w 40 sums are added up: so many roundings. */
START_TEST(repeated)
{
  static const struct {
    double off;
    char says;
    bool also; /* is e multiplied, too? */
  } w[] = {{0, 'e', false}, {18 * 0x1p-18, 'w', false}, {40 * 0x1p-18, 'r', false}, {0, 'e', true}};

  for (size_t i = 0; i < sizeof w / sizeof *w; i++) {
    const double sum = w[i].also ? 80 : 40;
    double ones[120], twos[120], sums[3] = {sum + w[i].off, sum, sum};
    clarke_certify c;
    clarke_model m;
    scene s;

    model_begin(&m, 17);
    model_input(&m, "x", SHAPE(-1, 40, ));
    model_floats(&m, "w", SHAPE(1, 3, ));
    model_integers(&m, "n", SHAPE(2, ))[0] = 40;
    m.tensors[m.n_tensors - 1].integer[1] = 3;
    model_node(&m, "Identity", "w", "c");
    model_node(&m, "Expand", "c,n", "e");
    model_node(&m, "Identity", "e", "d");
    model_node(&m, "MatMul", "x,d", w[i].also ? "a" : "y");
    if (w[i].also) {
      model_node(&m, "MatMul", "x,e", "b");
      model_node(&m, "Add", "a,b", "y");
    }
    model_output(&m, "y");
    s.x = tensor_of("x", CLARKE_F32, SHAPE(1, 40, ));
    clarke_tensor_init(&s.y);
    for (size_t e = 0; e < 120; e++)
      twos[e] = 2 * (ones[e] = 1);
    memcpy(s.x.real, ones, 40 * sizeof *ones);
    scene_build(&s, &m, (clarke_loss){.kind = CLARKE_LOSS_SUM, .samples = 1}, "float32", 1);
    put(&s.trace, "gradient/d", SHAPE(40, 3, ), ones);
    put(&s.trace, "gradient/e", SHAPE(40, 3, ), w[i].also ? twos : ones);
    put(&s.trace, "gradient/c", SHAPE(1, 3, ), sums);
    put(&s.gradients, "w", SHAPE(1, 3, ), sums);
    scene_certify(&c, &s, &s.trace, &s.gradients, false);
    ck_assert_int_eq(said(&c, "d"), 'e');
    ck_assert(find(&c, "e")->certainty == CLARKE_CANNOT_SAY && find(&c, "c")->certainty == CLARKE_CANNOT_SAY);
    ck_assert_int_eq(said(&c, "w"), w[i].says);
    clarke_certify_clear(&c);
    scene_clear(&s);
  }
}
END_TEST

/* What a convolution reads, and what that was made of, may be mixed by its algorithm; what a product reads may not. */
START_TEST(of_convolutions)
{
  clarke_model m;
  scene s;

  model_begin(&m, 17);
  model_input(&m, "x", SHAPE(-1, 1, 4, 4, ));
  model_floats(&m, "w", SHAPE(2, 9, ));
  model_integers(&m, "n", SHAPE(4, ))[0] = 2;
  memcpy(m.tensors[m.n_tensors - 1].integer, (int64_t[]){2, 1, 3, 3}, 4 * sizeof(int64_t));
  model_node(&m, "Identity", "w", "c");
  model_node(&m, "Reshape", "c,n", "r");
  model_node(&m, "Conv", "x,r", "y");
  model_output(&m, "y");
  s.x = tensor_of("x", CLARKE_F32, SHAPE(1, 1, 4, 4, ));
  clarke_tensor_init(&s.y);
  scene_build(&s, &m, (clarke_loss){.kind = CLARKE_LOSS_SUM, .samples = 1}, "float32", 1);
  for (size_t v = 0; v < s.graph.n_values; v++)
    if (s.graph.values[v].constant && s.graph.values[v].name != NULL && s.graph.values[v].parameter != CLARKE_NONE)
      ck_assert(clarke_certify_read_by_conv(&s.graph, v));
  scene_clear(&s);
  build(&s, "ct", false);
  for (size_t v = 0; v < s.graph.n_values; v++)
    ck_assert(!clarke_certify_read_by_conv(&s.graph, v));
  scene_clear(&s);
}
END_TEST

/* Each part by itself. */
START_TEST(parts)
{
  static const size_t map[4] = {0, 2, 0, 0}, nowhere[3] = {CLARKE_NONE, 1, CLARKE_NONE};
  const double part[4] = {1, 2, 4, 8}, wanted[2][3] = {{13, 0, 2}, {26, 0, 4}};
  size_t reads[4];
  clarke_roundback b = {.reads = reads};
  clarke_matrix whole, one;

  ck_assert_uint_eq(clarke_roundback_meet(&b, map, 4, 3), 3);
  ck_assert_uint_eq(clarke_roundback_meet(&b, map, 2, 3), 1);
  ck_assert_uint_eq(clarke_roundback_meet(&b, nowhere, 3, 2), 1);
  ck_assert_uint_eq(clarke_roundback_meet(&b, NULL, 4, 4), 1);
  clarke_matrix_init(&whole);
  clarke_matrix_init(&one);
  OK(clarke_matrix_set_doubles(&one, 4, 1, part, &error));
  for (size_t k = 0; k < 2; k++) {
    OK(clarke_certify_join(&whole, 3, &one, map, &error));
    ck_assert_uint_eq(whole.rows, 3);
    for (size_t e = 0; e < 3; e++)
      ck_assert(clarke_matrix_get_double(&whole, e, 0) == wanted[k][e]);
  }
  clarke_matrix_clear(&whole);
  clarke_matrix_init(&whole);
  OK(clarke_certify_join(&whole, 4, &one, NULL, &error));
  ck_assert(whole.rows == 4 && clarke_matrix_get_double(&whole, 3, 0) == 8);
  clarke_matrix_clear(&whole);
  clarke_matrix_clear(&one);
}
END_TEST

/* By itself: the sums of a pass back, in w's constants, are handed on from t to c, and from there to nobody. */
START_TEST(handed_on)
{
  clarke_certify c;
  size_t of[2] = {0, 0};
  scene s;

  build(&s, "ct", false);
  put_gradient(&s, "w", false, 1, 0);
  scene_certify(&c, &s, &s.trace, &s.gradients, false);
  for (size_t v = 0; v < s.graph.n_values; v++)
    if (s.graph.values[v].constant && s.graph.values[v].name != NULL && strchr("ct", *s.graph.values[v].name) != NULL)
      of[*s.graph.values[v].name == 't'] = v;
  ck_assert(c.grad[of[1]].rows == 0 && c.grad[of[0]].rows == 6);
  for (size_t e = 0; e < 6; e++)
    ck_assert(clarke_matrix_get_double(&c.grad[of[0]], e, 0) == of_w[e] && c.back.sum[of[0]].mass[e] >= of_w[e]);
  OK(clarke_certify_constants_back(&c, &error)); /* nothing is left to hand on */
  ck_assert(c.grad[of[1]].rows == 0 && clarke_matrix_get_double(&c.grad[of[0]], 1, 0) == 10);
  clarke_certify_clear(&c);
  scene_clear(&s);
}
END_TEST

MODULE(constants)
{
  TCase *tests = tests_of("constants");

  tcase_add_test(tests, a_cast_that_is_transposed);
  tcase_add_test(tests, longer_ways);
  tcase_add_test(tests, read_on_the_way);
  tcase_add_test(tests, repeated);
  tcase_add_test(tests, of_convolutions);
  tcase_add_test(tests, parts);
  tcase_add_test(tests, handed_on);
  return all_tests;
}
