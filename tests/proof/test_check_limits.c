/* What is foreseen of a check: the table of defaults beside the checker's own; counts beside what the checker takes and refuses. */
#include "../ok.h"
#include "../suite.h"

#include "base/limit.h"
#include "program/prog.h"
#include "proof/check_limits.h"
#include "session/certify.h"

#include "check/base/limit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/clarke-limits-XXXXXX";

static quantity
of_checker(const char *name)
{
  size_t i = 0;

  while (limit_name(i) != NULL && strcmp(limit_name(i), name) != 0)
    i++;
  ck_assert_msg(limit_name(i) != NULL, "%s: the checker has no such limit", name);
  return (quantity)i;
}

static void
same_defaults(size_t bytes)
{
  for (clarke_check_limit i = 0; i < CLARKE_N_CHECK_LIMITS; i++) {
    const char *name = clarke_check_limit_name(i);

    ck_assert_msg(clarke_check_limit_default(i, bytes) == limit_of(of_checker(name)), "%s, of %zu bytes: %zu here, %zu in the checker",
                  name, bytes, clarke_check_limit_default(i, bytes), limit_of(of_checker(name)));
  }
}

/* With nothing read, at the byte from which limits grow, past it. */
START_TEST(defaults_are_the_checkers)
{
  same_defaults(0);
  limit_input(CLARKE_LIMIT_BYTES);
  same_defaults(CLARKE_LIMIT_BYTES);
  limit_input(12345);
  same_defaults(CLARKE_LIMIT_BYTES + 12345);
}
END_TEST

/* Which of the checker's limits are not here: what is said of them in docs/formats.md. */
START_TEST(what_is_not_foreseen)
{
  static const char *const others[] = { "branches", "unrecorded", "line" };
  size_t n = 0, here = 0;

  while (limit_name(n) != NULL)
    n++;
  for (size_t i = 0; i < 3; i++)
    of_checker(others[i]);
  for (clarke_check_limit i = 0; i < CLARKE_N_CHECK_LIMITS; i++)
    here++;
  ck_assert_uint_eq(n, here + 3);
}
END_TEST

static void
path_to(char path[128], const char *name)
{
  snprintf(path, 128, "%s/%s", folder, name);
}

static void
write_program(const char *text)
{
  char path[128];
  FILE *f;

  path_to(path, "f.prog");
  f = fopen(path, "w");
  ck_assert_ptr_nonnull(f);
  fputs(text, f);
  fclose(f);
}

static int
run(const char *command)
{
  const int status = system(command);

  ck_assert(WIFEXITED(status));
  return WEXITSTATUS(status);
}

/* The checker's exit status, of the proof that was written. */
static int
checked(size_t gradients)
{
  char command[512];

  snprintf(command, sizeof command, "%s %s/f.proof --limit gradients=%zu >/dev/null 2>&1", CHECKER, folder, gradients);
  return run(command);
}

/* Exactly so many: one fewer is refused. */
static void
exact(const clarke_check_needs *c, size_t want)
{
  ck_assert_uint_eq(c->needs[CLARKE_CHECK_GRADIENTS], want);
  ck_assert_int_eq(checked(want), 0);
  ck_assert_int_eq(checked(want - 1), 2);
}

static void
parse(clarke_code *p, const char *text)
{
  clarke_code_init(p);
  OK(clarke_prog_parse(p, text, strlen(text), "f.prog", &error));
  OK(clarke_code_wrt(p, NULL, 0, &error));
  write_program(text);
}

/* Instructions and arguments, those that no output needs left out, times entries and one. */
START_TEST(gradients_are_counted_as_the_checker_counts)
{
  static const struct {
    const char *text, *at;
    size_t want;
  } programs[] = {
      { "input x[3]\noutput sum(relu(x))\n", "x=1,2,3", (3 + 6 + 4) * 4 },
      { "input x[3], y\nlet unused = exp(x)\nlet a = x[0] * x[1]\noutput relu(a) + 2 * y\n", "x=1,2,3 --at y=0", (3 + 3 + 2 + 4 + 3) * 5 },
      { "input x, y\noutput x - y + sum(x, y, x) + 1\n", "x=0 --at y=2", (2 + 3 + 4 + 3 + 4) * 3 },
      { "input x[3]\noutput dot(x, [1, -2, 3])\n", "x=0,1,2", (3 + 3 * 4 + 4) * 4 },
      { "input x[3]\noutput dot(x, [1, 5, 1])\n", "x=0,1,2", (3 + 3 * 4 + 4) * 4 },
      { "input x[2]\noutput max(x) * relu(x[0])\n", "x=0,1", (2 + 3 + 2 + 3) * 3 },
  };

  for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
    char command[512];
    clarke_check_needs c;
    clarke_code p;

    parse(&p, programs[i].text);
    snprintf(command, sizeof command, "%s derive %s/f.prog --at %s --proof %s/f.proof >/dev/null", CLARKE, folder, programs[i].at, folder);
    ck_assert_int_eq(run(command), 0);
    clarke_check_needs_begin(&c, 0);
    clarke_check_needs_to_follow(&c, &p, clarke_code_wrt_count(&p), true);
    exact(&c, programs[i].want);
    clarke_code_clear(&p);
  }
}
END_TEST

/* Forms: instructions alone, times variables and one. */
START_TEST(forms_are_counted_as_the_checker_counts)
{
  static const char text[] = "input x[2]\nlet unused = abs(x)\noutput sum(relu(x))\n";
  char command[512];
  clarke_check_needs c;
  clarke_code p;

  parse(&p, text);
  snprintf(command, sizeof command, "%s patterns %s/f.prog --proof %s/f.proof --at 0,0 >/dev/null", CLARKE, folder, folder);
  ck_assert_int_eq(run(command), 0);
  clarke_check_needs_begin(&c, 0);
  clarke_check_needs_forms(&c, &p, 2, true);
  exact(&c, 5 * 3);
  snprintf(command, sizeof command, "%s patterns %s/f.prog --proof %s/f.proof --line -1,-2 1,1 >/dev/null", CLARKE, folder, folder);
  ck_assert_int_eq(run(command), 0);
  clarke_check_needs_begin(&c, 0);
  clarke_check_needs_forms(&c, &p, 1, true);
  exact(&c, 5 * 2);
  clarke_code_clear(&p);
}
END_TEST

/* More, where more entries are other than 0, and where more is read. None of what is given lower than the default. */
START_TEST(memory_and_what_was_given)
{
  static const char few[] = "input x[4]\noutput sum(relu(x))\n", many[] = "input x[4]\nlet s = sum(x)\noutput sum(relu([s, s, s, s]))\n";
  clarke_check_needs c, d;
  clarke_code p;

  parse(&p, few);
  clarke_check_needs_begin(&c, 0);
  clarke_check_needs_to_follow(&c, &p, 4, true);
  /* instructions and one entry more each for the value, arguments, entries that are not 0 */
  ck_assert_uint_eq(c.needs[CLARKE_CHECK_MEMORY], 9 * 256 + 8 * 104 + 9 * 5 * 128 + 12 * 64);
  clarke_code_clear(&p);
  parse(&p, many);
  clarke_check_needs_begin(&d, 1000);
  clarke_check_needs_to_follow(&d, &p, 4, true);
  ck_assert_uint_eq(d.needs[CLARKE_CHECK_MEMORY], 10 * 256 + 12 * 104 + 10 * 5 * 128 + (4 + 4 + 16 + 4) * 64 + 1000);
  clarke_code_clear(&p);
  for (clarke_check_limit i = 0; i < CLARKE_N_CHECK_LIMITS; i++)
    ck_assert(!clarke_check_needs_more(&d, i));
  OK(clarke_limit_set("ties=4097", &error));
  OK(clarke_limit_set("nodes=2048", &error));
  ck_assert_uint_eq(clarke_limit_given(CLARKE_LIMIT_TIES), 4097);
  ck_assert_uint_eq(clarke_limit_given(CLARKE_LIMIT_BITS), 0);
  clarke_check_needs_begin(&c, 0);
  for (clarke_check_limit i = 0; i < CLARKE_N_CHECK_LIMITS; i++)
    ck_assert(clarke_check_needs_more(&c, i) == (i == CLARKE_CHECK_TIES));
}
END_TEST

/* The checker's exit status with so much memory, in whole MiB, of the proof that was written about files of that folder. */
static int
checked_in(const char *data, size_t memory)
{
  char command[1024];

  snprintf(command, sizeof command, "%s %s/f.proof --data %s --limit memory=%zu >/dev/null 2>&1", CHECKER, folder, data, memory);
  return run(command);
}

static void
audit_within(const char *model, const char *batch, const char *loss)
{
  char path[2][256], proof[128];
  clarke_file file[2] = {0};
  clarke_audit_request ask = {.model_path = path[0], .model = &file[0], .batch_path = path[1], .batch = &file[1], .threads = 1,
                              .loss = loss, .provable = true};
  clarke_audit_session s;
  clarke_check_needs c;

  snprintf(path[0], sizeof path[0], CASES "/audit/%s.onnx", model);
  snprintf(path[1], sizeof path[1], CASES "/audit/%s.npz", batch);
  path_to(proof, "f.proof");
  for (size_t i = 0; i < 2; i++)
    OK(clarke_file_read(&file[i], path[i], &error));
  clarke_audit_session_init(&s);
  OK(clarke_audit_session_read(&s, &ask, &error));
  OK(clarke_audit_session_ask(&s, &ask, &error));
  OK(clarke_audit_session_prove(&s, proof, &error));
  clarke_check_needs_begin(&c, file[0].size + file[1].size);
  clarke_check_needs_network(&c, &s.graph);
  ck_assert_msg(checked_in(CASES "/audit", c.needs[CLARKE_CHECK_MEMORY]) == 0, "%s on %s: more than %zu bytes are needed", model, batch,
                c.needs[CLARKE_CHECK_MEMORY]);
  clarke_audit_session_clear(&s);
  for (size_t i = 0; i < 2; i++)
    clarke_file_clear(&file[i]);
}

/* What is foreseen of memory is enough for the cases' largest networks. */
START_TEST(memory_of_audits_is_enough)
{
  static const struct {
    const char *model, *batch, *loss;
  } known[] = {
    { "lemma2", "lemma2", "sum" },
    { "lenet-q", "images", "ce" },
    { "lenet-q6", "images-96", "ce" },
    { "lenet-overlap-q6", "images", "ce" },
    { "resnet-gamma", "images", "ce" },
    { "digits-relu", "digits", "ce" },
    { "digits-relu-nobias-ternary", "digits-binary", "ce" },
    { "digits-prelu-q", "digits-mse", "mse" },
  };

  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    audit_within(known[i].model, known[i].batch, known[i].loss);
}
END_TEST

START_TEST(memory_of_certificates_is_enough)
{
  static const char *const runs[] = { "lemma2", "parted", "small", "words", "tied", "attention" };

  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    char of[256], proof[128];
    const clarke_certify_request ask = {.folder = of, .step = CLARKE_NONE, .provable = true};
    clarke_certified c;
    clarke_check_needs needs;
    size_t n = 0;

    snprintf(of, sizeof of, CASES "/runs/%s", runs[i]);
    path_to(proof, "f.proof");
    clarke_certified_init(&c);
    OK(clarke_certified_run(&c, &ask, &error));
    OK(clarke_certified_prove(&c, proof, &error));
    for (size_t t = 0; t < c.record.trace.n; t++)
      n += c.record.trace.tensor[t].count;
    for (size_t t = 0; t < c.record.gradients.n; t++)
      n += c.record.gradients.tensor[t].count;
    clarke_check_needs_begin(&needs, 0);
    clarke_check_needs_record(&needs, &c.audit.graph, n);
    ck_assert_msg(checked_in(of, needs.needs[CLARKE_CHECK_MEMORY]) == 0, "%s: more than %zu bytes are needed", runs[i],
                  needs.needs[CLARKE_CHECK_MEMORY]);
    clarke_certified_clear(&c);
  }
}
END_TEST

/* Of a batch that is larger more is foreseen, and at some size more than the default, though the batch makes that grow. */
START_TEST(memory_of_large_networks_is_foreseen)
{
  clarke_value value[2] = {{.count = 1000, .producer = CLARKE_NONE}, {.count = 4000}};
  clarke_step step = {.kind = CLARKE_SUM, .n_in = 1, .in = &(clarke_operand){.value = 0}, .out = 1};
  clarke_graph g = {.samples = 100, .n_values = 2, .values = value, .n_steps = 1, .steps = &step};
  clarke_check_needs c;

  clarke_check_needs_begin(&c, 400000);
  clarke_check_needs_network(&c, &g);
  ck_assert(!clarke_check_needs_more(&c, CLARKE_CHECK_MEMORY));
  value[1].count = 80000;
  clarke_check_needs_network(&c, &g);
  ck_assert(clarke_check_needs_more(&c, CLARKE_CHECK_MEMORY));
}
END_TEST

int
main(void)
{
  static const char *const made[] = { "f.prog", "f.proof" };
  TCase *tests = tests_of("check limits");
  int failed;

  if (mkdtemp(folder) == NULL)
    return 1;
  tcase_add_test(tests, defaults_are_the_checkers);
  tcase_add_test(tests, what_is_not_foreseen);
  tcase_add_test(tests, gradients_are_counted_as_the_checker_counts);
  tcase_add_test(tests, forms_are_counted_as_the_checker_counts);
  tcase_add_test(tests, memory_and_what_was_given);
  tcase_add_test(tests, memory_of_audits_is_enough);
  tcase_add_test(tests, memory_of_certificates_is_enough);
  tcase_add_test(tests, memory_of_large_networks_is_foreseen);
  failed = run_tests();
  for (size_t i = 0; i < 2; i++) {
    char path[128];

    path_to(path, made[i]);
    unlink(path);
  }
  rmdir(folder);
  return failed;
}
