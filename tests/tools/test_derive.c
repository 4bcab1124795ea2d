/* clarke derive as its users meet it: the report's keys and what they hold for programs whose sets
 * are known by hand, points of every spelling, sweeps, the printed program, networks, proofs, and
 * messages. */
#include "../format/files.h"
#include "report.h"

#include <math.h>

static void
save(const char *name, const char *text)
{
  bytes b = {NULL, 0};

  put_text(&b, text);
  save_bytes(folder, name, &b);
}

/* What key holds, against JSON text. */
static void
holds(const json_t *j, const char *key, const char *expected)
{
  json_t *wanted = json_loads(expected, JSON_DECODE_ANY, NULL);
  const json_t *found = json_object_get(j, key);
  char *text;

  ck_assert_msg(wanted != NULL, "the test's own '%s' is no JSON", expected);
  ck_assert_msg(found != NULL, "no key '%s'", key);
  text = json_dumps(found, JSON_ENCODE_ANY | JSON_COMPACT);
  ck_assert_msg(json_equal(found, wanted), "%s is %s, not %s", key, text, expected);
  free(text);
  json_decref(wanted);
}

/* --- the folder's own files ------------------------------------------------------------------- */

static void
save_programs(void)
{
  save("lemma2.prog", "input w\noutput relu(w) - relu(-w)\n");
  save("mean.txt", "tie TopK mean\n");
  save("relu2.prog", "input t\nlet a = relu(-t)   # a kink\noutput a + t\n");
  save("zero.prog", "# relu2 less relu\ninput t\noutput relu(-t) + t - relu(t)\n");
  save("two.prog", "input x[2]\noutput max(x[0], x[1]), x[0] * x[1]\n");
  save("branch.prog", "input x, y\noutput if x >= y then 2 * x else x + y\n");
  save("abs.prog", "input t\noutput abs(t)\npiece t if t >= 0\npiece -t if t < 0\n");
  save("wrong.prog", "input t\noutput abs(t)\npiece t if t >= 0\npiece t if t < 0\n");
  save("log.prog", "input t\noutput log(t)\n");
  save("exp.prog", "input t\noutput exp(t) * relu(t)\n");
  save("mixed.prog", "input x[2], s\noutput relu6{1}(s) * x[0] + x[1]\n");
  save("open.prog", "input t\noutput relu(sin(t) * sin(t) + cos(t) * cos(t) - 1)\n");
  save("broken.prog", "input t\noutput relu(t\n");
  save("square.prog", "input t\noutput t * t\n");
}

static void
save_arrays(void)
{
  clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(2,)), s = tensor_of("s", CLARKE_I64, SHAPE());
  clarke_tensor two = tensor_of("x", CLARKE_F64, SHAPE(2, 1,));

  x.real[0] = 0.1;
  x.real[1] = -3;
  s.integer[0] = 6;
  save_batch(folder, "point.npz", &x, &s);
  save_batch(folder, "only-x.npz", &x, NULL);
  save_batch(folder, "two-samples.npz", &two, NULL);
  clarke_tensor_clear(&x);
  clarke_tensor_clear(&s);
  clarke_tensor_clear(&two);
}

static void
begin(void)
{
  make_folder("derive");
  save_programs();
  save_arrays();
}

/* --- one point -------------------------------------------------------------------------------- */

START_TEST(lemma_2)
{
  json_t *j;
  const json_t *touched;

  ck_assert_int_eq(run(CLARKE " derive lemma2.prog --at w=0 --json"), 1);
  j = report();
  holds(j, "value", "\"0\"");
  holds(j, "ad", "[\"0\"]");
  holds(j, "profile", "\"pytorch-2.13\"");
  holds(j, "semantics", "\"real\"");
  holds(j, "at", "{\"w\": [\"0\"]}");
  holds(j, "bouligand", "[[\"1\"]]");
  holds(j, "clarke", "[[\"1\"]]");
  holds(j, "conservative", "[[\"0\"], [\"2\"]]");
  holds(j, "conservative_singleton", "false");
  holds(j, "selection", "null");
  holds(j, "associated", "null");
  holds(j, "representation", "null");
  holds(j, "least", "[\"1\"]");
  holds(j, "differentiable", "true");
  holds(j, "zone", "\"bifurcation\"");
  holds(j, "verdict", "\"not-in-clarke\"");
  ck_assert_ptr_nonnull(json_string_value(json_object_get(j, "why")));
  ck_assert_ptr_null(json_object_get(j, "float"));
  ck_assert_ptr_null(json_object_get(j, "realized"));
  touched = json_object_get(j, "touched");
  ck_assert_uint_eq(json_array_size(touched), 2);
  holds(json_array_get(touched, 0), "node", "\"relu at line 2, column 8\"");
  holds(json_array_get(touched, 1), "node", "\"relu at line 2, column 18\"");
  holds(json_array_get(touched, 1), "argument", "\"0\"");
  holds(json_array_get(touched, 1), "slopes", "[\"0\", \"1\"]");
  holds(json_array_get(touched, 1), "proxy", "\"0\"");
  json_decref(j);
  ck_assert_int_eq(run(CLARKE " derive lemma2.prog --at w=0"), 1);
  file_says("out", "lemma2.prog at w = 0|AD             0\n|Bouligand      {1}\n|"
            "Clarke         {1}\n|conservative   [0, 2]\n|relu at line 2, column 18: argument 0|"
            "not-in-clarke|NOT|Reason");
  ck_assert(is_empty("err"));
}
END_TEST

/* The profile decides what AD returns, nothing else. */
START_TEST(profiles)
{
  save("half.profile", "Relu 0 1/2\n");
  ck_assert_int_eq(run(CLARKE " derive lemma2.prog --at w=0 --json -P ./half.profile"), 0);
  json_t *j = report();

  holds(j, "ad", "[\"1\"]");
  holds(j, "bouligand", "[[\"1\"]]");
  holds(j, "verdict", "\"in-bouligand\"");
  holds(json_array_get(json_object_get(j, "touched"), 0), "proxy", "\"1/2\"");
  json_decref(j);
  ck_assert_int_eq(run(CLARKE " derive abs.prog --at t=0 --json -P jax"), 0);
  j = report();
  holds(j, "profile", "\"jax-0.10\"");
  holds(j, "ad", "[\"1\"]");
  json_decref(j);
}
END_TEST

START_TEST(relu2_and_zero)
{
  json_t *j;

  ck_assert_int_eq(run(CLARKE " derive relu2.prog --at t=0 --json"), 0);
  j = report();
  holds(j, "ad", "[\"1\"]");
  holds(j, "clarke", "[[\"0\"], [\"1\"]]");
  holds(j, "least", "[\"0\"]");
  holds(j, "differentiable", "false");
  holds(j, "verdict", "\"in-bouligand\"");
  json_decref(j);
  ck_assert_int_eq(run(CLARKE " derive zero.prog --at t=0 --json"), 1);
  j = report();
  holds(j, "ad", "[\"1\"]");
  holds(j, "clarke", "[[\"0\"]]");
  holds(j, "differentiable", "true");
  holds(j, "verdict", "\"not-in-clarke\"");
  json_decref(j);
  ck_assert_int_eq(run(CLARKE " derive zero.prog --at t=-1/3 --json"), 0);
  j = report();
  holds(j, "at", "{\"t\": [\"-1/3\"]}");
  holds(j, "touched", "[]");
  holds(j, "conservative", "[[\"0\"]]");
  holds(j, "conservative_singleton", "true");
  holds(j, "zone", "\"regular\"");
  json_decref(j);
}
END_TEST

/* Rows: gradients of the first output, then of the second. */
START_TEST(several_outputs)
{
  json_t *j;
  const json_t *tie;

  ck_assert_int_eq(run(CLARKE " derive two.prog --at x=3/2,1.5 --json"), 0);
  j = report();
  holds(j, "value", "[\"3/2\", \"9/4\"]");
  holds(j, "ad", "[[\"1/2\", \"1/2\"], [\"3/2\", \"3/2\"]]");
  holds(j, "bouligand",
        "[[[\"0\", \"1\"], [\"3/2\", \"3/2\"]], [[\"1\", \"0\"], [\"3/2\", \"3/2\"]]]");
  holds(j, "verdict", "\"in-clarke\"");
  tie = json_array_get(json_object_get(j, "touched"), 0);
  holds(tie, "node", "\"max at line 2, column 8\"");
  holds(tie, "argument", "\"3/2\"");
  holds(tie, "slopes", "[\"0\", \"1\"]");
  holds(tie, "proxy", "[\"1/2\", \"1/2\"]");
  json_decref(j);
  ck_assert_int_eq(run(CLARKE " derive two.prog --at x=3/2,1.5"), 0);
  file_says("out", "value          (3/2, 9/4)\n|[(1/2, 1/2), (3/2, 3/2)]|arguments 0, 1|"
            "conv {[(0, 1), (3/2, 3/2)], [(1, 0), (3/2, 3/2)]}");
}
END_TEST

START_TEST(branches_and_wrt)
{
  json_t *j;
  const json_t *branch;

  ck_assert_int_eq(run(CLARKE " derive branch.prog --at x=1 --at y=1 --json"), 0);
  j = report();
  holds(j, "wrt", "[\"x\", \"y\"]");
  holds(j, "ad", "[\"2\", \"0\"]");
  holds(j, "bouligand", "[[\"1\", \"1\"], [\"2\", \"0\"]]");
  branch = json_array_get(json_object_get(j, "touched"), 0);
  holds(branch, "slopes", "[\"then\", \"else\"]");
  holds(branch, "proxy", "\"then\"");
  json_decref(j);
  ck_assert_int_eq(run(CLARKE " derive branch.prog --at x=1 --at y=1 --json --wrt y"), 0);
  j = report();
  holds(j, "wrt", "[\"y\"]");
  holds(j, "ad", "[\"0\"]");
  holds(j, "bouligand", "[[\"0\"], [\"1\"]]");
  json_decref(j);
}
END_TEST

START_TEST(representations)
{
  json_t *j;

  ck_assert_int_eq(run(CLARKE " derive abs.prog --at t=0 --json"), 0);
  j = report();
  holds(j, "representation", "\"yes\"");
  holds(j, "selection", "[[\"-1\"], [\"1\"]]");
  holds(j, "associated", "[\"1\"]");
  json_decref(j);
  ck_assert_int_eq(run(CLARKE " derive wrong.prog --at t=0 --json"), 0);
  j = report();
  holds(j, "representation", "\"no\"");
  ck_assert_ptr_nonnull(json_string_value(json_object_get(j, "representation_why")));
  json_decref(j);
}
END_TEST

/* Balls: digits that are certain, and no set claimed as a whole that is not one. */
START_TEST(transcendental)
{
  json_t *j;
  const char *digits;

  ck_assert_int_eq(run(CLARKE " derive exp.prog --at t=1 --json"), 0);
  j = report();
  digits = json_string_value(json_array_get(json_object_get(j, "ad"), 0));
  ck_assert_ptr_nonnull(digits);
  ck_assert_double_eq_tol(strtod(digits, NULL), 2 * exp(1), 1e-12);
  digits = json_string_value(json_object_get(j, "value"));
  ck_assert_double_eq_tol(strtod(digits, NULL), exp(1), 1e-12);
  holds(j, "verdict", "\"in-bouligand\"");
  holds(j, "zone", "\"regular\"");
  ck_assert(json_equal(json_object_get(j, "ad"),
                       json_array_get(json_object_get(j, "bouligand"), 0)));
  json_decref(j);
  /* sin^2 + cos^2 - 1 is zero, but no precision says so. */
  ck_assert_int_eq(run(CLARKE " derive open.prog --at t=1 --json"), 3);
  j = report();
  holds(j, "verdict", "\"undecided\"");
  holds(j, "bouligand", "null");
  holds(j, "clarke", "null");
  holds(j, "differentiable", "null");
  json_decref(j);
  ck_assert_int_eq(run(CLARKE " derive open.prog --at t=1"), 3);
  file_says("out", "undecided|not decided|Reason: ");
}
END_TEST

/* float64's 0.1 is not one tenth; braces give the proxy at both kinks of relu6. */
START_TEST(points_from_arrays)
{
  json_t *j;

  ck_assert_int_eq(run(CLARKE " derive mixed.prog --at only-x.npz --at s=6 --json > a"), 0);
  ck_assert_int_eq(run(CLARKE " derive mixed.prog --at point.npz --json > b"), 0);
  ck_assert_int_eq(run("cmp a b && cat b"), 0);
  j = report();
  holds(j, "at", "{\"x\": [\"3602879701896397/36028797018963968\", \"-3\"], \"s\": [\"6\"]}");
  holds(j, "ad", "[\"6\", \"1\", \"3602879701896397/36028797018963968\"]");
  json_decref(j);
  ck_assert_int_eq(run(CLARKE " derive mixed.prog --at x=0.1d,-0x3 --at s=6 --json"), 0);
  json_t *other = report();

  holds(other, "at", "{\"x\": [\"3602879701896397/36028797018963968\", \"-3\"], \"s\": [\"6\"]}");
  json_decref(other);
}
END_TEST

START_TEST(floating_point)
{
  json_t *j;
  const json_t *f;
  float x = 0.1f;
  double y = 0.1;

  ck_assert_int_eq(run(CLARKE " derive square.prog --at t=0.1 --json --float all"), 0);
  j = report();
  holds(j, "value", "\"1/100\"");
  f = json_object_get(j, "float");
  ck_assert_uint_eq(json_object_size(f), 4);
  ck_assert_double_eq(
    strtod(json_string_value(json_object_get(json_object_get(f, "float64"), "value")), NULL),
    y * y);
  ck_assert(strtof(json_string_value(json_object_get(json_object_get(f, "float32"), "value")),
                   NULL) == x * x);
  holds(json_object_get(f, "float32"), "ad", "[\"0.2\"]");
  holds(json_object_get(f, "float32"), "agrees", "false");
  json_decref(j);
  ck_assert_int_eq(run(CLARKE " derive square.prog --at t=0.5 --float float16"), 0);
  file_says("out", "float16        value 0.25, AD 1, the exact AD");
}
END_TEST

/* --- many points ------------------------------------------------------------------------------ */

/* relu2 is relu: its value is the greater of t and 0, its AD 1 also at 0. */
START_TEST(sweeps)
{
  json_t *list;

  ck_assert_int_eq(run(CLARKE " derive relu2.prog --sweep -1:1:1/4 --json"), 0);
  list = report();
  ck_assert_uint_eq(json_array_size(list), 9);
  for (int i = 0; i < 9; i++) {
    static const char *const at[] = {"-1", "-3/4", "-1/2", "-1/4", "0", "1/4", "1/2", "3/4", "1"};
    const json_t *row = json_array_get(list, (size_t)i);

    ck_assert_str_eq(json_string_value(json_object_get(row, "t")), at[i]);
    ck_assert_str_eq(json_string_value(json_object_get(row, "value")), i > 4 ? at[i] : "0");
    holds(row, "ad", i >= 4 ? "[\"1\"]" : "[\"0\"]");
    holds(row, "zone", i == 4 ? "\"bifurcation\"" : "\"regular\"");
    holds(row, "verdict", "\"in-bouligand\"");
  }
  json_decref(list);
  ck_assert_int_eq(run(CLARKE " derive log.prog --sweep t=-1:1:1 --float float32"), 0);
  file_says("out", "t  |value|AD float32|zone|verdict|\n-1 |undefined: log.prog:2|\n1 |regular");
  ck_assert_int_eq(run(CLARKE " derive log.prog --sweep t=-1:1:1 --json"), 0);
  list = report();
  ck_assert_uint_eq(json_array_size(list), 3);
  holds(json_array_get(list, 0), "value", "null");
  holds(json_array_get(list, 2), "value", "\"0\"");
  json_decref(list);
  /* The end is not met exactly. */
  ck_assert_int_eq(run(CLARKE " derive branch.prog --at x=1 --sweep 2:0:-3/2 --json"), 0);
  list = report();
  ck_assert_uint_eq(json_array_size(list), 2);
  holds(json_array_get(list, 1), "t", "\"1/2\"");
  json_decref(list);
}
END_TEST

/* --- other outputs ---------------------------------------------------------------------------- */

/* What a report says, its places in the text aside. */
static json_t *
meaning(const char *program)
{
  json_t *j;

  ck_assert_int_eq(run(CLARKE " derive --json --at t=0 --at s=1,2 %s", program), 0);
  j = report();
  json_object_del(j, "file");
  json_object_del(j, "touched");
  return j;
}

START_TEST(printing)
{
  json_t *before, *after;

  save("loose.prog", "# first\n\ninput   t ,s[ 2 ]\nlet a=( relu( -t ) )# a kink\n"
                     "output (a+(t*2)),s[0]\n");
  ck_assert_int_eq(run(CLARKE " derive --print loose.prog > once.prog"), 0);
  file_says("once.prog", "# first\n|input t, s[2]\n|let a = relu(-t) |# a kink\n|"
                         "output a + t * 2, s[0]\n");
  ck_assert_int_eq(run(CLARKE " derive --print once.prog > twice.prog && cmp once.prog twice.prog"),
                   0);
  before = meaning("loose.prog");
  after = meaning("once.prog");
  ck_assert_uint_gt(json_object_size(before), 10);
  ck_assert(json_equal(before, after));
  json_decref(before);
  json_decref(after);
}
END_TEST

START_TEST(the_same_bytes)
{
  char *first, *second;

  ck_assert_int_eq(run(CLARKE " derive two.prog --at x=1,1 --json --float all"), 0);
  first = text_of("out");
  ck_assert_ptr_null(strstr(first, folder));
  ck_assert_int_eq(run("cd / && " CLARKE " derive --float all --json --at x=1,1 %s/two.prog",
                       folder), 0);
  second = text_of("out");
  ck_assert_str_eq(first, second);
  free(first);
  free(second);
}
END_TEST

START_TEST(figures)
{
  size_t before;

  ck_assert_int_eq(run(CLARKE " derive relu2.prog --at t=0 --plot relu2.svg"), 0);
  file_says("relu2.svg", "<svg|</svg>");
  file_says("out", "in-bouligand");
  ck_assert_int_eq(run(CLARKE " derive abs.prog --sweep -1:1:1/10 --plot abs.svg"), 0);
  file_says("abs.svg", "<svg|</svg>");
  before = files_in_folder();
  ck_assert_int_eq(run(CLARKE " derive two.prog --at x=0,0 --plot two.svg"), 2);
  file_says("err", "--plot");
  ck_assert_int_eq(run(CLARKE " derive abs.prog --at t=0 --plot no/such/folder.svg"), 2);
  ck_assert_uint_eq(files_in_folder(), before);
}
END_TEST

START_TEST(proofs)
{
  size_t before;

  ck_assert_int_eq(run(CLARKE " derive lemma2.prog --at w=0 --proof lemma2.proof"), 1);
  ck_assert_int_eq(run(CHECKER " lemma2.proof"), 0);
  file_says("out", "VERIFIED");
  ck_assert_int_eq(run(CLARKE " derive two.prog --at x=1,1 --proof two.proof"), 0);
  ck_assert_int_eq(run(CHECKER " two.proof"), 0);
  ck_assert_int_eq(run("sed 's/w 0/w 1/' lemma2.proof > moved.proof"), 0);
  ck_assert_int_ne(run(CHECKER " moved.proof"), 0);
  ck_assert_int_eq(run("mkdir other && cp relu2.prog other/lemma2.prog"), 0);
  ck_assert_int_ne(run(CHECKER " lemma2.proof --data other"), 0);
  before = files_in_folder();
  ck_assert_int_eq(run(CLARKE " derive open.prog --at t=1 --proof open.proof"), 3);
  file_says("err", "no proof was written");
  ck_assert_uint_eq(files_in_folder(), before);
}
END_TEST

/* --- AD's own pattern -------------------------------------------------------------------------- */

/* Too many patterns for all: the one that AD follows is followed, whichever side it takes at a kink, a branch, a tie. */
START_TEST(ad_among_too_many)
{
  static const char *const terms[] = {
    "relu{0}(x[@])", "relu{1}(x[@])", "(if x[@] >= 0 then 2 * x[@] else x[@])", "(if x[@] > 0 then 2 * x[@] else x[@])",
    "max{last}(x[@], 0)", "abs{-1}(x[@])", "abs{1}(x[@])", "max{first}(x[@], 0)",
  };
  enum { MANY = 40, TERMS = sizeof terms / sizeof *terms };
  char text[4096] = "input x[40]\noutput 0", zeros[3 * MANY] = "x=0";

  for (size_t k = 0; k < MANY; k++) {
    char *end = text + strlen(text);

    end += sprintf(end, " + ");
    for (const char *c = terms[k % TERMS]; *c != '\0'; c++)
      end += *c == '@' ? sprintf(end, "%zu", k) : sprintf(end, "%c", *c);
    if (k > 0)
      strcat(zeros, ",0");
  }
  strcat(text, "\n");
  save("many.prog", text);
  ck_assert_int_eq(run(CLARKE " derive many.prog --at %s --proof many.proof", zeros), 0);
  file_says("out", "the search was left|in-bouligand|the pattern that AD follows");
  ck_assert_int_eq(run(CHECKER " many.proof"), 0);
}
END_TEST

/* Irrational derivatives are not compared as numbers: AD's pattern is the one that does what AD does. */
START_TEST(ad_where_derivatives_are_irrational)
{
  save("both.prog", "input x, y\nlet e = exp(1)\noutput relu{0}(e*x) + (if x > y then e*(2*x - y) else e*x)"
                    " + max{last}(e*x, e*y) + abs{1}(e*y)\n");
  ck_assert_int_eq(run(CLARKE " derive both.prog --at x=0 --at y=0 --proof both.proof"), 0);
  file_says("out", "in-bouligand|the pattern that AD follows");
  ck_assert_int_eq(run(CHECKER " both.proof"), 0);
  save("equal.prog", "input x\noutput if x == 0 then 3*exp(1)*x else exp(1)*x\n");
  ck_assert_int_eq(run(CLARKE " derive equal.prog --at x=0 --proof equal.proof"), 1);
  ck_assert_int_eq(run(CHECKER " equal.proof"), 0);
  save("half.prog", "input x\noutput exp(1)*relu{1/2}(x)\n");
  ck_assert_int_ne(run(CLARKE " derive half.prog --at x=0"), 1);
  save("outside.prog", "input x\noutput exp(1)*relu{0}(x) - exp(1)*relu{0}(-x)\n");
  ck_assert_int_eq(run(CLARKE " derive outside.prog --at x=0 --proof outside.proof"), 1);
  ck_assert_int_eq(run(CHECKER " outside.proof"), 0);
}
END_TEST

/* --- networks --------------------------------------------------------------------------------- */

START_TEST(networks)
{
  json_t *j;
  const json_t *kink;

  ck_assert_int_eq(run(CLARKE " derive " CASES "/lemma2.onnx --at " CASES "/lemma2.npz --wrt w "
                       "--json"), 1);
  j = report();
  holds(j, "ad", "[\"0\"]");
  holds(j, "bouligand", "[[\"1\"]]");
  holds(j, "wrt", "[\"w\"]");
  kink = json_array_get(json_object_get(j, "touched"), 0);
  holds(kink, "node", "\"Relu 'rho', entry 0\"");
  json_decref(j);
  /* The weight is 0: as a function of the input the network is constant. */
  ck_assert_int_eq(run(CLARKE " derive " CASES "/lemma2.onnx --at " CASES "/lemma2.npz --json"), 0);
  j = report();
  holds(j, "wrt", "[\"x\"]");
  holds(j, "bouligand", "[[\"0\"]]");
  holds(j, "ad", "[\"0\"]");
  json_decref(j);
  /* A list is a point, too; and params all parameters. */
  ck_assert_int_eq(run(CLARKE " derive " CASES "/lemma2.onnx --at 1/3 --wrt params --json"), 1);
  j = report();
  holds(j, "wrt", "[\"w\"]");
  holds(j, "bouligand", "[[\"1/3\"]]");
  json_decref(j);
  /* As a function of both, x w: the kinks' arguments are not affine; no verdict is asked for. */
  ck_assert_int_ne(run(CLARKE " derive " CASES "/lemma2.onnx --at " CASES "/lemma2.npz --wrt w,x "
                       "--json"), 2);
  j = report();
  holds(j, "wrt", "[\"x\", \"w\"]");
  holds(j, "ad", "[\"0\", \"0\"]");
  json_decref(j);
}
END_TEST

/* --- what cannot be asked --------------------------------------------------------------------- */

START_TEST(messages)
{
  static const struct {
    const char *arguments, *message;
  } wrong[] = {
    {"", "a FILE is needed"},
    {"lemma2.prog relu2.prog --at w=0", "one FILE"},
    {"lemma2.prog", "input 'w' has no value|wants w=V|--at w="},
    {"lemma2.prog --at v=0", "'v'|w"},
    {"lemma2.prog --at w=0,1", "w"},
    {"lemma2.prog --at w=zero", "zero"},
    {"lemma2.prog --at w", "w"},
    {"lemma2.prog --at w=0 --at w=1", "w"},
    {"two.prog --at x=1", "x|2"},
    {"branch.prog --at point.npz", "branch.prog has no input 's'"},
    {"branch.prog --at only-x.npz", "'x' has 2 entries, the input has 1"},
    {"mixed.prog --at point.npz --at s=6", "s"},
    {"lemma2.prog --at only-x.npz", "no input 'x'"},
    {"lemma2.prog --at absent.npz", "absent.npz"},
    {"absent.prog --at w=0", "absent.prog"},
    {"point.npz --at w=0", "point.npz|.prog|.onnx"},
    {"broken.prog --at t=0", "broken.prog:"},
    {"broken.prog --print", "broken.prog:"},
    {"log.prog --at t=-1", "log.prog:2:"},
    {"lemma2.prog --at w=0 --wrt v", "'v'"},
    {"lemma2.prog --at w=0 --wrt w,", "wrt: expected names"},
    {"lemma2.prog --at w=0 --profile pytorch-1", "pytorch-1|pytorch-2.13"},
    {"lemma2.prog --at w=0 --float float80", "float80"},
    {"lemma2.prog --sweep 0:1", "A:B:STEP"},
    {"lemma2.prog --sweep 0:1:0", "step is zero"},
    {"lemma2.prog --sweep 0:1:-1", "away"},
    {"lemma2.prog --sweep 0:1:1e-6", "100000"},
    {"lemma2.prog --sweep v=0:1:1", "'v'"},
    {"lemma2.prog --sweep w=0:1:1 --at w=0", "swept"},
    {"branch.prog --sweep 0:1:1", "NAME=A:B:STEP"},
    {"two.prog --sweep x=0:1:1", "2 entries"},
    {"lemma2.prog --sweep 0:1:1 --proof p", "--proof"},
    {CASES "/lemma2.onnx --at " CASES "/lemma2.npz --wrt w,x --proof p", "not to both"},
    {CASES "/lemma2.onnx --at " CASES "/lemma2.npz --print", "--print is for programs"},
    {CASES "/lemma2.onnx --at w=1", "the input is called 'x'"},
    {CASES "/lemma2.onnx --at x=1,2", "the list has 2 numbers; expected 1"},
    {CASES "/lemma2.onnx --at 1..2", "is no number"},
    {CASES "/lemma2.onnx", "the point is one: a file"},
    {CASES "/lemma2.onnx --at two-samples.npz", "2 samples"},
    {CASES "/lemma2.onnx --at " CASES "/lemma2.npz --wrt nothing", "no parameter 'nothing'"},
    {CASES "/../../tests/check/data/input-sorted.onnx --at 0,0,0 --profile mean.txt", "tie TopK first"},
  };
  size_t before = files_in_folder() + 2; /* out and err */

  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    ck_assert_msg(run(CLARKE " derive %s", wrong[i].arguments) == 2, "%s", wrong[i].arguments);
    file_says("err", "clarke derive: ");
    file_says("err", wrong[i].message);
    ck_assert_msg(is_empty("out"), "'%s' printed a report", wrong[i].arguments);
    ck_assert_msg(files_in_folder() == before, "'%s' left a file", wrong[i].arguments);
  }
  ck_assert_int_eq(run(CLARKE " derive lemma2.prog --at w=0 > /dev/full"), 2);
  ck_assert_int_eq(run(CLARKE " derive lemma2.prog --at w=0 --json > /dev/full"), 2);
  ck_assert_int_eq(run(CLARKE " derive lemma2.prog --sweep 0:1:1 > /dev/full"), 2);
  ck_assert_int_eq(run(CLARKE " derive lemma2.prog --print > /dev/full"), 2);
  ck_assert_int_eq(run(CLARKE " derive --help"), 0);
  file_says("out", "--at|--wrt|--sweep|--plot|--float|--proof|--print|Examples|Exit status");
  ck_assert_int_eq(run(CLARKE " --help"), 0);
  file_says("out", "derive");
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("tools-derive");

  tcase_add_checked_fixture(tcase, begin, remove_folder);
  tcase_add_test(tcase, lemma_2);
  tcase_add_test(tcase, profiles);
  tcase_add_test(tcase, relu2_and_zero);
  tcase_add_test(tcase, several_outputs);
  tcase_add_test(tcase, branches_and_wrt);
  tcase_add_test(tcase, representations);
  tcase_add_test(tcase, transcendental);
  tcase_add_test(tcase, points_from_arrays);
  tcase_add_test(tcase, floating_point);
  tcase_add_test(tcase, sweeps);
  tcase_add_test(tcase, printing);
  tcase_add_test(tcase, the_same_bytes);
  tcase_add_test(tcase, figures);
  tcase_add_test(tcase, proofs);
  tcase_add_test(tcase, ad_among_too_many);
  tcase_add_test(tcase, ad_where_derivatives_are_irrational);
  tcase_add_test(tcase, networks);
  tcase_add_test(tcase, messages);
  return run_tests();
}
