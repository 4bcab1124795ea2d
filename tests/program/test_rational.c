/* Programs as rational functions: what is 0 for all inputs, what is not, and of what that is not known. */
#include "../ok.h"

#include "program/prog.h"
#include "program/rational.h"

#include <string.h>

static const struct {
  const char *text;
  clarke_truth answer;
} cases[] = {
  {"input x, y\noutput x*x - y*y - (x - y)*(x + y)", CLARKE_YES},
  {"input x, y\noutput x*x - y*y - (x - y)*(x - y)", CLARKE_NO},
  {"input x, y\noutput (x*x - y*y)/(x - y) - x - y", CLARKE_YES},
  {"input x, y\noutput 1/x + 1/y - (x + y)/(x*y), x - x", CLARKE_YES},
  {"input x, y\noutput x - x, y", CLARKE_NO},
  {"input x\noutput 1/3*x - x/3 + 0.1 - 1/10", CLARKE_YES},
  {"input x\noutput x - x + 1/1000000000000", CLARKE_NO},
  {"input x, y\noutput x/(x*y - y*x)", CLARKE_UNKNOWN},      /* there is no input for which it is defined */
  {"input x, y\noutput 0/(x*y - y*x)", CLARKE_UNKNOWN},
  {"input x\noutput sqrt(x) - sqrt(x)", CLARKE_UNKNOWN},
  {"input x\nlet y = exp(x)\noutput x - x", CLARKE_YES},     /* what no output needs is not asked */
  {"input x\noutput relu(x) - relu(-x) - x", CLARKE_UNKNOWN},
  {"input x, y\noutput 1/(1/x + 1/y) - x*y/(x + y)", CLARKE_YES},
  {"input x, y\noutput (x + y)*(x + y)*(x + y) - x*x*x - y*y*y - 3*x*y*(x + y)", CLARKE_YES},
};

START_TEST(vanishes)
{
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    clarke_code p;
    clarke_truth answer = CLARKE_UNKNOWN;

    clarke_code_init(&p);
    OK(clarke_prog_parse(&p, cases[i].text, strlen(cases[i].text), "case.prog", &error));
    OK(clarke_code_vanishes(&answer, &p, &error));
    ck_assert_msg(answer == cases[i].answer, "case %zu: %s", i, cases[i].text);
    clarke_code_clear(&p);
  }
}
END_TEST

/* Two outputs: one polynomial, another one, or none. */
START_TEST(agrees)
{
  static const struct {
    const char *text;
    clarke_truth answer;
  } pairs[] = {{"input x, y\noutput x*x - y*y, (x - y)*(x + y)", CLARKE_YES}, {"input x, y\noutput x*x, x*y", CLARKE_NO},
               {"input x\noutput x, x*x/x", CLARKE_UNKNOWN}, {"input x\noutput x, relu(x)", CLARKE_UNKNOWN}, {"input x\noutput x, 1/2*x + x/2", CLARKE_YES},
               {"input x\noutput x, (2*x)/2", CLARKE_YES}, {"input x\noutput x, (2*x)/3", CLARKE_NO}, {"input x\noutput x, x/(x - x)", CLARKE_UNKNOWN}};

  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    clarke_code p;
    clarke_truth answer = CLARKE_UNKNOWN;

    clarke_code_init(&p);
    OK(clarke_prog_parse(&p, pairs[i].text, strlen(pairs[i].text), "case.prog", &error));
    OK(clarke_code_agrees(&answer, &p, p.output[0], p.output[1], &error));
    ck_assert_msg(answer == pairs[i].answer, "case %zu: %s", i, pairs[i].text);
    clarke_code_clear(&p);
  }
}
END_TEST

/* Squared 40 times: degree 2^40 is no matter, 2^40 bits and 2^40 terms are too many. */
START_TEST(squares)
{
  static const struct {
    const char *first;
    clarke_truth answer;
  } begin[] = {{"x", CLARKE_YES}, {"2*x", CLARKE_UNKNOWN}, {"x/3", CLARKE_UNKNOWN}, {"x + 1", CLARKE_UNKNOWN}};

  for (size_t i = 0; i < sizeof begin / sizeof *begin; i++) {
    char text[2048], *to = text + sprintf(text, "input x\nlet a0 = %s\n", begin[i].first);
    clarke_code p;
    clarke_truth answer = CLARKE_NO;

    for (int k = 0; k < 40; k++)
      to += sprintf(to, "let a%d = a%d*a%d\n", k + 1, k, k);
    to += sprintf(to, "output a40, a39*a39\n");
    clarke_code_init(&p);
    OK(clarke_prog_parse(&p, text, (size_t)(to - text), "case.prog", &error));
    OK(clarke_code_agrees(&answer, &p, p.output[0], p.output[1], &error));
    ck_assert_msg(answer == begin[i].answer, "%s: %d", begin[i].first, (int)answer);
    clarke_code_clear(&p);
  }
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("rational");

  tcase_add_test(tests, vanishes);
  tcase_add_test(tests, agrees);
  tcase_add_test(tests, squares);
  return run_tests();
}
