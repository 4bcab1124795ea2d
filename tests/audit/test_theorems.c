/* The papers' theorems on networks built by hand: where each applies and holds, where it applies and fails, and where
 * one of its conditions is missing. What a theorem says of AD's output is compared with the verdict, which
 * rests on directions and trees, not on theorems. */
#include "../draw.h"
#include "asked.h"
#include "audit/audit.h"
#include "audit/layers.h"

/* in W + b, then a pointwise function: parameters Wk and bk, the output zk. n_bias: 0 none, 1 one for all neurons. */
static void
add_layer(asked *a, const char *k, const char *in, const char *function, const long *shape, const double *w,
          long n_bias, const double *b)
{
  char product[8], sum[8], out[8], name[8], operands[32];

  snprintf(product, sizeof product, "p%s", k);
  snprintf(sum, sizeof sum, "y%s", k);
  snprintf(out, sizeof out, "z%s", k);
  snprintf(name, sizeof name, "W%s", k);
  weight(a, name, shape, w);
  snprintf(operands, sizeof operands, "%s,%s", in, name);
  node(a, "MatMul", operands, product);
  if (n_bias > 0) {
    snprintf(name, sizeof name, "b%s", k);
    weight(a, name, SHAPE(n_bias,), b);
    snprintf(operands, sizeof operands, "%s,%s", product, name);
    node(a, "Add", operands, sum);
  }
  if (function != NULL)
    node(a, function, n_bias > 0 ? sum : product, out);
}

static const double one_point[] = {1, -1}, two_points[] = {1, -1, 2, -2};

/* Two layers of two neurons, both of the first on their kink at (1, -1), one of the second; then their weighted sum. */
static void
two_layers(asked *a, size_t samples, const double *x, long first_bias, long second_bias)
{
  asked_begin(a, samples, 2, x);
  add_layer(a, "1", "x", "Relu", SHAPE(2, 2,), NUMBERS(1, 2, 1, 2), first_bias, NUMBERS(0, 0));
  add_layer(a, "2", "z1", "Relu", SHAPE(2, 2,), NUMBERS(1, -1, 3, 2), second_bias, NUMBERS(0, 5));
  weight(a, "W3", SHAPE(2, 1,), NUMBERS(1, -2));
  node(a, "MatMul", "z2,W3", "out");
}

/* HardTanh of x + b at both of its kinks, of one neuron or two samples: Lemma 3's kind. */
static void
both_kinks(asked *a, const char *profile)
{
  asked_begin(a, 2, 1, NUMBERS(3, 1));
  a->profile = profile;
  weight(a, "b", SHAPE(1,), NUMBERS(-2));
  weight(a, "low", SHAPE(), NUMBERS(-1));
  weight(a, "high", SHAPE(), NUMBERS(1));
  node(a, "Add", "x,b", "y");
  node(a, "Clip", "y,low,high", "z");
  a->wrt = "b";
  ask(a, "z");
}

static const clarke_layer *
layer(const asked *a, const char *name)
{
  for (size_t i = 0; i < a->audit.n_layers; i++)
    if (strcmp(a->graph.steps[a->audit.layer[i].step].name, name) == 0)
      return &a->audit.layer[i];
  ck_abort_msg("no layer %s", name);
}

/* --- Theorem 1 ----------------------------------------------------------------------------------------------- */

static const char theorem_1_holds[] = "one sample, distinct biases, proxies in the Clarke sets";

START_TEST(theorem_1_takes_one_sample_with_distinct_biases)
{
  asked a;

  two_layers(&a, 1, one_point, 2, 2);
  ask(&a, "out");
  ck_assert_uint_eq(a.replay.n_touches, 3);
  applies(&a, "Theorem 1", CLARKE_YES, theorem_1_holds);
  verdict_is(&a, CLARKE_IN_BOULIGAND);
  asked_end(&a);
}
END_TEST

START_TEST(theorem_1_takes_any_proxy_in_the_clarke_set)
{
  static const struct {
    const char *profile;
    clarke_truth holds;
    const char *why;
    clarke_verdict verdict;
  } proxies[] = {
    {"Relu 0 1\n", CLARKE_YES, theorem_1_holds, CLARKE_IN_BOULIGAND},
    {"Relu 0 1/3\n", CLARKE_YES, theorem_1_holds, CLARKE_IN_CLARKE},
    {"Relu 0 2\n", CLARKE_NO, "a proxy of layer /z2 lies outside its Clarke set", CLARKE_NOT_IN_CLARKE},
    {"Relu 0 -1/2\n", CLARKE_NO, "a proxy of layer /z2 lies outside its Clarke set", CLARKE_NOT_IN_CLARKE},
  };

  for (size_t i = 0; i < sizeof proxies / sizeof proxies[0]; i++) {
    asked a;

    two_layers(&a, 1, one_point, 2, 2);
    a.profile = proxies[i].profile;
    ask(&a, "out");
    applies(&a, "Theorem 1", proxies[i].holds, proxies[i].why);
    verdict_is(&a, proxies[i].verdict);
    asked_end(&a);
  }
}
END_TEST

/* A proxy for each kink, no one lambda: Theorem 1 needs none. */
START_TEST(theorem_1_takes_a_lambda_for_each_kink)
{
  asked a;

  asked_begin(&a, 1, 2, NUMBERS(3, 1));
  a.profile = "Clip 0 1/4\nClip 1 2/3\n";
  weight(&a, "b", SHAPE(2,), NUMBERS(-2, -2));
  weight(&a, "low", SHAPE(), NUMBERS(-1));
  weight(&a, "high", SHAPE(), NUMBERS(1));
  node(&a, "Add", "x,b", "y");
  node(&a, "Clip", "y,low,high", "z");
  a.wrt = "b";
  ask(&a, "z");
  ck_assert_uint_eq(a.replay.n_touches, 2);
  applies(&a, "Theorem 1", CLARKE_YES, theorem_1_holds);
  applies(&a, "Theorem 4", CLARKE_NO, "no one lambda gives all proxies of layer /z");
  verdict_is(&a, CLARKE_IN_CLARKE);
  asked_end(&a);
}
END_TEST

START_TEST(theorem_1_does_not_take_two_samples)
{
  asked a;

  two_layers(&a, 2, two_points, 2, 2);
  ask(&a, "out");
  applies_not(&a, "Theorem 1", "the minibatch has more than one sample");
  applies(&a, "Theorem 4", CLARKE_YES, "distinct biases and one lambda for each layer");
  asked_end(&a);
}
END_TEST

START_TEST(theorem_1_does_not_take_a_shared_bias)
{
  asked a;

  two_layers(&a, 1, one_point, 1, 2);
  ask(&a, "out");
  applies_not(&a, "Theorem 1", "layer /z1 has no distinct bias");
  applies_not(&a, "Theorem 4", "layer /z1 has no distinct bias");
  applies(&a, "Theorem 6", CLARKE_YES, "shared biases, trivial maxpools and one lambda for each layer");
  asked_end(&a);
}
END_TEST

/* A convolution whose filters have one place each: their biases are distinct; with two places they are not. */
START_TEST(theorem_1_takes_filters_of_one_place)
{
  for (int places = 1; places <= 2; places++) {
    asked a;

    memset(&a, 0, sizeof a);
    model_begin(&a.model, 17);
    model_input(&a.model, "x", SHAPE(-1, 1, 2,));
    clarke_tensor_init(&a.y);
    a.x = tensor_of("x", CLARKE_F64, SHAPE(1, 1, 2,));
    memcpy(a.x.real, one_point, sizeof one_point);
    a.profile = "Relu 0 0\n";
    weight(&a, "W", places == 1 ? SHAPE(3, 1, 2,) : SHAPE(3, 1, 1,), NUMBERS(1, 1, 2, 2, 3, 3));
    weight(&a, "b", SHAPE(3,), NUMBERS(0, 0, 0));
    node(&a, "Conv", "x,W,b", "y");
    node(&a, "Relu", "y", "out");
    ask(&a, "out");
    ck_assert_uint_eq(a.audit.layer[0].neurons, 3 * (size_t)places);
    if (places == 1)
      applies(&a, "Theorem 1", CLARKE_YES, theorem_1_holds);
    else
      applies_not(&a, "Theorem 1", "layer /out has no distinct bias");
    asked_end(&a);
  }
}
END_TEST

/* The bias of each of four neurons, read by columns; or of two only, the others having the same. */
START_TEST(theorem_1_takes_a_bias_in_another_order)
{
  for (int shared = 0; shared < 2; shared++) {
    asked a;

    asked_begin(&a, 1, 2, one_point);
    weight(&a, "W", SHAPE(2, 4,), NUMBERS(1, 2, 3, 4, 1, 2, 3, 4));
    weight(&a, "b", shared ? SHAPE(1, 2,) : SHAPE(2, 2,), NUMBERS(0, 0, 0, 0));
    memcpy(model_integers(&a.model, "square", SHAPE(3,)), (const int64_t[]){0, 2, 2}, 24);
    attr_ints(node(&a, "Transpose", "b", "c"), "perm", SHAPE(1, 0,));
    node(&a, "MatMul", "x,W", "p");
    node(&a, "Reshape", "p,square", "q");
    node(&a, "Add", "q,c", "y");
    node(&a, "Relu", "y", "out");
    ask(&a, "out");
    ck_assert_uint_eq(a.replay.n_touches, 4);
    if (shared)
      applies_not(&a, "Theorem 1", "layer /out has no distinct bias");
    else
      applies(&a, "Theorem 1", CLARKE_YES, theorem_1_holds);
    verdict_is(&a, CLARKE_IN_BOULIGAND);
    asked_end(&a);
  }
}
END_TEST

START_TEST(theorem_1_does_not_take_a_layer_without_bias)
{
  asked a;

  two_layers(&a, 1, one_point, 2, 0);
  ask(&a, "out");
  applies_not(&a, "Theorem 1", "layer /z2 has no distinct bias");
  applies_not(&a, "Theorem 4", "layer /z2 has no distinct bias");
  applies_not(&a, "Theorem 6", "layer /z2 has no bias that covers its neurons");
  asked_end(&a);
}
END_TEST

/* Lemma 2: relu(w) - relu(-w), no bias. */
START_TEST(lemma_2_is_no_case_of_theorem_1)
{
  asked a;

  asked_begin(&a, 1, 1, NUMBERS(1));
  add_layer(&a, "1", "x", NULL, SHAPE(1, 1,), NUMBERS(0), 0, NULL);
  weight(&a, "C", SHAPE(1, 2,), NUMBERS(1, -1));
  weight(&a, "D", SHAPE(2, 1,), NUMBERS(1, -1));
  node(&a, "MatMul", "p1,C", "y");
  node(&a, "Relu", "y", "z");
  node(&a, "MatMul", "z,D", "out");
  a.wrt = "W1";
  ask(&a, "out");
  applies_not(&a, "Theorem 1", "layer /z has no distinct bias");
  verdict_is(&a, CLARKE_NOT_IN_CLARKE);
  asked_end(&a);
}
END_TEST

START_TEST(theorem_1_does_not_take_a_bias_that_is_not_asked_about)
{
  asked a;

  two_layers(&a, 1, one_point, 2, 2);
  a.wrt = "W1,b1,W2,W3";
  ask(&a, "out");
  applies_not(&a, "Theorem 1", "layer /z2 has no distinct bias");
  applies_not(&a, "Theorem 6", "layer /z2 has no bias that covers its neurons");
  asked_end(&a);
}
END_TEST

/* The bias of the first layer is the second's, too. */
START_TEST(no_theorem_on_biases_takes_one_used_twice)
{
  asked a;

  asked_begin(&a, 1, 2, one_point);
  add_layer(&a, "1", "x", "Relu", SHAPE(2, 2,), NUMBERS(1, 2, 1, 2), 2, NUMBERS(0, 0));
  weight(&a, "W2", SHAPE(2, 2,), NUMBERS(1, -1, 3, 2));
  node(&a, "MatMul", "z1,W2", "p2");
  node(&a, "Add", "b1,p2", "y2");
  node(&a, "Relu", "y2", "out");
  ask(&a, "out");
  applies_not(&a, "Theorem 1", "layer /z1 has no distinct bias");
  applies_not(&a, "Theorem 4", "layer /z1 has no distinct bias");
  applies_not(&a, "Theorem 6", "layer /z1 has no bias that covers its neurons");
  applies_not(&a, "N-1", "layer /z1 shares its parameters");
  asked_end(&a);
}
END_TEST

/* Two functions of the same sum move together, whatever bias is in it: relu(b) - |b| at 0 has the gradients 0 and 1, AD
 * takes -1. */
START_TEST(no_theorem_takes_two_functions_of_one_sum)
{
  asked a;

  asked_begin(&a, 1, 1, NUMBERS(0));
  a.profile = "Relu 0 0\nAbs 0 1\n";
  add_layer(&a, "1", "x", "Relu", SHAPE(1, 1,), NUMBERS(1), 1, NUMBERS(0));
  node(&a, "Abs", "y1", "z");
  node(&a, "Sub", "z1,z", "out");
  ask(&a, "out");
  verdict_is(&a, CLARKE_NOT_IN_CLARKE);
  applies_not(&a, "Theorem 1", "layer /z1 has no distinct bias");
  applies_not(&a, "Theorem 4", "layer /z1 has no distinct bias");
  applies_not(&a, "Theorem 5", "layer /z1 is not W z + b");
  applies_not(&a, "Theorem 6", "layer /z1 has no bias that covers its neurons");
  applies_not(&a, "Theorem 8", "parameters of layer /z move what is before it, too");
  applies_not(&a, "N-1", "layer /z1 shares its parameters");
  asked_end(&a);
}
END_TEST

START_TEST(theorem_1_does_not_take_a_pool)
{
  asked a;

  asked_begin(&a, 1, 2, one_point);
  a.profile = "Relu 0 0\ntie MaxPool first\n";
  add_layer(&a, "1", "x", "Relu", SHAPE(2, 2,), NUMBERS(1, 2, 1, 2), 2, NUMBERS(1, 2));
  model_integers(&a.model, "line", SHAPE(3,))[0] = 0;
  a.model.tensors[a.model.n_tensors - 1].integer[1] = 1;
  a.model.tensors[a.model.n_tensors - 1].integer[2] = 2;
  node(&a, "Reshape", "z1,line", "r");
  attr_ints(node(&a, "MaxPool", "r", "out"), "kernel_shape", SHAPE(2,));
  ask(&a, "out");
  applies_not(&a, "Theorem 1", "layer /out is no pointwise function");
  applies_not(&a, "Theorem 4", "layer /out is no pointwise function");
  applies_not(&a, "Theorem 5", "layer /out is not W z + b");
  applies_not(&a, "N-1", "layer /out is no pointwise function");
  applies(&a, "Theorem 6", CLARKE_YES, "shared biases, trivial maxpools and one lambda for each layer");
  asked_end(&a);
}
END_TEST

/* Where nothing is touched a profile need not say what AD takes. */
START_TEST(a_theorem_is_open_where_the_profile_is_silent)
{
  asked a;

  asked_begin(&a, 1, 2, one_point);
  a.profile = "like jax-0.10\n";
  add_layer(&a, "1", "x", NULL, SHAPE(2, 2,), NUMBERS(1, 2, 1, 2), 2, NUMBERS(3, 3));
  weight(&a, "low", SHAPE(), NUMBERS(-1));
  node(&a, "Clip", "y1,low", "z1");
  a.wrt = "W1,b1";
  ask(&a, "z1");
  applies(&a, "Theorem 1", CLARKE_UNKNOWN, "the profile has no proxy at a kink of layer /z1");
  applies(&a, "Theorem 4", CLARKE_UNKNOWN, "the profile has no proxy at a kink of layer /z1");
  applies(&a, "Theorem 5", CLARKE_UNKNOWN, "the profile has no proxy at a kink of layer /z1");
  applies(&a, "Theorem 6", CLARKE_UNKNOWN, "the profile has no proxy at a kink of layer /z1");
  applies(&a, "N-1", CLARKE_UNKNOWN, "the profile has no proxy at a kink of layer /z1");
  asked_end(&a);
}
END_TEST

/* --- Theorems 4 and 6 ------------------------------------------------------------------------------------------ */

/* Lemma 3's network: x + b at both kinks of a hardtanh, whose gradients nearby are all 1. */
START_TEST(theorem_4_takes_one_lambda_for_both_kinks)
{
  static const struct {
    const char *profile;
    clarke_truth holds;
    clarke_verdict verdict;
  } proxies[] = {
    {"Clip 0 1\nClip 1 0\n", CLARKE_YES, CLARKE_IN_BOULIGAND},
    {"Clip 0 0\nClip 1 1\n", CLARKE_YES, CLARKE_IN_BOULIGAND},
    {"Clip 0 1/4\nClip 1 3/4\n", CLARKE_YES, CLARKE_IN_CLARKE},
    {"Clip 0 1/4\nClip 1 1/2\n", CLARKE_NO, CLARKE_NOT_IN_CLARKE},
    {"Clip 0 0\nClip 1 0\n", CLARKE_NO, CLARKE_NOT_IN_CLARKE},
    {"Clip 0 2\nClip 1 -1\n", CLARKE_NO, CLARKE_IN_BOULIGAND},
  };

  for (size_t i = 0; i < sizeof proxies / sizeof proxies[0]; i++) {
    asked a;
    bool holds = proxies[i].holds == CLARKE_YES;

    both_kinks(&a, proxies[i].profile);
    ck_assert_uint_eq(a.replay.n_touches, 2);
    applies(&a, "Theorem 4", proxies[i].holds, holds ? "distinct biases and one lambda for each layer"
                                                     : "no one lambda gives all proxies of layer /z");
    applies(&a, "Theorem 6", proxies[i].holds,
            holds ? "shared biases, trivial maxpools and one lambda for each layer"
                  : "no one lambda gives all proxies of layer /z");
    if (proxies[i].verdict != CLARKE_IN_BOULIGAND || holds)
      verdict_is(&a, proxies[i].verdict);
    asked_end(&a);
  }
}
END_TEST

/* Two lambdas in one layer are no mix of its two sides. */
START_TEST(two_lambdas_in_one_layer_are_no_mix)
{
  asked a;

  both_kinks(&a, "Clip 0 1/4\nClip 1 1/2\n");
  verdict_is(&a, CLARKE_NOT_IN_CLARKE);
  ck_assert_int_ne(a.audit.evidence, CLARKE_EVIDENCE_MIX);
  asked_end(&a);
  both_kinks(&a, "Clip 0 1/4\nClip 1 3/4\n");
  ck_assert_int_eq(a.audit.evidence, CLARKE_EVIDENCE_MIX);
  ck_assert_uint_eq(a.audit.n_mixed, 1);
  ck_assert_int_eq(mpq_cmp_ui(a.audit.lambda[0], 3, 4), 0);
  asked_end(&a);
}
END_TEST

START_TEST(theorem_4_takes_another_lambda_for_each_layer)
{
  asked a;

  asked_begin(&a, 2, 2, two_points);
  a.profile = "Relu 0 1/3\nAbs 0 1\n";
  add_layer(&a, "1", "x", "Relu", SHAPE(2, 2,), NUMBERS(1, 2, 1, 2), 2, NUMBERS(0, 0));
  add_layer(&a, "2", "z1", "Abs", SHAPE(2, 1,), NUMBERS(1, 3), 1, NUMBERS(0));
  ask(&a, "z2");
  ck_assert_uint_eq(a.replay.n_touches, 6);
  applies(&a, "Theorem 4", CLARKE_YES, "distinct biases and one lambda for each layer");
  verdict_is(&a, CLARKE_IN_CLARKE);
  asked_end(&a);
}
END_TEST

/* Lemma 7: (w + b, b, -w + b, b) in two windows, tied at 0; one of them touched is enough. */
START_TEST(theorem_6_does_not_take_a_touched_pool)
{
  for (int touched = 0; touched < 2; touched++) {
    asked a;

    asked_begin(&a, 1, 1, NUMBERS(1));
    a.profile = "tie MaxPool first\n";
    weight(&a, "W", SHAPE(1, 1,), NUMBERS(touched ? 0 : 1));
    weight(&a, "b", SHAPE(1,), NUMBERS(0));
    weight(&a, "C", SHAPE(1, 4,), NUMBERS(1, 0, -1, 0));
    weight(&a, "D", SHAPE(2, 1,), NUMBERS(1, -1));
    memcpy(model_integers(&a.model, "line", SHAPE(3,)), (const int64_t[]){0, 1, 4}, 24);
    memcpy(model_integers(&a.model, "row", SHAPE(2,)), (const int64_t[]){0, 2}, 16);
    a.wrt = "W,b";
    node(&a, "MatMul", "x,W", "p");
    node(&a, "MatMul", "p,C", "q");
    node(&a, "Add", "q,b", "y");
    node(&a, "Reshape", "y,line", "r");
    clarke_model_node *pool = node(&a, "MaxPool", "r", "m");
    attr_ints(pool, "kernel_shape", SHAPE(2,));
    attr_ints(pool, "strides", SHAPE(2,));
    node(&a, "Reshape", "m,row", "s");
    node(&a, "MatMul", "s,D", "out");
    ask(&a, "out");
    if (touched) {
      applies_not(&a, "Theorem 6", "layer /m has ties that are not trivial");
      ck_assert_uint_eq(layer(&a, "/m")->constraints, 2);
      verdict_is(&a, CLARKE_NOT_IN_CLARKE);
    } else {
      applies(&a, "Theorem 6", CLARKE_YES, "shared biases, trivial maxpools and one lambda for each layer");
      verdict_is(&a, CLARKE_IN_BOULIGAND);
    }
    asked_end(&a);
  }
}
END_TEST

/* --- Theorem 5 --------------------------------------------------------------------------------------------------- */

static const char theorem_5_holds[] = "fully connected; the inputs of every layer with a touched kink are independent";

/* relu(x W) of one neuron, W being 0; no bias. */
static void
ranked(asked *a, size_t samples, size_t width, const double *x)
{
  static const double zero[8] = {0};

  asked_begin(a, samples, width, x);
  add_layer(a, "1", "x", "Relu", SHAPE((long)width, 1,), zero, 0, NULL);
  ask(a, "z1");
  ck_assert_uint_eq(a->replay.n_touches, samples);
  ck_assert(a->audit.layer[0].rank_known);
  ck_assert_uint_eq(a->audit.layer[0].columns, samples);
}

START_TEST(theorem_5_takes_independent_inputs)
{
  asked a;

  ranked(&a, 2, 2, NUMBERS(1, 2, -1, 3));
  ck_assert_uint_eq(a.audit.layer[0].rank, 2);
  applies(&a, "Theorem 5", CLARKE_YES, theorem_5_holds);
  verdict_is(&a, CLARKE_IN_BOULIGAND);
  asked_end(&a);
}
END_TEST

START_TEST(theorem_5_does_not_hold_when_the_rank_is_one_short)
{
  static const struct {
    size_t samples, width, rank;
    double x[9];
  } inputs[] = {
    {2, 2, 1, {1, 2, 2, 4}},
    {2, 2, 1, {0, 0, 1, 1}},
    {3, 2, 2, {1, 2, -1, 3, 1, 1}},
    {3, 3, 2, {1, 0, 1, 0, 1, 1, 1, 1, 2}},
    {2, 2, 1, {1, 1, -1, -1}},
  };

  for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
    asked a;

    ranked(&a, inputs[i].samples, inputs[i].width, inputs[i].x);
    ck_assert_uint_eq(a.audit.layer[0].rank, inputs[i].rank);
    applies(&a, "Theorem 5", CLARKE_NO, "the inputs of layer /z1 are dependent");
    asked_end(&a);
  }
}
END_TEST

START_TEST(theorem_5_asks_only_for_ranks_where_kinks_are_touched)
{
  asked a;

  asked_begin(&a, 2, 2, NUMBERS(1, 2, 2, 4));
  add_layer(&a, "1", "x", "Relu", SHAPE(2, 1,), NUMBERS(1, 1), 1, NUMBERS(1));
  a.all_ranks = true;
  ask(&a, "z1");
  ck_assert(a.audit.layer[0].rank_known);
  ck_assert_uint_eq(a.audit.layer[0].rank, 1);
  applies(&a, "Theorem 5", CLARKE_YES, theorem_5_holds);
  asked_end(&a);
  asked_begin(&a, 2, 2, NUMBERS(1, 2, 2, 4));
  add_layer(&a, "1", "x", "Relu", SHAPE(2, 1,), NUMBERS(1, 1), 1, NUMBERS(1));
  ask(&a, "z1");
  ck_assert(!a.audit.layer[0].rank_known);
  applies(&a, "Theorem 5", CLARKE_YES, theorem_5_holds);
  asked_end(&a);
}
END_TEST

START_TEST(theorem_5_takes_proxies_of_the_clarke_set)
{
  asked a;

  asked_begin(&a, 2, 2, NUMBERS(1, 2, -1, 3));
  a.profile = "Relu 0 3/2\n";
  add_layer(&a, "1", "x", "Relu", SHAPE(2, 1,), NUMBERS(0, 0), 0, NULL);
  ask(&a, "z1");
  applies(&a, "Theorem 5", CLARKE_NO, "a proxy of layer /z1 lies outside its Clarke set");
  asked_end(&a);
  asked_begin(&a, 2, 2, NUMBERS(1, 2, 2, 4)); /* dependent, too */
  a.profile = "Relu 0 3/2\n";
  add_layer(&a, "1", "x", "Relu", SHAPE(2, 1,), NUMBERS(0, 0), 0, NULL);
  ask(&a, "z1");
  applies(&a, "Theorem 5", CLARKE_NO, "a proxy of layer /z1 lies outside its Clarke set");
  asked_end(&a);
}
END_TEST

START_TEST(theorem_5_takes_nothing_but_w_z_and_a_bias)
{
  asked a;

  /* W is another layer's, too. */
  asked_begin(&a, 1, 2, one_point);
  add_layer(&a, "1", "x", "Relu", SHAPE(2, 2,), NUMBERS(1, 2, 1, 2), 0, NULL);
  node(&a, "MatMul", "z1,W1", "p");
  node(&a, "Relu", "p", "out");
  ask(&a, "out");
  applies_not(&a, "Theorem 5", "layer /z1 is not W z + b");
  asked_end(&a);
  /* A residual. */
  asked_begin(&a, 1, 2, one_point);
  add_layer(&a, "1", "x", NULL, SHAPE(2, 2,), NUMBERS(1, 2, 1, 2), 0, NULL);
  node(&a, "Add", "p1,x", "y");
  node(&a, "Relu", "y", "out");
  ask(&a, "out");
  applies_not(&a, "Theorem 5", "layer /out is not W z + b");
  applies_not(&a, "N-1", "layer /out is not W z + b");
  asked_end(&a);
  /* W is not asked about. */
  asked_begin(&a, 1, 2, one_point);
  add_layer(&a, "1", "x", "Relu", SHAPE(2, 2,), NUMBERS(1, 2, 1, 2), 2, NUMBERS(0, 0));
  a.wrt = "b1";
  ask(&a, "z1");
  applies_not(&a, "Theorem 5", "layer /z1 is not W z + b");
  applies_not(&a, "N-1", "layer /z1 is not W z + b");
  asked_end(&a);
}
END_TEST

/* alpha W x + beta b with alpha = 0: nothing of W is left, whatever the rank of the input. */
START_TEST(a_product_times_zero_is_no_weight)
{
  asked a;
  clarke_model_node *gemm;

  asked_begin(&a, 2, 2, NUMBERS(1, 2, -1, 3));
  a.profile = "Relu 0 1/2\n";
  weight(&a, "W", SHAPE(2, 1,), NUMBERS(1, 1));
  weight(&a, "b", SHAPE(1,), NUMBERS(0));
  gemm = node(&a, "Gemm", "x,W,b", "y");
  attr_float(gemm, "alpha", 0);
  node(&a, "Relu", "y", "out");
  ask(&a, "out");
  ck_assert_uint_eq(a.replay.n_touches, 2);
  applies_not(&a, "Theorem 5", "layer /out is not W z + b");
  asked_end(&a);
}
END_TEST

/* Behind a sigmoid no rank is known. */
START_TEST(theorem_5_is_open_where_the_rank_is)
{
  asked a;

  asked_begin(&a, 2, 2, NUMBERS(1, 2, -1, 3));
  add_layer(&a, "1", "x", "Sigmoid", SHAPE(2, 2,), NUMBERS(1, 2, 3, 4), 0, NULL);
  add_layer(&a, "2", "z1", "Relu", SHAPE(2, 1,), NUMBERS(0, 0), 0, NULL);
  ask(&a, "z2");
  ck_assert_uint_eq(a.replay.n_touches, 2);
  ck_assert(!a.audit.layer[0].rank_known);
  applies(&a, "Theorem 5", CLARKE_UNKNOWN, "the rank before layer /z2 is not known");
  asked_end(&a);
}
END_TEST

/* --- Theorem 8 and the global system --------------------------------------------------------------------------- */

static const char theorem_8_holds[] = "P_l is not empty for any layer";
static const char by_the_layers[] = "follows from the layers' systems";

START_TEST(theorem_8_takes_layers_that_have_directions)
{
  asked a;
  const clarke_layer *l;

  two_layers(&a, 2, two_points, 2, 2);
  ask(&a, "out");
  applies(&a, "Theorem 8", CLARKE_YES, theorem_8_holds);
  applies(&a, "global system", CLARKE_YES, by_the_layers);
  applies(&a, "N-1", CLARKE_YES, "every layer is W z + b with two kinks at most, and proxies are one-sided");
  verdict_is(&a, CLARKE_IN_BOULIGAND);
  l = layer(&a, "/z1");
  ck_assert_int_eq(l->feasible, CLARKE_YES);
  ck_assert(l->two_kinks);
  ck_assert_uint_eq(l->neurons, 2);
  ck_assert_uint_eq(l->touched, 4);
  ck_assert_uint_eq(l->moving, 4);
  ck_assert_uint_eq(l->constraints, 4);
  ck_assert_uint_eq(l->variables, 6);
  ck_assert_uint_eq(layer(&a, "/z2")->touched, 2);
  asked_end(&a);
}
END_TEST

/* w x of three samples: at 1, -1 and 2 no direction of w brings all to one side. Two neurons are two blocks. */
START_TEST(theorem_8_fails_where_a_layer_has_no_direction)
{
  asked a;
  const clarke_layer *l;

  asked_begin(&a, 3, 1, NUMBERS(1, -1, 2));
  add_layer(&a, "1", "x", "Relu", SHAPE(1, 3,), NUMBERS(0, 5, 0), 0, NULL);
  ask(&a, "z1");
  ck_assert_uint_eq(a.replay.n_touches, 6);
  applies(&a, "Theorem 8", CLARKE_NO, "P_l of layer /z1 is empty");
  applies(&a, "global system", CLARKE_NO, "no direction realizes AD's pattern to first order");
  l = layer(&a, "/z1");
  ck_assert_int_eq(l->feasible, CLARKE_NO);
  ck_assert(!l->two_kinks);
  ck_assert(l->blocks.known);
  ck_assert_uint_eq(l->blocks.n, 2);
  ck_assert_uint_eq(l->blocks.empty, 2);
  ck_assert_uint_eq(l->blocks.open, 0);
  ck_assert(l->rank_known);
  ck_assert_uint_eq(l->rank, 1);
  ck_assert_uint_eq(l->columns, 3);
  applies(&a, "Theorem 5", CLARKE_NO, "the inputs of layer /z1 are dependent");
  applies_not(&a, "N-1", "layer /z1 is not W z + b");
  asked_end(&a);
}
END_TEST

/* Nothing is asked of a layer that nothing touches. */
START_TEST(a_layer_that_is_not_touched_has_no_system)
{
  asked a;

  asked_begin(&a, 1, 2, one_point);
  add_layer(&a, "1", "x", "Relu", SHAPE(2, 2,), NUMBERS(1, 2, 1, 2), 2, NUMBERS(0, 0));
  add_layer(&a, "2", "z1", "Relu", SHAPE(2, 2,), NUMBERS(1, -1, 3, 2), 2, NUMBERS(4, 5));
  ask(&a, "z2");
  applies(&a, "Theorem 8", CLARKE_YES, theorem_8_holds);
  ck_assert_int_eq(layer(&a, "/z1")->feasible, CLARKE_YES);
  ck_assert(layer(&a, "/z1")->two_kinks);
  ck_assert_int_eq(layer(&a, "/z2")->feasible, CLARKE_UNKNOWN);
  ck_assert(!layer(&a, "/z2")->two_kinks);
  ck_assert(!layer(&a, "/z2")->blocks.known);
  asked_end(&a);
}
END_TEST

/* One neuron has directions, the other none. */
START_TEST(a_block_without_direction_is_counted)
{
  asked a;
  const clarke_layer *l;

  asked_begin(&a, 2, 2, NUMBERS(1, 0, 0, 1));
  weight(&a, "W", SHAPE(2, 1,), NUMBERS(0, 0));
  weight(&a, "V", SHAPE(2, 1,), NUMBERS(0, 0));
  weight(&a, "C", SHAPE(1, 2,), NUMBERS(1, 0));
  weight(&a, "D", SHAPE(1, 2,), NUMBERS(1, -1));
  node(&a, "MatMul", "x,W", "p");
  node(&a, "MatMul", "x,V", "q");
  node(&a, "MatMul", "p,C", "pp");
  node(&a, "MatMul", "q,D", "qq");
  model_node(&a.model, "Concat", "pp,qq", "y");
  attr_int(&a.model.nodes[a.model.n_nodes - 1], "axis", 1);
  node(&a, "Relu", "y", "out");
  a.wrt = "W,V";
  ask(&a, "out");
  l = layer(&a, "/out");
  ck_assert_uint_eq(l->touched, 8);
  ck_assert_uint_eq(l->moving, 8);
  ck_assert_int_eq(l->feasible, CLARKE_NO);
  ck_assert_uint_eq(l->blocks.n, 5); /* the two of W, those of V, and one of what does not move: 0 times x W */
  ck_assert_uint_eq(l->blocks.empty, 3);
  ck_assert_uint_eq(l->blocks.open, 0);
  ck_assert_uint_eq(a.audit.flat, 0);
  asked_end(&a);
}
END_TEST

START_TEST(theorem_8_takes_one_sided_proxies_alone)
{
  asked a;

  two_layers(&a, 1, one_point, 2, 2);
  a.profile = "Relu 0 1/2\n";
  ask(&a, "out");
  applies_not(&a, "Theorem 8", "AD's choice at what is touched in /z1 is no one side");
  applies(&a, "N-1", CLARKE_NO, "a proxy of layer /z2 is no one-sided slope");
  applies(&a, "global system", CLARKE_UNKNOWN, "not asked");
  asked_end(&a);
}
END_TEST

/* Enclosures tell no contradiction: relu(y) + relu(-y), y = u s + v t, s and t behind a sigmoid. Where v is not there, the
 * sign of s is enough. */
START_TEST(theorem_8_is_open_where_a_system_is_not_decided)
{
  for (size_t n = 1; n <= 2; n++) {
    asked a;

    asked_begin(&a, 1, 1, NUMBERS(1));
    add_layer(&a, "1", "x", "Sigmoid", SHAPE(1, n,), NUMBERS(1, 2), 0, NULL);
    add_layer(&a, "2", "z1", NULL, SHAPE(n, 1,), NUMBERS(0, 0), 0, NULL);
    weight(&a, "C", SHAPE(1, 2,), NUMBERS(1, -1));
    node(&a, "MatMul", "p2,C", "y");
    node(&a, "Relu", "y", "out");
    a.wrt = "W1,W2";
    ask(&a, "out");
    ck_assert_uint_eq(a.replay.n_touches, 2);
    ck_assert_int_eq(a.audit.layer[0].feasible, n == 1 ? CLARKE_NO : CLARKE_UNKNOWN);
    ck_assert_uint_eq(a.audit.layer[0].blocks.open, n == 2);
    applies(&a, "Theorem 8", n == 1 ? CLARKE_NO : CLARKE_UNKNOWN,
            n == 1 ? "P_l of layer /out is empty" : "P_l of layer /out was not decided");
    applies(&a, "global system", n == 1 ? CLARKE_NO : CLARKE_UNKNOWN,
            n == 1 ? "no direction realizes AD's pattern to first order" : "neither a direction nor a refutation was found");
    asked_end(&a);
  }
}
END_TEST

/* The second layer's argument is w2 z, z being 0 and w2 not: by w2 alone nothing moves. All parameters at once do. */
START_TEST(the_global_system_decides_more)
{
  asked a;

  asked_begin(&a, 1, 1, NUMBERS(1));
  a.profile = "LeakyRelu 0 left\n";
  add_layer(&a, "1", "x", "LeakyRelu", SHAPE(1, 1,), NUMBERS(0), 0, NULL);
  add_layer(&a, "2", "z1", "LeakyRelu", SHAPE(1, 1,), NUMBERS(1), 0, NULL);
  ask(&a, "z2");
  ck_assert_uint_eq(a.replay.n_touches, 2);
  applies(&a, "Theorem 8", CLARKE_NO, "P_l of layer /z2 is empty");
  applies(&a, "global system", CLARKE_YES, "one direction in all parameters realizes AD's pattern");
  verdict_is(&a, CLARKE_IN_BOULIGAND);
  ck_assert_int_eq(layer(&a, "/z1")->feasible, CLARKE_YES);
  ck_assert_int_eq(layer(&a, "/z2")->feasible, CLARKE_NO);
  asked_end(&a);
}
END_TEST

/* b alone, the last layer's closed form, moves the layer before it to the wrong side; w and b, by the last layer's system, move
 * both to the left: 3 w - b and w + b. The global system is not needed. */
START_TEST(a_system_is_asked_where_a_closed_form_misses)
{
  asked a;

  asked_begin(&a, 1, 1, NUMBERS(1));
  weight(&a, "w", SHAPE(1, 1,), NUMBERS(0));
  weight(&a, "b", SHAPE(1,), NUMBERS(0));
  weight(&a, "three", SHAPE(1, 1,), NUMBERS(3));
  node(&a, "MatMul", "x,w", "p");
  node(&a, "MatMul", "p,three", "q");
  node(&a, "Sub", "q,b", "u");
  node(&a, "Relu", "u", "z");
  node(&a, "Add", "p,b", "y");
  node(&a, "Relu", "y", "v");
  node(&a, "Add", "z,v", "out");
  a.wrt = "w,b";
  ask(&a, "out");
  ck_assert_uint_eq(a.replay.n_touches, 2);
  verdict_is(&a, CLARKE_IN_BOULIGAND);
  ck_assert(!a.audit.global_tried);
  asked_end(&a);
}
END_TEST

/* Parameters of two layers are no w_l: each has a direction of its own, and AD is right about neither. */
START_TEST(theorem_8_does_not_take_tied_weights)
{
  asked a;

  asked_begin(&a, 1, 2, NUMBERS(1, -1));
  a.profile = "Relu 0 0\nAbs 0 1\n";
  weight(&a, "W", SHAPE(2, 1,), NUMBERS(1, 1));
  weight(&a, "one", SHAPE(1, 1,), NUMBERS(2));
  node(&a, "MatMul", "x,W", "y");
  node(&a, "MatMul", "y,one", "v");
  node(&a, "Relu", "y", "z");
  node(&a, "Abs", "v", "u");
  node(&a, "Sub", "z,u", "out");
  a.wrt = "W";
  ask(&a, "out");
  ck_assert_int_eq(layer(&a, "/z")->feasible, CLARKE_YES);
  ck_assert_int_eq(layer(&a, "/u")->feasible, CLARKE_YES);
  applies_not(&a, "Theorem 8", "parameters of layer /u move what is before it, too");
  applies(&a, "global system", CLARKE_NO, "no direction realizes AD's pattern to first order");
  verdict_is(&a, CLARKE_NOT_IN_CLARKE);
  asked_end(&a);
}
END_TEST

/* sigmoid(w) + sigmoid(-w) - 1 is 0, which enclosures do not tell: what is touched is not known. */
START_TEST(theorems_on_what_is_touched_are_open_where_that_is)
{
  asked a;

  asked_begin(&a, 1, 1, NUMBERS(1));
  add_layer(&a, "1", "x", NULL, SHAPE(1, 1,), NUMBERS(1), 0, NULL);
  weight(&a, "C", SHAPE(1, 2,), NUMBERS(1, -1));
  weight(&a, "D", SHAPE(2, 1,), NUMBERS(1, 1));
  weight(&a, "b", SHAPE(1,), NUMBERS(-1));
  node(&a, "MatMul", "p1,C", "q");
  node(&a, "Sigmoid", "q", "s");
  node(&a, "MatMul", "s,D", "t");
  node(&a, "Add", "t,b", "y");
  node(&a, "Relu", "y", "out");
  ask(&a, "out");
  ck_assert_uint_eq(a.replay.n_touches, 0);
  ck_assert_uint_gt(a.replay.open, 0);
  ck_assert(!clarke_replay_knows(&a.replay, layer(&a, "/out")->step));
  verdict_is(&a, CLARKE_UNDECIDED);
  applies(&a, "Theorem 1", CLARKE_YES, theorem_1_holds);
  applies(&a, "Theorem 5", CLARKE_UNKNOWN, "some arguments could not be told from their kinks");
  applies(&a, "Theorem 6", CLARKE_YES, "shared biases, trivial maxpools and one lambda for each layer");
  applies(&a, "Theorem 8", CLARKE_UNKNOWN, "some arguments could not be told from their kinks");
  asked_end(&a);
}
END_TEST

START_TEST(n_1_takes_both_kinks_of_a_relu6)
{
  asked a;

  asked_begin(&a, 2, 1, NUMBERS(0, 3));
  a.profile = "Clip 0 0\nClip 1 0\n";
  weight(&a, "W", SHAPE(1, 1,), NUMBERS(2));
  weight(&a, "b", SHAPE(1,), NUMBERS(0));
  weight(&a, "low", SHAPE(), NUMBERS(0));
  weight(&a, "high", SHAPE(), NUMBERS(6));
  node(&a, "MatMul", "x,W", "p");
  node(&a, "Add", "p,b", "y");
  node(&a, "Clip", "y,low,high", "z");
  a.wrt = "W,b";
  ask(&a, "z");
  ck_assert_uint_eq(a.replay.n_touches, 2);
  applies(&a, "N-1", CLARKE_YES, "every layer is W z + b with two kinks at most, and proxies are one-sided");
  applies(&a, "Theorem 4", CLARKE_NO, "no one lambda gives all proxies of layer /z");
  ck_assert(layer(&a, "/z")->two_kinks);
  verdict_is(&a, CLARKE_IN_BOULIGAND);
  asked_end(&a);
}
END_TEST

/* --- what blocks of a layer's system may be taken for ------------------------------------------------------------ */

enum { MANY = 210 }; /* samples, more than the patterns can be listed of: most are 0, and touch flat kinks */

/* So many samples, the first few as given; targets likewise. */
static void
many_samples(asked *a, size_t width, size_t n, const double *x, const double *y)
{
  double all[MANY * 2] = {0}, targets[MANY] = {0};

  memcpy(all, x, n * width * sizeof *x);
  memcpy(targets, y, n * sizeof *y);
  asked_begin(a, MANY, width, all);
  asked_targets(a, targets);
}

static void
no_simplices(const asked *a, clarke_verdict verdict)
{
  ck_assert_uint_gt(a->replay.n_touches, 200);
  verdict_is(a, verdict);
  ck_assert_uint_eq(a->audit.n_simplices, 0);
}

/* Two layers of relu(w) and relu(-w): with these targets the gradients are -4 and 2 (times 1/210) in one, 2 and -4 in the other,
 * AD's 0 among each one's; but the sum's are -2 and -2. With parameters of their own AD is right. */
START_TEST(blocks_that_share_parameters_are_not_surrounded_apart)
{
  for (int apart = 0; apart < 2; apart++) {
    asked a;

    many_samples(&a, 2, 4, NUMBERS(1, 0, -1, 0, 0, 1, 0, -1), NUMBERS(2, 1, 1, 2));
    a.profile = "Relu 0 0\n";
    weight(&a, "w", SHAPE(1, 1,), NUMBERS(0));
    weight(&a, "v", SHAPE(1, 1,), NUMBERS(0));
    weight(&a, "left", SHAPE(2, 1,), NUMBERS(1, 0));
    weight(&a, "right", SHAPE(2, 1,), NUMBERS(0, 1));
    node(&a, "MatMul", "x,left", "s");
    node(&a, "MatMul", "x,right", "t");
    node(&a, "MatMul", "s,w", "y");
    node(&a, "MatMul", apart ? "t,v" : "t,w", "u");
    node(&a, "Relu", "y", "z");
    node(&a, "Relu", "u", "q");
    node(&a, "Sub", "z,q", "out");
    a.wrt = apart ? "w,v" : "w";
    ask(&a, "out");
    if (apart) {
      verdict_is(&a, CLARKE_IN_CLARKE);
      ck_assert_int_eq(a.audit.evidence, CLARKE_EVIDENCE_SIMPLICES);
      ck_assert_uint_eq(a.audit.n_simplices, 2);
    } else
      no_simplices(&a, CLARKE_NOT_IN_CLARKE);
    asked_end(&a);
  }
}
END_TEST

/* relu(w) and relu(-w) are surrounded; relu(v), which stands for itself, goes to AD's side by a direction. */
START_TEST(a_block_with_a_direction_is_not_surrounded)
{
  asked a;

  many_samples(&a, 2, 3, NUMBERS(1, 0, -1, 0, 0, 1), NUMBERS(2, 1, 1));
  weight(&a, "w", SHAPE(2, 1,), NUMBERS(0, 0));
  node(&a, "MatMul", "x,w", "y");
  node(&a, "Relu", "y", "out");
  a.wrt = "w";
  ask(&a, "out");
  verdict_is(&a, CLARKE_IN_CLARKE);
  ck_assert_int_eq(a.audit.evidence, CLARKE_EVIDENCE_SIMPLICES);
  ck_assert_uint_eq(a.audit.n_simplices, 1);
  ck_assert_uint_eq(a.audit.simplex[0].n_touches, 2);
  ck_assert_uint_eq(a.audit.others.n, 1);
  asked_end(&a);
}
END_TEST

/* b, -b, u v + b and -u v - b in one layer: the last two are not affine, and AD's 0 is wrong in them. */
START_TEST(a_block_is_surrounded_whole)
{
  asked a;

  many_samples(&a, 2, 4, NUMBERS(0, 1, 0, -1, 1, 1, -1, -1), NUMBERS(1, 1, 1, -1));
  weight(&a, "left", SHAPE(2, 1,), NUMBERS(1, 0));
  weight(&a, "right", SHAPE(2, 1,), NUMBERS(0, 1));
  weight(&a, "u", SHAPE(1, 1,), NUMBERS(1));
  weight(&a, "v", SHAPE(1, 1,), NUMBERS(0));
  weight(&a, "b", SHAPE(1, 1,), NUMBERS(0));
  node(&a, "MatMul", "x,left", "s");
  node(&a, "MatMul", "x,right", "t");
  node(&a, "MatMul", "s,u", "h");
  node(&a, "MatMul", "h,v", "p");
  node(&a, "MatMul", "t,b", "q");
  node(&a, "Add", "p,q", "y");
  node(&a, "Relu", "y", "out");
  a.wrt = "u,v,b";
  ask(&a, "out");
  no_simplices(&a, CLARKE_UNDECIDED);
  asked_end(&a);
}
END_TEST

/* The gradients of one layer are -2 and 4 (times 1/210), AD's 0 among them; the other has relu(w), whose side only w could bring
 * about, and which adds 6: the sum's are 4 and 4. w is one entry of several, the others being of no use here. */
START_TEST(other_touches_leave_the_blocks_parameters_alone)
{
  for (int entry = 0; entry < 3; entry++) {
    asked a;
    double pick[3] = {0};

    pick[entry] = 1;
    many_samples(&a, 2, 3, NUMBERS(1, 0, -1, 0, 0, 1), NUMBERS(1, 2, 3));
    weight(&a, "first", SHAPE(2, 1,), NUMBERS(0, 0));
    weight(&a, "w", SHAPE(1, 3,), NUMBERS(0, 0, 0));
    weight(&a, "pick", SHAPE(3, 1,), pick);
    weight(&a, "left", SHAPE(2, 1,), NUMBERS(1, 0));
    weight(&a, "right", SHAPE(2, 1,), NUMBERS(0, 1));
    node(&a, "MatMul", "x,left", "s");
    node(&a, "MatMul", "x,right", "t");
    node(&a, "MatMul", "s,w", "ys");
    node(&a, "MatMul", "t,w", "us");
    node(&a, "MatMul", "ys,pick", "y");
    node(&a, "MatMul", "us,pick", "u");
    node(&a, "Relu", "y", "z");
    node(&a, "Relu", "u", "q");
    node(&a, "Sub", "z,q", "r");
    node(&a, "MatMul", "x,first", "v");
    node(&a, "Add", "r,v", "out");
    a.wrt = "first,w";
    ask(&a, "out");
    no_simplices(&a, CLARKE_NOT_IN_CLARKE);
    asked_end(&a);
  }
}
END_TEST

/* relu(w) and relu(-w) of each of so many filters: all are surrounded, or no verdict rests on some of them. Two thirds of this
 * program's time: of what is drawn, as far as sanitizers are concerned. */
START_TEST(so_many_blocks_are_surrounded)
{
  for (long filters = 63; filters <= 64; filters++) {
    asked a;
    double ones[64];
    static const double zeros[64];

    for (size_t j = 0; j < 64; j++)
      ones[j] = 1;
    many_samples(&a, 1, 2, NUMBERS(1, -1), NUMBERS(1, 1));
    weight(&a, "w", SHAPE(1, filters,), zeros);
    weight(&a, "v", SHAPE(filters, 1,), ones);
    node(&a, "MatMul", "x,w", "p");
    node(&a, "Relu", "p", "z");
    node(&a, "MatMul", "z,v", "out");
    a.wrt = "w";
    ask(&a, "out");
    if (filters == 63) {
      verdict_is(&a, CLARKE_IN_CLARKE);
      ck_assert_uint_eq(a.audit.n_simplices, 63);
    } else
      verdict_is(&a, CLARKE_UNDECIDED);
    asked_end(&a);
  }
}
END_TEST

/* |y| of as many layers, all at the same mix of their sides: b_1 + ... + b_k, the Abs of each sum being the next one's summand. */
START_TEST(a_mix_is_of_ten_layers_at_most)
{
  for (int layers = 10; layers <= 11; layers++) {
    asked a;

    asked_begin(&a, 1, 1, NUMBERS(0));
    a.profile = "Abs 0 1/2\n";
    for (int i = 0; i < layers; i++) {
      char in[16], bias[16], sum[16], operands[40];

      snprintf(in, sizeof in, i == 0 ? "x" : "z%d", i);
      snprintf(bias, sizeof bias, "b%d", i);
      snprintf(sum, sizeof sum, "y%d", i);
      weight(&a, bias, SHAPE(1,), NUMBERS(0));
      snprintf(operands, sizeof operands, "%s,%s", in, bias);
      node(&a, "Add", operands, sum);
      snprintf(in, sizeof in, "z%d", i + 1);
      node(&a, "Abs", sum, in);
    }
    ask(&a, layers == 10 ? "z10" : "z11");
    ck_assert_uint_eq(a.replay.n_touches, (size_t)layers);
    if (layers == 10) {
      verdict_is(&a, CLARKE_IN_CLARKE);
      ck_assert_int_eq(a.audit.evidence, CLARKE_EVIDENCE_MIX);
      ck_assert_uint_eq(a.audit.n_mixed, 10);
      ck_assert_uint_eq(a.audit.n_cells, 1024);
    } else
      ck_assert_int_ne(a.audit.evidence, CLARKE_EVIDENCE_MIX);
    asked_end(&a);
  }
}
END_TEST

/* --- what the gradient goes through --------------------------------------------------------------------------------- */

/* relu(w) and relu(-w), then the named function of both. By Softmax the loss falls on either side, and AD says 0. By Tanh it rises on
 * one and falls on the other, so that 0 lies between; of a normalization there is no bound. */
START_TEST(bounds_go_through_functions_but_no_normalizations)
{
  static const char *const functions[] = {"Identity", "Tanh", "Softmax", "LayerNormalization"};

  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    asked a;
    bool piecewise;
    clarke_model_node *f;

    many_samples(&a, 1, 2, NUMBERS(1, -1), NUMBERS(1, 2));
    weight(&a, "w", SHAPE(1, 1,), NUMBERS(0));
    weight(&a, "C", SHAPE(1, 2,), NUMBERS(1, -3));
    weight(&a, "D", SHAPE(2, 1,), NUMBERS(1, 2));
    weight(&a, "S", SHAPE(2,), NUMBERS(1, 1));
    weight(&a, "B", SHAPE(2,), NUMBERS(4, 0));
    node(&a, "MatMul", "x,w", "p");
    node(&a, "Relu", "p", "z");
    node(&a, "MatMul", "z,C", "q");
    node(&a, "Add", "q,B", "r");
    f = node(&a, functions[i], i == 3 ? "r,S" : "r", "s");
    if (i >= 2)
      attr_int(f, "axis", -1);
    node(&a, "MatMul", "s,D", "out");
    a.wrt = "w";
    ask(&a, "out");
    OK(clarke_graph_is_piecewise(&piecewise, &a.graph, &error));
    ck_assert_int_eq(piecewise, i == 0);
    if (i > 0)
      no_simplices(&a, i == 2 ? CLARKE_NOT_IN_CLARKE : CLARKE_IN_CLARKE);
    ck_assert_int_eq(a.audit.evidence == CLARKE_EVIDENCE_BALANCE, i == 1 || i == 3); /* which goes through all of them */
    asked_end(&a);
  }
}
END_TEST

/* Two layers that share their weight w = 0, their inputs behind a function: LeakyRelu(f(x) w), then of that plus f(x) w. Of
 * each layer's own system d = -1 is a direction. Moved along it, the first layer's output turns the second's argument
 * round: where the rows are enclosures, it is no proof that the second's has one. (f(x) and w have two entries: of a row
 * of one the sign would be known.) */
START_TEST(a_direction_of_enclosed_rows_is_tried)
{
  static const struct {
    const char *function;
    double alpha;
    clarke_truth second;
  } cases[] = {{"Identity", 0.5, CLARKE_YES}, {"Sigmoid", 0.5, CLARKE_YES},
               {"Identity", -3, CLARKE_YES},  {"Sigmoid", -3, CLARKE_UNKNOWN}};

  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    asked a;

    asked_begin(&a, 1, 2, NUMBERS(1, 2));
    a.profile = "LeakyRelu 0 left";
    weight(&a, "w", SHAPE(2, 1,), NUMBERS(0, 0));
    node(&a, cases[i].function, "x", "s");
    node(&a, "MatMul", "s,w", "p");
    attr_float(node(&a, "LeakyRelu", "p", "z"), "alpha", cases[i].alpha);
    node(&a, "Add", "z,p", "q");
    attr_float(node(&a, "LeakyRelu", "q", "out"), "alpha", cases[i].alpha);
    a.wrt = "w";
    ask(&a, "out");
    ck_assert_uint_eq(a.audit.n_layers, 2);
    ck_assert_int_eq(a.audit.layer[0].feasible, CLARKE_YES);
    ck_assert_int_eq(a.audit.layer[1].feasible, cases[i].second);
    asked_end(&a);
  }
}
END_TEST

int
main(void)
{
  const TTest *const tests[] = {
    a_direction_of_enclosed_rows_is_tried,
    theorem_1_takes_one_sample_with_distinct_biases,
    theorem_1_takes_any_proxy_in_the_clarke_set,
    theorem_1_takes_a_lambda_for_each_kink,
    theorem_1_does_not_take_two_samples,
    theorem_1_does_not_take_a_shared_bias,
    theorem_1_does_not_take_a_layer_without_bias,
    lemma_2_is_no_case_of_theorem_1,
    theorem_1_does_not_take_a_bias_that_is_not_asked_about,
    no_theorem_on_biases_takes_one_used_twice,
    no_theorem_takes_two_functions_of_one_sum,
    theorem_1_does_not_take_a_pool,
    a_theorem_is_open_where_the_profile_is_silent,
    theorem_4_takes_one_lambda_for_both_kinks,
    two_lambdas_in_one_layer_are_no_mix,
    theorem_4_takes_another_lambda_for_each_layer,
    theorem_6_does_not_take_a_touched_pool,
    theorem_5_takes_independent_inputs,
    theorem_5_does_not_hold_when_the_rank_is_one_short,
    theorem_5_asks_only_for_ranks_where_kinks_are_touched,
    theorem_5_takes_proxies_of_the_clarke_set,
    theorem_5_takes_nothing_but_w_z_and_a_bias,
    a_product_times_zero_is_no_weight,
    theorem_5_is_open_where_the_rank_is,
    theorem_8_takes_layers_that_have_directions,
    theorem_8_fails_where_a_layer_has_no_direction,
    a_layer_that_is_not_touched_has_no_system,
    a_block_without_direction_is_counted,
    a_block_with_a_direction_is_not_surrounded,
    theorem_1_takes_a_bias_in_another_order,
    theorem_1_takes_filters_of_one_place,
    theorem_8_takes_one_sided_proxies_alone,
    theorem_8_is_open_where_a_system_is_not_decided,
    the_global_system_decides_more,
    a_system_is_asked_where_a_closed_form_misses,
    theorem_8_does_not_take_tied_weights,
    theorems_on_what_is_touched_are_open_where_that_is,
    n_1_takes_both_kinks_of_a_relu6,
    blocks_that_share_parameters_are_not_surrounded_apart,
    a_block_is_surrounded_whole,
    other_touches_leave_the_blocks_parameters_alone,
    a_mix_is_of_ten_layers_at_most,
    bounds_go_through_functions_but_no_normalizations,
  };
  TCase *tcase = tests_of("audit-theorems");

  for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
    tcase_add_test(tcase, tests[i]);
  if (draw_count(4) == 4)
    tcase_add_test(tcase, so_many_blocks_are_surrounded);
  return run_tests();
}
