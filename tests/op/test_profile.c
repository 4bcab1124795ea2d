/* Profiles: the known tables, files, and what a bad line is told. */
#include "../network/models.h"

#include "op/profile.h"
#include "op/surrogate.h"

#include <unistd.h>

static clarke_error error;

static clarke_status
parse(clarke_profile *p, const char *text)
{
  clarke_profile_init(p);
  return clarke_profile_parse(p, text, strlen(text), "own.profile", &error);
}

/* "left", "right" or the rational; the caller frees it. */
static char *
proxy_text(const clarke_profile *p, const char *op, size_t kink)
{
  const clarke_proxy *q = clarke_profile_find(p, clarke_operator_find(op), kink);

  ck_assert_ptr_nonnull(q);
  return q->kind == CLARKE_PROXY_VALUE  ? mpq_get_str(NULL, 10, q->value)
         : q->kind == CLARKE_PROXY_LEFT ? strdup("left")
                                        : strdup("right");
}

static void
proxy_is(const clarke_profile *p, const char *op, size_t kink, const char *expected)
{
  char *text = proxy_text(p, op, kink);

  ck_assert_str_eq(text, expected);
  free(text);
}

static const char *const profiles[][2] = {
  {"pytorch-2.13", "pytorch-2.13"}, {"pytorch-2.14", "pytorch"}, {"jax-0.10", "jax"}, {"tensorflow-2", "tensorflow"},
};
#define PROFILES (sizeof profiles / sizeof profiles[0])

/* docs/operators.md; NULL: no rule is known */
static const struct {
  const char *op;
  size_t kink;
  const char *proxy[PROFILES];
} table[] = {
  {"Relu", 0, {"0", "0", "0", "0"}},
  {"LeakyRelu", 0, {"left", "left", "right", "left"}},
  {"PRelu", 0, {"left", "left", NULL, "0"}},
  {"Clip", 0, {"0", "0", NULL, NULL}},
  {"Clip", 1, {"0", "0", NULL, NULL}},
  {"Clamp", 0, {"1", "0", "1/2", "1"}},
  {"Clamp", 1, {"1", "0", "1/2", "1"}},
  {"HardSigmoid", 0, {"0", "0", "0", "0"}},
  {"HardSigmoid", 1, {"0", "0", "0", "0"}},
  {"HardSwish", 0, {"left", "left", "0", "0"}},
  {"HardSwish", 1, {"right", "right", "1", "1"}},
  {"Abs", 0, {"0", "0", "1", "0"}},
  {"Elu", 0, {"left", "left", "left", "left"}},
  {"Selu", 0, {"left", "left", "left", NULL}},
  {"GridSample", 0, {"1", "1", NULL, NULL}},
  {"Surrogate", 0, {"1", "1", "1", "1"}},
  {"Surrogate", 1, {"0", "0", "0", "0"}},
};

static const struct {
  const char *op, *rule[PROFILES];
} ties[] = {
  {"Max", {"mean", "mean", "mean", "mean"}},
  {"Min", {"mean", "mean", "mean", "mean"}},
  {"MaxPool", {"first", "first", "first", "first"}},
  {"GlobalMaxPool", {"first", "first", NULL, NULL}},
  {"Maximum", {NULL, "mean", NULL, NULL}},
  {"Minimum", {NULL, "mean", NULL, NULL}},
  {"ReduceMax", {NULL, NULL, "mean", "mean"}},
  {"ReduceMin", {NULL, NULL, "mean", "mean"}},
  {"TopK", {NULL, NULL, NULL, NULL}},
  {"Sorted", {"first", "first", NULL, NULL}},
  {"SharedMax", {"mean", "mean", NULL, NULL}},
  {"SharedMin", {"mean", "mean", NULL, NULL}},
  {"Kth", {"stable", "stable", "stable", "stable"}},
  {"Sort", {"stable", "stable", "stable", "stable"}},
  {"Median", {"stable", "stable", "stable", NULL}},
};

/* The rule in words, as a profile file has it. */
static void
tie_is(const clarke_profile *p, const char *op, const char *expected)
{
  const clarke_tie_rule *r = clarke_profile_tie(p, clarke_operator_find(op));
  char text[128];

  ck_assert_int_eq(clarke_profile_shares(p, clarke_operator_find(op)),
                   expected != NULL && (strcmp(expected, "mean") == 0 || strncmp(expected, "hybrid", 6) == 0));
  if (expected == NULL) {
    ck_assert_ptr_null(r);
    return;
  }
  ck_assert_msg(r != NULL, "%s has no tie rule", op);
  if (r->tie != CLARKE_TIE_FIRST) {
    ck_assert_int_eq(mpq_sgn(r->beta), 0);
    ck_assert_str_eq(r->tie == CLARKE_TIE_LAST ? "last" : "stable", expected);
    return;
  }
  gmp_snprintf(text, sizeof text, "hybrid %Qd", r->beta);
  ck_assert_str_eq(mpq_sgn(r->beta) == 0             ? "first"
                   : mpq_cmp_ui(r->beta, 1, 1) == 0 ? "mean"
                                                    : text,
                   expected);
}

static void
column_is(const clarke_profile *p, size_t column)
{
  for (size_t k = 0; k < sizeof table / sizeof table[0]; k++)
    if (table[k].proxy[column] != NULL)
      proxy_is(p, table[k].op, table[k].kink, table[k].proxy[column]);
    else
      ck_assert_ptr_null(clarke_profile_find(p, clarke_operator_find(table[k].op), table[k].kink));
  for (size_t k = 0; k < sizeof ties / sizeof ties[0]; k++)
    tie_is(p, ties[k].op, ties[k].rule[column]);
  ck_assert_ptr_null(clarke_profile_find(p, clarke_operator_find("Relu"), 1));
  ck_assert_ptr_null(clarke_profile_find(p, clarke_operator_find("Sigmoid"), 0));
  ck_assert_ptr_null(clarke_profile_find(p, clarke_operator_find("Max"), 0));
  ck_assert_ptr_null(clarke_profile_tie(p, clarke_operator_find("Relu")));
}

/* The derivative of a norm of zeros, by the profile's lines. */
START_TEST(norms)
{
  static const struct {
    const char *lines;
    bool nan;
  } files[] = {{"", false}, {"like jax", true}, {"like tensorflow-2", true}, {"like jax\nnorm 0", false},
               {"norm nan", true}, {"norm nan\nnorm 0", false}, {"norm nan # as JAX\n", true}};

  for (size_t k = 0; k < sizeof files / sizeof files[0]; k++) {
    clarke_profile p;

    ck_assert_msg(parse(&p, files[k].lines) == CLARKE_OK, "%s: %s", files[k].lines, error.text);
    ck_assert_msg(p.norm_nan == files[k].nan, "%s", files[k].lines);
    clarke_profile_clear(&p);
  }
}
END_TEST

START_TEST(known_tables)
{
  size_t kinks = 0, orders = 0;
  const clarke_op *op;

  for (size_t c = 0; c < PROFILES; c++)
    for (size_t i = 0; i < 2; i++) {
      clarke_profile p;

      clarke_profile_init(&p);
      ck_assert_int_eq(clarke_profile_load(&p, profiles[c][i], &error), CLARKE_OK);
      ck_assert_str_eq(p.name, profiles[c][0]);
      column_is(&p, c);
      clarke_profile_clear(&p);
    }
  for (size_t i = 0; (op = clarke_operator_at(i)) != NULL; i++) {
    kinks += op->n_kinks;
    orders += op->order;
  }
  ck_assert_uint_eq(kinks, sizeof table / sizeof table[0]); /* the tables above are whole */
  ck_assert_uint_eq(orders, sizeof ties / sizeof ties[0]);
}
END_TEST

/* like NAME, and what a file says beside it. */
START_TEST(like_a_known_one)
{
  for (size_t c = 0; c < PROFILES; c++)
    for (size_t i = 0; i < 2; i++) {
      clarke_profile p;
      char text[200];

      snprintf(text, sizeof text, "# mine\n\nlike %s # the base\n", profiles[c][i]);
      ck_assert_msg(parse(&p, text) == CLARKE_OK, "%s", error.text);
      ck_assert_str_eq(p.name, "own.profile");
      column_is(&p, c);
      clarke_profile_clear(&p);
      strcat(text, "Relu 0 2/7\nClip 1 1\ntie Median hybrid 1/3\n");
      ck_assert_msg(parse(&p, text) == CLARKE_OK, "%s", error.text);
      proxy_is(&p, "Relu", 0, "2/7");
      proxy_is(&p, "Clip", 1, "1"); /* now known, whatever the base knows of it */
      tie_is(&p, "Median", "hybrid 1/3");
      tie_is(&p, "Max", "mean");
      clarke_profile_clear(&p);
    }
}
END_TEST

/* An audit alone takes them. */
START_TEST(surrogates)
{
  static const char *const bad[][2] = {{"surrogate Round", "expected: surrogate OPERATOR RULE"}, {"surrogate Relu all", "called 'Relu'"},
                                       {"surrogate Round range", "'range'"}, {"surrogate BipolarQuant rounded", "'rounded'"},
                                       {"surrogate Quant some", "'some'"}};
  char path[] = "/tmp/clarke-surrogate-XXXXXX";
  const int fd = mkstemp(path);
  clarke_profile p;

  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    ck_assert_int_eq(parse(&p, bad[i][0]), CLARKE_EINPUT);
    says(error.text, bad[i][1]);
    clarke_profile_clear(&p);
  }
  ck_assert(parse(&p, "surrogate Round all\nsurrogate Quant range\nsurrogate Round none") == CLARKE_OK);
  for (size_t i = 0; i < CLARKE_N_SURROGATES; i++)
    ck_assert_int_eq(p.surrogates.rule[i], strcmp(clarke_surrogate_operator(i), "Quant") == 0 ? CLARKE_SURROGATE_RANGE : CLARKE_SURROGATE_NONE);
  ck_assert_int_eq(clarke_profile_check_plain(&p, &error), CLARKE_EINPUT);
  says(error.text, "'surrogate Quant range' makes another function");
  clarke_profile_clear(&p);
  ck_assert_int_eq(write(fd, "surrogate Sign all\n", 19), 19);
  close(fd);
  clarke_profile_init(&p);
  ck_assert_int_eq(clarke_profile_load_surrogates(&p, path, &error), CLARKE_OK);
  clarke_profile_clear(&p);
  clarke_profile_init(&p);
  ck_assert_int_eq(clarke_profile_load(&p, path, &error), CLARKE_EINPUT);
  clarke_profile_clear(&p);
  unlink(path);
}
END_TEST

START_TEST(tie_lines)
{
  static const struct {
    const char *line, *rule;
  } good[] = {
    {"tie Max first", "first"}, {"tie Max last", "last"}, {"tie Max stable", "stable"},
    {"tie Max mean", "mean"}, {"tie Max hybrid 1/2", "hybrid 1/2"},
    {"\ttie  Max hybrid\t0.25 # quarter", "hybrid 1/4"}, {"tie Max hybrid 0", "first"},
    {"tie Max hybrid 2/2", "mean"}, {"tie Max hybrid -3", "hybrid -3"},
    {"tie Max last\ntie Max mean", "mean"}, {"tie Max mean\ntie Max stable", "stable"},
    {"tie Min last", "mean"},
  };

  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    clarke_profile p;

    ck_assert_msg(parse(&p, good[i].line) == CLARKE_OK, "'%s': %s", good[i].line, error.text);
    tie_is(&p, "Max", good[i].rule);
    tie_is(&p, "MaxPool", "first");
    clarke_profile_clear(&p);
  }
}
END_TEST

START_TEST(files)
{
  static const struct {
    const char *line, *value;
  } good[] = {
    {"Relu 0 1", "1"}, {"Relu 0 -3/6", "-1/2"}, {"Relu 0 0.25", "1/4"}, {"Relu 0 .5", "1/2"},
    {"Relu 0 -0.125", "-1/8"}, {"Relu 0 left", "left"}, {"\tRelu  0\tright\r", "right"},
    {"# a comment\n\n Relu 0 2 # and another", "2"}, {"Relu 0 1\nRelu 0 3\n", "3"}, {"", "0"},
    {"Relu 0 12345678901234567890/3", "4115226300411522630"}, {"Clip 0 1", "0"},
  };

  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    clarke_profile p;

    ck_assert_msg(parse(&p, good[i].line) == CLARKE_OK, "'%s': %s", good[i].line, error.text);
    proxy_is(&p, "Relu", 0, good[i].value);
    proxy_is(&p, "HardSwish", 1, "right"); /* not named: as in pytorch-2.13 */
    ck_assert_str_eq(p.name, "own.profile");
    clarke_profile_clear(&p);
  }
}
END_TEST

/* A file takes a rule away, which the profile that it is like has. */
START_TEST(taken_away)
{
  clarke_profile p;

  ck_assert_msg(parse(&p, "like pytorch\nClamp 1 unknown\ntie Maximum unknown\n") == CLARKE_OK, "%s", error.text);
  ck_assert_ptr_null(clarke_profile_find(&p, clarke_operator_find("Clamp"), 1));
  proxy_is(&p, "Clamp", 0, "0");
  ck_assert_ptr_null(clarke_profile_tie(&p, clarke_operator_find("Maximum")));
  tie_is(&p, "Minimum", "mean");
  clarke_profile_clear(&p);
}
END_TEST

/* A number in the gradient's place is read by who asks for it, and by nobody else. */
START_TEST(injected)
{
  const clarke_op *relu = clarke_operator_find("Relu"), *clip = clarke_operator_find("Clip");
  char path[] = "/tmp/clarke-profile-XXXXXX";
  const char text[] = "Relu 0 1/2 as-released\n";
  int fd = mkstemp(path);
  clarke_profile p;

  ck_assert_int_eq(write(fd, text, sizeof text - 1), sizeof text - 1);
  close(fd);
  clarke_profile_init(&p);
  ck_assert_int_eq(clarke_profile_load(&p, path, &error), CLARKE_EINPUT);
  says(error.text, "Relu 0 ... as-released|clarke sweep");
  clarke_profile_clear(&p);
  ck_assert_msg(clarke_profile_load_any(&p, path, &error) == CLARKE_OK, "%s", error.text);
  ck_assert(clarke_profile_is_valid(&p));
  ck_assert_int_eq(mpq_cmp_ui(clarke_profile_injected(&p, relu, 0)->value, 1, 2), 0);
  ck_assert_ptr_null(clarke_profile_injected(&p, relu, 1));
  ck_assert_ptr_null(clarke_profile_injected(&p, clip, 0));
  clarke_profile_clear(&p);
  ck_assert_int_eq(parse(&p, "Relu 0 1 as-released\nRelu 0 1\n"), CLARKE_OK);
  ck_assert_ptr_null(clarke_profile_injected(&p, relu, 0));
  clarke_profile_clear(&p);
  unlink(path);
}
END_TEST

START_TEST(bad_lines)
{
  static const struct {
    const char *text, *message;
  } bad[] = {
    {"Relu 0", "own.profile:1: expected: OPERATOR KINK VALUE"},
    {"Relu 0 1 2", "own.profile:1: expected"},
    {"\n\nRelu", "own.profile:3: expected"},
    {"Relu 0 0\nrelu 0 0", "own.profile:2: no operator with kinks is called 'relu'"},
    {"Sigmoid 0 0", "own.profile:1: no operator with kinks is called 'Sigmoid'"},
    {"Relu 1 0", "own.profile:1: Relu has kinks 0 to 0, not '1'"},
    {"Clip 2 0", "Clip has kinks 0 to 1, not '2'"},
    {"Clip -1 0", "not '-1'"},
    {"Clip 00 0", "not '00'"},
    {"Relu 0 x", "own.profile:1: 'x': expected a rational such as 1/2, or left, right or unknown"},
    {"Relu 0 1/0", "'1/0'"}, {"Relu 0 1/-2", "'1/-2'"}, {"Relu 0 1e5", "'1e5'"},
    {"Relu 0 nan", "'nan'"}, {"Relu 0 1.", "'1.'"}, {"Relu 0 .", "'.'"}, {"Relu 0 -", "'-'"},
    {"Relu 0 1.5/2", "'1.5/2'"}, {"Relu 0 1/2/3", "'1/2/3'"}, {"Relu 0 /2", "'/2'"},
    {"Relu 0 --1", "'--1'"}, {"Relu 0 Left", "'Left'"}, {"Relu 0 1.2.3", "'1.2.3'"},
    {"Relu 0 11111111111111111111111111111111111111111", "expected a rational"},
    {"Relu 0 left as-released", "'left': as-released wants a rational"}, {"Relu 0 unknown as-released", "as-released wants a rational"},
    {"Relu 0 1 released", "VALUE as-released"}, {"Relu 0 1 as-released 2", "VALUE as-released"},
    {"tie", "own.profile:1: expected: tie OPERATOR RULE"}, {"tie Max", "expected: tie OPERATOR"},
    {"tie Max mean 1 2", "expected: tie OPERATOR RULE"},
    {"Abs 0 0\ntie Relu mean", "own.profile:2: no order statistic is called 'Relu'"},
    {"tie max mean", "no order statistic is called 'max'"},
    {"norm", "own.profile:1: expected: norm 0, or norm nan"}, {"norm 1", "norm 0, or norm nan"},
    {"norm nan 0", "norm 0, or norm nan"}, {"norm 0 0", "norm 0, or norm nan"},
    {"tie Max middle", "'middle': expected first, last, stable, mean, unknown, or hybrid"},
    {"tie Max unknown 1", "'unknown 1': expected"}, {"Relu 0 Unknown", "'Unknown'"},
    {"tie Max hybrid", "'hybrid': expected"}, {"tie Max mean 1", "'mean 1': expected"},
    {"tie Max hybrid x", "'hybrid x': expected"}, {"tie Max hybrid 1/0", "'hybrid 1/0'"},
    {"tie Max hybrid left", "'hybrid left': expected"},
    {"Max 0 mean", "no operator with kinks is called 'Max'"},
    {"like", "own.profile:1: expected: like NAME|pytorch-2.13|pytorch-2.14|jax-0.10|tensorflow-2"},
    {"like jax numpy", "expected: like NAME"}, {"like jax-9", "expected: like NAME"},
    {"Relu 0 1\nlike jax", "own.profile:2: 'like' must be the first statement"},
    {"like jax\nlike jax", "own.profile:2: 'like' must be the first statement"},
  };
  clarke_profile p;
  char wide[1000];

  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    ck_assert_msg(parse(&p, bad[i].text) == CLARKE_EINPUT, "'%s' is accepted", bad[i].text);
    says(error.text, bad[i].message);
    clarke_profile_clear(&p);
  }
  memset(wide, ' ', sizeof wide);
  clarke_profile_init(&p);
  ck_assert_int_eq(clarke_profile_parse(&p, wide, sizeof wide, "own.profile", &error),
                   CLARKE_EINPUT);
  says(error.text, "own.profile:1: not a line of text");
  clarke_profile_clear(&p);
  ck_assert_int_eq(clarke_profile_parse(&p, "Relu 0\0 1", 9, "own.profile", &error),
                   CLARKE_EINPUT);
  says(error.text, "own.profile:1: not a line of text");
  clarke_profile_clear(&p);
}
END_TEST

START_TEST(names_and_paths)
{
  clarke_profile p;
  char path[] = "/tmp/clarke-profile-XXXXXX";
  int fd = mkstemp(path);

  for (clarke_known_profile i = 0; i < CLARKE_N_PROFILES; i++) {
    const char *bare, *name = clarke_profile_name(i, &bare);

    ck_assert(clarke_profile_known(name) && strchr(name, '-') != NULL && (bare == NULL || strncmp(name, bare, strlen(bare)) == 0));
  }
  ck_assert(clarke_profile_known("pytorch-2.14") && clarke_profile_known("jax") && !clarke_profile_known("pytorch-2.15"));
  clarke_profile_init(&p);
  ck_assert_int_eq(clarke_profile_load(&p, "torch", &error), CLARKE_EINPUT);
  says(error.text, "no profile 'torch'|pytorch-2.13|jax-0.10|tensorflow-2");
  ck_assert_int_eq(clarke_profile_load(&p, "jax-0.11", &error), CLARKE_EINPUT);
  says(error.text, "jax-0.11|pytorch-2.13");
  ck_assert_int_eq(clarke_profile_load(&p, "./no-such-profile", &error), CLARKE_EINPUT);
  says(error.text, "./no-such-profile|pytorch-2.13");
  ck_assert_int_eq(clarke_profile_load(&p, "pytorch-2.12", &error), CLARKE_EINPUT);
  says(error.text, "pytorch-2.12|pytorch-2.13");
  ck_assert_int_eq(write(fd, "Abs 0 1/3\n", 10), 10);
  close(fd);
  ck_assert_msg(clarke_profile_load(&p, path, &error) == CLARKE_OK, "%s", error.text);
  proxy_is(&p, "Abs", 0, "1/3");
  ck_assert_str_eq(p.name, strrchr(path, '/') + 1);
  clarke_profile_clear(&p);
  unlink(path);
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("profile");

  tcase_add_test(tcase, known_tables);
  tcase_add_test(tcase, like_a_known_one);
  tcase_add_test(tcase, surrogates);
  tcase_add_test(tcase, tie_lines);
  tcase_add_test(tcase, norms);
  tcase_add_test(tcase, files);
  tcase_add_test(tcase, taken_away);
  tcase_add_test(tcase, injected);
  tcase_add_test(tcase, bad_lines);
  tcase_add_test(tcase, names_and_paths);
  return run_tests();
}
