/* Profiles: the built-in table, files, and what a bad line is told. */
#include "models.h"

#include "graph/profile.h"

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

/* docs/operators.md */
static const struct {
  const char *op;
  size_t kink;
  const char *proxy;
} pytorch[] = {
  {"Relu", 0, "0"}, {"LeakyRelu", 0, "left"}, {"PRelu", 0, "left"}, {"Clip", 0, "0"},
  {"Clip", 1, "0"}, {"HardSigmoid", 0, "0"}, {"HardSigmoid", 1, "0"}, {"HardSwish", 0, "left"},
  {"HardSwish", 1, "right"}, {"Abs", 0, "0"},
};

START_TEST(pytorch_table)
{
  static const char *const names[] = {"pytorch", "pytorch-2.13"};
  size_t kinks = 0;
  const clarke_op *op;

  for (size_t i = 0; i < 2; i++) {
    clarke_profile p;

    clarke_profile_init(&p);
    ck_assert_int_eq(clarke_profile_load(&p, names[i], &error), CLARKE_OK);
    ck_assert_str_eq(p.name, "pytorch-2.13");
    for (size_t k = 0; k < sizeof pytorch / sizeof pytorch[0]; k++)
      proxy_is(&p, pytorch[k].op, pytorch[k].kink, pytorch[k].proxy);
    ck_assert_ptr_null(clarke_profile_find(&p, clarke_operator_find("Relu"), 1));
    ck_assert_ptr_null(clarke_profile_find(&p, clarke_operator_find("Sigmoid"), 0));
    clarke_profile_clear(&p);
  }
  for (size_t i = 0; (op = clarke_operator_at(i)) != NULL; i++)
    kinks += op->n_kinks;
  ck_assert_uint_eq(kinks, sizeof pytorch / sizeof pytorch[0]); /* the table above is whole */
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
    {"Relu 0 x", "own.profile:1: 'x': expected a rational such as 1/2, or left, or right"},
    {"Relu 0 1/0", "'1/0'"}, {"Relu 0 1/-2", "'1/-2'"}, {"Relu 0 1e5", "'1e5'"},
    {"Relu 0 nan", "'nan'"}, {"Relu 0 1.", "'1.'"}, {"Relu 0 .", "'.'"}, {"Relu 0 -", "'-'"},
    {"Relu 0 1.5/2", "'1.5/2'"}, {"Relu 0 1/2/3", "'1/2/3'"}, {"Relu 0 /2", "'/2'"},
    {"Relu 0 --1", "'--1'"}, {"Relu 0 Left", "'Left'"}, {"Relu 0 1.2.3", "'1.2.3'"},
    {"Relu 0 11111111111111111111111111111111111111111", "expected a rational"},
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

  clarke_profile_init(&p);
  ck_assert_int_eq(clarke_profile_load(&p, "tensorflow", &error), CLARKE_EINPUT);
  says(error.text, "no profile 'tensorflow'|pytorch-2.13");
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
  Suite *suite = suite_create("profile");
  TCase *tcase = tcase_create("profile");
  SRunner *runner;
  int failed;

  tcase_add_test(tcase, pytorch_table);
  tcase_add_test(tcase, files);
  tcase_add_test(tcase, bad_lines);
  tcase_add_test(tcase, names_and_paths);
  suite_add_tcase(suite, tcase);
  runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
