/* Every allocation of the program language fails in turn: each time reading must say so, leave the
 * program empty and lose nothing (the sanitizers watch that). */
#include "../format/failing.h"
#include "../suite.h"

#include "program/prog.h"


/* The true ones, for what follows. */
#undef malloc
#undef calloc
#undef realloc
#undef strdup
#undef strndup

static const char source[] =
  "# a comment\ninput x[3], y\nlet v = [x[0:2] * 2 / 3, -y, relu{1/2}(x), 1 + y]\n"
  "let w = sort{stable}(v)\nlet z = sort(v)[1:3] * [1, y]\n"
  "output if y < 1 then norm1(w) + norm2(w) + sum(z) else mean(v) * max(w, v) - exp(dot(x, x))\n"
  "piece y if y < 1 and x[0] > 2\npiece elu(x[0])";

START_TEST(out_of_memory)
{
  clarke_error err = { CLARKE_OK, "" };
  clarke_code p;
  clarke_status status;
  size_t k = 0;

  for (;; k++) {
    clarke_code_init(&p);
    countdown = k;
    status = clarke_prog_parse(&p, source, sizeof source - 1, "x", &err);
    countdown = SIZE_MAX;
    if (status == CLARKE_OK)
      break;
    ck_assert_int_eq(status, CLARKE_ENOMEM);
    ck_assert_msg(strncmp(err.text, "x: ", 3) == 0, "%s", err.text);
    ck_assert(p.n == 0 && p.instruction == NULL && p.file == NULL);
    clarke_code_clear(&p);
  }
  ck_assert(p.n > 0);
  clarke_code_clear(&p);
  ck_assert_uint_gt(k, 60);
}
END_TEST

int
main(void)
{
  TCase *tc = tests_of("prog-memory");

  tcase_add_test(tc, out_of_memory);
  return run_tests();
}
