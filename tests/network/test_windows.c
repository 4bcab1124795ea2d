/* Replay of convolutional networks against the naive evaluator, exactly: values, tangents, reverse mode,
 * ties under every rule; the filter against the exact pass, windows that cancel to a few units among
 * them; and identity against its definition: identical entries are the same function near w. */
#include "machine.h"
#include "convolutional.h"
#include "compared.h"
#include "network/derive/tangent.h"
#include "network/pass/window.h"

/* Reverse mode of the outputs' sum along the direction is the outputs' tangents' sum. */
static void
check_gradient(machine *k, naive_run *r, size_t number)
{
  double radius;
  mpq_t off;

  mpq_init(off);
  gradient_difference(off, &radius, k, r);
  if (mpq_sgn(off) != 0 || radius > 0) {
    print_model(r->m);
    ck_abort_msg("network %zu: reverse mode differs from the tangent", number);
  }
  mpq_clear(off);
}

static size_t
ties_of(const machine *k)
{
  size_t n = 0;

  for (size_t i = 0; i < k->g.n_steps; i++)
    for (size_t j = 0; k->replay.ties[i] != NULL && j < k->replay.samples; j++)
      n += k->replay.ties[i][j];
  return n;
}

START_TEST(values_tangents_and_gradients)
{
  static const struct {
    const char *name;
    bool last;
    double beta;
  } rules[] = {{"first", false, 0}, {"last", true, 0}, {"mean", false, 1}, {"hybrid 1/4", false, 0.25}};
  uint64_t state = 61;
  size_t checked = 0, ties = 0, touched = 0;

  for (size_t i = 0; i < draw_count(800); i++) {
    naive_run r = {.proxy = right_slope, .last = rules[i % 4].last, .beta = rules[i % 4].beta};
    growing grown;
    clarke_tensor x;
    machine k;

    grow_convolutional(&grown, &state, small_number);
    x = grow_batch(&grown, 1 + draw_below(&state, 3));
    machine_begin(&k, &grown.m, &x, profile_with(rules[i % 4].name), draw_below(&state, 2));
    naive_begin(&r, &grown.m, &x);
    draw_direction(&k, &r, &state);
    naive_go(&r);
    OK(clarke_tangent_run(k.tangent, &k.pass, &k.slopes, k.d, &error));
    checked += check_values(&k, &r, i);
    check_gradient(&k, &r, i);
    ck_assert_msg(ties_of(&k) == r.ties, "network %zu: %zu windows tied, expected %zu", i, ties_of(&k),
                  r.ties);
    ties += r.ties;
    for (size_t t = 0; t < k.replay.n_touches; t++)
      touched += k.replay.touch[t].n_options > 0;
    machine_end(&k);
    naive_clear(&r);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
  printf("windows: %zu activations, %zu windows tied, %zu of them touched\n", checked, ties, touched);
  ck_assert_uint_gt(touched, draw_count(400));
  ck_assert_uint_gt(ties, touched + draw_count(200));
}
END_TEST

/* What AD takes of three tied entries. */
START_TEST(shares_of_ties)
{
  static const struct {
    clarke_tie tie;
    unsigned long beta, of; /* beta / of */
    unsigned long share[3]; /* of 12 */
  } wanted[] = {{CLARKE_TIE_FIRST, 0, 1, {12, 0, 0}}, {CLARKE_TIE_LAST, 0, 1, {0, 0, 12}},
                {CLARKE_TIE_FIRST, 1, 1, {4, 4, 4}}, {CLARKE_TIE_LAST, 1, 4, {1, 1, 10}}};
  clarke_tie_rule rule;
  mpq_t share;

  memset(&rule, 0, sizeof rule);
  mpq_inits(rule.beta, share, NULL);
  for (size_t r = 0; r < 4; r++)
    for (size_t i = 0; i < 3; i++) {
      rule.tie = wanted[r].tie;
      mpq_set_ui(rule.beta, wanted[r].beta, wanted[r].of);
      clarke_tie_share(share, &rule, i, 3);
      ck_assert_int_eq(mpq_cmp_ui(share, wanted[r].share[i], 12), 0);
    }
  mpq_clears(rule.beta, share, NULL);
}
END_TEST

/* --- the filter ------------------------------------------------------------------------------------ */

/* Few numbers, full doubles: equal patches of long sums. */
static double
one_of_few(uint64_t *state)
{
  uint64_t few = draw_below(state, 3);

  return full_double(&few);
}

START_TEST(filter_on_convolutional_networks)
{
  static double (*const number[])(uint64_t *state) = {small_number, one_of_few, full_double, any_double};
  uint64_t state = 62;

  for (size_t kind = 0; kind < 4; kind++) {
    size_t filtered = 0, total = 0;

    for (size_t i = 0; i < draw_count(300); i++) {
      growing grown;
      clarke_tensor x;

      grow_convolutional(&grown, &state, number[kind]);
      x = grow_batch(&grown, 1 + draw_below(&state, 40));
      compare_with_exact(&grown.m, &x, &filtered, &total);
      clarke_tensor_clear(&x);
      clarke_model_clear(&grown.m);
    }
    printf("filter: %zu of %zu entries decided in floating point\n", filtered, total);
    ck_assert_uint_gt(filtered, total / 8);
    ck_assert_uint_lt(filtered, total);
  }
}
END_TEST

/* Windows whose entries are one number up to some units in their last places: sums of a filter's
 * products over the patches of a line, each patch's last entry taking the others off. Overlapping pools
 * behind, so that what one window decides the next one uses. */
static void
draw_near_ties(clarke_model *m, clarke_tensor *x, uint64_t *state)
{
  enum { PATCHES = 6 };
  size_t width = 2 + draw_below(state, 12);
  bool relu = draw_below(state, 2), coarse = draw_below(state, 3) == 0;
  double *w, target = full_double(state);
  clarke_model_node *node;

  model_begin(m, 16);
  model_input(m, "x", SHAPE(-1, 1, (long)(PATCHES * width),));
  *x = tensor_of("x", CLARKE_F64, SHAPE(2, 1, (long)(PATCHES * width),));
  w = model_floats(m, "w", SHAPE(1, 1, (long)width,));
  for (size_t k = 0; k < width; k++)
    w[k] = k + 1 == width ? 1 : coarse ? (double)draw_between(state, -3, 3) : full_double(state);
  for (size_t p = 0; p < 2 * PATCHES; p++) {
    double *patch = x->real + p * width;
    long double sum = 0;

    for (size_t k = 0; k + 1 < width; k++) {
      patch[k] = coarse ? (double)draw_between(state, -3, 3) : full_double(state);
      sum += (long double)w[k] * patch[k];
    }
    patch[width - 1] = (double)((long double)target - sum);
    for (size_t k = draw_below(state, 4); k > 0; k--)
      patch[width - 1] = nextafter(patch[width - 1], draw_below(state, 2) ? INFINITY : -INFINITY);
    if (p % PATCHES > 0 && draw_below(state, 5) == 0) /* the patch before, exactly */
      memcpy(patch, patch - width, width * sizeof *patch);
  }
  node = model_node(m, "Conv", "x,w", "c");
  attr_ints(node, "strides", SHAPE((long)width,));
  node = model_node(m, relu ? "Relu" : "Abs", "c", "r");
  node = model_node(m, "MaxPool", "r", "p");
  attr_ints(node, "kernel_shape", SHAPE(3,));
  node = model_node(m, "MaxPool", "p", "y");
  attr_ints(node, "kernel_shape", SHAPE(2,));
  model_output(m, "y");
}

START_TEST(filter_on_near_ties)
{
  uint64_t state = 63;
  size_t filtered = 0, total = 0;

  for (size_t i = 0; i < draw_count(1500); i++) {
    clarke_model m;
    clarke_tensor x;

    draw_near_ties(&m, &x, &state);
    compare_with_exact(&m, &x, &filtered, &total);
    clarke_tensor_clear(&x);
    clarke_model_clear(&m);
  }
  printf("near ties: %zu of %zu entries decided in floating point\n", filtered, total);
  ck_assert_uint_gt(filtered, total / 8);
  ck_assert_uint_lt(filtered, total);
}
END_TEST

/* The second of two entries is larger or smaller by 2^least to 2^most; `further` products follow. */
static void
decide_around(size_t further, int least, int most, size_t *filtered, size_t *total)
{
  uint64_t state = 64;

  for (size_t i = 0; i < draw_count(600); i++) {
    enum { WIDTH = 16 };
    clarke_model m;
    clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(1, 1, 2 * WIDTH,));
    double *w, gap = ldexp(1, (int)draw_between(&state, least, most));
    clarke_model_node *node;

    model_begin(&m, 16);
    model_input(&m, "x", SHAPE(-1, 1, 2 * WIDTH,));
    w = model_floats(&m, "w", SHAPE(1, 1, WIDTH,));
    for (size_t k = 0; k < WIDTH; k++) {
      w[k] = k + 1 == WIDTH ? 1 : full_double(&state);
      x.real[k] = full_double(&state);
      x.real[(k + 1) % WIDTH + WIDTH] = 0;
    }
    /* The same entries; only the last differs. */
    memcpy(x.real + WIDTH, x.real, WIDTH * sizeof *x.real);
    x.real[2 * WIDTH - 1] += draw_below(&state, 2) ? gap : -gap;
    node = model_node(&m, "Conv", "x,w", "c");
    attr_ints(node, "strides", SHAPE(WIDTH,));
    node = model_node(&m, "MaxPool", "c", "y0");
    attr_ints(node, "kernel_shape", SHAPE(2,));
    *model_floats(&m, "one", SHAPE(1, 1, 1,)) = 1;
    for (size_t k = 0; k < further; k++) {
      char from[32], to[32];

      snprintf(from, sizeof from, "y%zu,one", k);
      snprintf(to, sizeof to, "y%zu", k + 1);
      model_node(&m, "Conv", from, to);
    }
    model_output(&m, further > 0 ? "y11" : "y0");
    compare_with_exact(&m, &x, filtered, total);
    clarke_tensor_clear(&x);
    clarke_model_clear(&m);
  }
}

/* Margins around the bound of the filter, from a hundredth of it to a hundred times. */
START_TEST(filter_at_its_bound)
{
  size_t filtered = 0, total = 0;

  decide_around(0, -56, -40, &filtered, &total);
  printf("at the bound: %zu of %zu entries decided in floating point\n", filtered, total);
  ck_assert_uint_gt(filtered, total / 10);
  ck_assert_uint_lt(filtered, total - total / 10);
}
END_TEST

/* The same where the product is the first of twelve, and split: a rounding or two of the result. */
START_TEST(filter_at_the_bound_of_split_products)
{
  size_t filtered = 0, total = 0;

  decide_around(11, -58, -44, &filtered, &total);
  printf("at the bound of split products: %zu of %zu entries decided in floating point\n", filtered, total);
  ck_assert_uint_gt(filtered, total / 10);
  ck_assert_uint_lt(filtered, total - total / 10);
}
END_TEST

/* --- identity ------------------------------------------------------------------------------------ */

/* What cancels to a gap of 2^-40 to 2^-230, or to nothing: below the filter's precision, just above and below
 * that of each enclosure, and beyond them. Windows of two such sums, and a Relu of their difference; in two channels
 * of three the first enclosure decides, so that the second is tried. */
START_TEST(enclosures_at_their_precision)
{
  static const int edge[] = {-44, -56, -63, -66, -128, -188, -194, -220};
  uint64_t state = 67;
  size_t filtered = 0, total = 0, before = refined_entries, refined;

  for (size_t i = 0; i < draw_count(1200); i++) {
    enum { WIDTH = 8 };
    clarke_model m;
    clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(1, 1, 2 * WIDTH,));
    double *w;
    bool window = draw_below(&state, 2) != 0;
    clarke_model_node *node;

    model_begin(&m, 16);
    model_input(&m, "x", SHAPE(-1, 1, 2 * WIDTH,));
    w = model_floats(&m, "w", SHAPE(3, 1, window ? WIDTH : 2 * WIDTH,));
    for (size_t k = 0; k < WIDTH; k++)
      x.real[k] = x.real[k + WIDTH] = full_double(&state);
    for (size_t c = 0; c < 3; c++, w += window ? WIDTH : 2 * WIDTH)
      for (size_t k = 0; k < WIDTH; k++) {
        w[k] = k + 1 < WIDTH ? full_double(&state)
                             : ldexp(1, (c < 2 ? -56 : edge[i % 8]) + (int)draw_between(&state, -6, 6));
        if (!window)
          w[k + WIDTH] = -w[k];
      }
    x.real[2 * WIDTH - 1] = x.real[WIDTH - 1] + (double)draw_between(&state, -1, 1);
    node = model_node(&m, "Conv", "x,w", "c");
    attr_ints(node, "strides", SHAPE(window ? WIDTH : 2 * WIDTH,));
    node = window ? model_node(&m, "MaxPool", "c", "y") : model_node(&m, "Relu", "c", "y");
    if (window)
      attr_ints(node, "kernel_shape", SHAPE(2,));
    model_output(&m, "y");
    compare_with_exact(&m, &x, &filtered, &total);
    clarke_tensor_clear(&x);
    clarke_model_clear(&m);
  }
  refined = refined_entries - before;
  printf("enclosures: %zu of %zu entries decided in floating point, %zu in enclosures\n", filtered, total,
         refined);
  ck_assert_uint_gt(refined, total / 4);
  ck_assert_uint_lt(filtered + refined, total - total / 5);
}
END_TEST
START_TEST(identical_entries_are_one_function)
{
  uint64_t state = 65;
  size_t shared[2] = {0};

  for (size_t i = 0; i < draw_count(500); i++) {
    growing grown;
    clarke_tensor x;

    grow_convolutional(&grown, &state, small_number);
    x = grow_batch(&grown, 1 + draw_below(&state, 2));
    perturb_identities(shared, &grown.m, &x, &state);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
  expect_shared(shared);
}
END_TEST

/* --- what must be identified --------------------------------------------------------------------- */

/* x (1, 1, 6) -> Conv of two taps and a bias -> ... -> y, one sample. */
typedef struct {
  clarke_model m;
  clarke_tensor x;
  machine k;
  clarke_identities *ids;
} spot;

static void
spot_begin(spot *s, const double *x)
{
  clarke_model_node *node;

  model_begin(&s->m, 16);
  model_input(&s->m, "x", SHAPE(-1, 1, 6,));
  s->x = tensor_of("x", CLARKE_F64, SHAPE(1, 1, 6,));
  memcpy(s->x.real, x, 6 * sizeof *x);
  model_floats(&s->m, "w", SHAPE(1, 1, 2,))[0] = 3;
  s->m.tensors[0].real[1] = -1;
  model_floats(&s->m, "b", SHAPE(1,))[0] = 5;
  node = model_node(&s->m, "Conv", "x,w,b", "c");
  attr_ints(node, "pads", SHAPE(2, 2,));
}

/* wrt: one parameter's name, or NULL for all. */
static void
spot_go(spot *s, const char *out, const char *wrt)
{
  clarke_model_node *node = model_node(&s->m, "MaxPool", out, "y");
  char *names[] = {(char *)(uintptr_t)wrt};

  attr_ints(node, "kernel_shape", SHAPE(2,));
  model_output(&s->m, "y");
  machine_begin(&s->k, &s->m, &s->x, profile_with("first"), true);
  OK(clarke_graph_wrt(&s->k.g, names, wrt != NULL, &error));
  s->ids = clarke_identities_new(&s->k.g, 1, s->k.pass.piece, s->k.pass.value, NULL);
}

/* The entries' classes, a letter each in the order in which they first occur; '0' for the constant 0. */
static void
spot_says(spot *s, const char *name, const char *classes)
{
  char found[64] = "";
  clarke_identity first[26];
  size_t n = 0, v = 0;

  while (s->k.g.values[v].name == NULL || strcmp(s->k.g.values[v].name, name) != 0)
    v++;
  for (size_t f = 0; f < s->k.g.values[v].count; f++) {
    clarke_identity id = clarke_identity_of(s->ids, v, f, 0);
    size_t c = 0;

    while (c < n && first[c] != id)
      c++;
    if (c == n)
      first[n++] = id;
    found[f] = (char)('a' + c);
  }
  ck_assert_msg(strcmp(found, classes) == 0, "%s: %s, expected %s", name, found, classes);
}

static void
spot_end(spot *s)
{
  clarke_identities_free(s->ids);
  machine_end(&s->k);
  clarke_tensor_clear(&s->x);
  clarke_model_clear(&s->m);
}

static void
floats(clarke_model *m, const char *name, const long *shape, double a, double b)
{
  double *v = model_floats(m, name, shape);

  v[0] = a;
  if (m->tensors[m->n_tensors - 1].count > 1)
    v[1] = b;
}

/* Two sigmoids that are equal and two functions, a third far below: the largest is one of the first two, and no wider than they. */
START_TEST(an_open_window_lies_among_its_candidates)
{
  clarke_model m;
  clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(1, 1, 3,));
  size_t place[3], step = 0, v;
  machine k;
  double *w;

  model_begin(&m, 16);
  model_input(&m, "x", SHAPE(-1, 1, 3,));
  for (size_t e = 0; e < 3; e++)
    x.real[e] = 1;
  w = model_floats(&m, "w", SHAPE(1, 3,));
  w[0] = -4;
  w[1] = w[2] = 1;
  model_node(&m, "Mul", "x,w", "a");
  model_node(&m, "Sigmoid", "a", "b");
  attr_ints(model_node(&m, "MaxPool", "b", "y"), "kernel_shape", SHAPE(3,));
  model_output(&m, "y");
  machine_begin(&k, &m, &x, profile_with("first"), true);
  while (k.g.steps[step].kind != CLARKE_MAX)
    step++;
  v = k.g.steps[step].out;
  ck_assert_uint_eq(k.replay.open, 1);
  ck_assert_uint_eq(clarke_window_candidates(place, &k.pass, step, 0, 0), 2);
  ck_assert(place[0] == 1 && place[1] == 2);
  ck_assert(fabs(clarke_matrix_get_double(&k.pass.value[v], 0, 0) - 1 / (1 + exp(-1.0))) < 1e-15);
  ck_assert(clarke_matrix_radius(&k.pass.value[v], 0, 0) < 1e-12);
  machine_end(&k);
  clarke_tensor_clear(&x);
  clarke_model_clear(&m);
}
END_TEST

static const double flat[6] = {2, 2, 2, 0, 0, 2}, steps[6] = {1, 2, 1, 2, 1, 2};

START_TEST(what_must_be_identified)
{
  spot s;

  /* Flat patches; patches in the padding, and of zeros; one in half the padding. */
  spot_begin(&s, flat);
  spot_go(&s, "c", NULL);
  spot_says(&s, "c", "abccdabda");
  spot_end(&s);
  /* The same when the bias alone is in wrt: places, not numbers (3 * 2 - 2 * 2 is not told from others). */
  spot_begin(&s, steps);
  spot_go(&s, "c", "b");
  spot_says(&s, "c", "abcdcdcea");
  spot_end(&s);
  /* Nothing in wrt but an unused place: constants by their values. */
  spot_begin(&s, flat);
  floats(&s.m, "u", SHAPE(1,), 1, 0);
  model_node(&s.m, "Mul", "c,u", "d");
  spot_go(&s, "d", "u");
  spot_says(&s, "c", "abccdabda");
  spot_says(&s, "d", "abccdabda");
  spot_end(&s);
  /* Strictly inside a constant piece: one constant, whatever the argument. */
  spot_begin(&s, steps);
  floats(&s.m, "low", SHAPE(), 100, 0);
  floats(&s.m, "high", SHAPE(), 101, 0);
  model_node(&s.m, "Clip", "c,low,high", "d");
  spot_go(&s, "d", NULL);
  spot_says(&s, "d", "aaaaaaaaa");
  spot_end(&s);
  /* BatchNormalization behind an irrational root. */
  spot_begin(&s, flat);
  floats(&s.m, "scale", SHAPE(1,), 2, 0);
  floats(&s.m, "B", SHAPE(1,), 1, 0);
  floats(&s.m, "mean", SHAPE(1,), 1, 0);
  floats(&s.m, "var", SHAPE(1,), 3, 0);
  model_node(&s.m, "BatchNormalization", "c,scale,B,mean,var", "d");
  model_node(&s.m, "Relu", "d", "e");
  spot_go(&s, "e", NULL);
  spot_says(&s, "d", "abccdabda");
  ck_assert_uint_eq(s.k.replay.open, 0);
  spot_end(&s);
  /* Behind a smooth function, and in a line and between lines of a Softmax. */
  spot_begin(&s, flat);
  model_node(&s.m, "Tanh", "c", "d");
  attr_int(model_node(&s.m, "Softmax", "c", "e"), "axis", 2);
  attr_int(model_node(&s.m, "Concat", "c,d", "f"), "axis", 1);
  attr_int(model_node(&s.m, "LogSoftmax", "f", "h"), "axis", 1);
  spot_go(&s, "h", NULL);
  spot_says(&s, "d", "abccdabda");
  spot_says(&s, "e", "abccdabda");
  spot_says(&s, "h", "abccdabdaefgghefhe");
  spot_end(&s);
  /* gamma 0, not in wrt, of arguments that move: no constant, as no rule looks at a weight's value. */
  spot_begin(&s, steps);
  floats(&s.m, "zero", SHAPE(1,), 0, 0);
  model_node(&s.m, "Mul", "c,zero", "d");
  spot_go(&s, "d", "w");
  spot_says(&s, "d", "abcdcdcea");
  spot_end(&s);
}
END_TEST

START_TEST(copies_are_identified)
{
  spot s;

  /* Concat, Pad, and the window's own entries; across them. */
  spot_begin(&s, steps);
  attr_int(model_node(&s.m, "Concat", "c,c", "d"), "axis", 2);
  spot_go(&s, "d", NULL);
  spot_says(&s, "d", "abcdcdceaabcdcdcea");
  spot_end(&s);
  /* Minus entries, in two nodes; minus minus them; a copy of the largest of them, whose neighbours are no copies of it. */
  spot_begin(&s, steps);
  model_node(&s.m, "Neg", "c", "d");
  model_node(&s.m, "Neg", "c", "e");
  model_node(&s.m, "Neg", "d", "f");
  attr_int(model_node(&s.m, "Concat", "d,e,f,c", "h"), "axis", 2);
  spot_go(&s, "h", NULL);
  spot_says(&s, "h", "abcdcdceaabcdcdceafghihihjffghihihjf");
  spot_end(&s);
  spot_begin(&s, flat);
  attr_ints(model_node(&s.m, "ReduceMin", "c", "d"), "axes", SHAPE(2,));
  attr_int(model_node(&s.m, "Concat", "d,c", "e"), "axis", 2);
  spot_go(&s, "e", NULL);
  spot_says(&s, "e", "abaccdbadb");
  spot_end(&s);
}
END_TEST

START_TEST(places_of_parameters_are_told_apart)
{
  spot s;

  /* Entries of two parameters in Concat, at the same places of both. */
  spot_begin(&s, flat);
  floats(&s.m, "p", SHAPE(1, 1, 2,), 1, 1);
  floats(&s.m, "q", SHAPE(1, 1, 2,), 1, 1);
  attr_int(model_node(&s.m, "Concat", "p,c,q", "d"), "axis", 2);
  spot_go(&s, "d", NULL);
  spot_says(&s, "d", "abcdeefcdfcgh");
  spot_end(&s);
  /* The bias of another filter is another place, though the numbers are equal; constants are their numbers. */
  spot_begin(&s, flat);
  floats(&s.m, "pair", SHAPE(2, 1, 1,), 1, 1);
  floats(&s.m, "bias", SHAPE(2,), 4, 4);
  model_node(&s.m, "Conv", "c,pair,bias", "d");
  model_integers(&s.m, "shape", SHAPE(3,))[0] = -1;
  s.m.tensors[s.m.n_tensors - 1].integer[1] = 1;
  s.m.tensors[s.m.n_tensors - 1].integer[2] = 18;
  model_node(&s.m, "Reshape", "d,shape", "e");
  spot_go(&s, "e", "w");
  spot_says(&s, "e", "abccdabdaaeffgaega");
  spot_end(&s);
}
END_TEST

/* Windows of up to 4,096 entries, two of them equal: places of over a byte. Of the second sample one is the largest. */
START_TEST(wide_windows)
{
  static const char *const rule[] = {"tie MaxPool first", "tie MaxPool last"};
  uint64_t state = 77;

  for (size_t round = 0; round < 24; round++) {
    const size_t width = round % 4 == 0 ? 4096 : 128 + draw_below(&state, 1000), one = draw_below(&state, width);
    const size_t two = draw_below(&state, width), last = one > two ? one : two, step = 1;
    size_t filtered = 0, total = 0;
    double *w;
    clarke_model m;
    clarke_tensor x;
    machine k;

    model_begin(&m, 17);
    model_input(&m, "x", SHAPE(-1, 1, (long)width,));
    w = model_floats(&m, "w", SHAPE((long)width,));
    for (size_t e = 0; e < width; e++)
      w[e] = 1;
    model_node(&m, "Mul", "x,w", "z");
    attr_ints(model_node(&m, "MaxPool", "z", "y"), "kernel_shape", SHAPE((long)width,));
    model_output(&m, "y");
    x = tensor_of("x", CLARKE_F64, SHAPE(2, 1, (long)width,));
    for (size_t e = 0; e < 2 * width; e++)
      x.real[e] = (double)draw_below(&state, 50);
    x.real[one] = x.real[two] = 77;
    x.real[width + one] = 78;
    compare_with_exact(&m, &x, &filtered, &total);
    machine_begin(&k, &m, &x, rule[round % 2], round % 3 == 0);
    ck_assert_uint_eq(k.replay.n_touches, one != two);
    ck_assert_int_eq(k.pass.piece[step][1], (int)one);
    ck_assert_int_eq(k.pass.piece[step][0], one == two ? (int)one : (int)CLARKE_AT(0));
    ck_assert_uint_eq(k.slopes.route[step].from[0][1], one);
    ck_assert_uint_eq(k.slopes.route[step].from[0][0], round % 2 == 1 ? last : one + two - last);
    machine_end(&k);
    clarke_tensor_clear(&x);
    clarke_model_clear(&m);
  }
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("network-windows");

  tcase_add_test(tcase, values_tangents_and_gradients);
  tcase_add_test(tcase, wide_windows);
  tcase_add_test(tcase, shares_of_ties);
  tcase_add_test(tcase, filter_on_convolutional_networks);
  tcase_add_test(tcase, filter_on_near_ties);
  tcase_add_test(tcase, filter_at_its_bound);
  tcase_add_test(tcase, filter_at_the_bound_of_split_products);
  tcase_add_test(tcase, enclosures_at_their_precision);
  tcase_add_test(tcase, identical_entries_are_one_function);
  tcase_add_test(tcase, what_must_be_identified);
  tcase_add_test(tcase, copies_are_identified);
  tcase_add_test(tcase, places_of_parameters_are_told_apart);
  tcase_add_test(tcase, an_open_window_lies_among_its_candidates);
  return run_tests();
}
