/* Where the commands' output goes: standard output that cannot be written, files that are no files. */
#include "command.h"

#define AUDIT CLARKE " audit " CASES "/audit/lemma2.onnx --batch " CASES "/audit/lemma2.npz --loss sum"
#define DERIVE CLARKE " derive " CASES "/papers/bolte-zero.prog"

static const char *const commands[] = {
  CLARKE " --version",
  CLARKE " --help",
  CLARKE " audit --help",
  AUDIT,
  AUDIT " --json",
  AUDIT " --params " CASES "/audit/lemma2.npz " CASES "/audit/lemma2.npz",
  DERIVE " --at t=0",
  DERIVE " --at t=0 --json",
  DERIVE " --print",
  DERIVE " --sweep t=0:1:1",
  DERIVE " --sweep t=0:1:1 --json",
  CLARKE " reproduce P-L2 --cases " CASES "/papers",
  CLARKE " reproduce P-L2 --json --cases " CASES "/papers",
  CHECKER " " PROOFS "/lemma2.proof --data " CASES "/audit",
};

#define N_COMMANDS (sizeof commands / sizeof commands[0])

static void
set_up(void)
{
  make_folder("output");
}

START_TEST(output_that_cannot_be_written_is_an_error)
{
  static const char *const to[] = {">/dev/full", ">&-"};

  for (size_t i = 0; i < N_COMMANDS; i++)
    for (size_t k = 0; k < 2; k++) {
      ck_assert_msg(run("%s %s", commands[i], to[k]) == 2, "%s %s", commands[i], to[k]);
      ck_assert_msg(!is_empty("err"), "%s %s", commands[i], to[k]);
    }
}
END_TEST

START_TEST(a_pipe_that_nobody_reads_is_an_error)
{
  for (size_t i = 0; i < N_COMMANDS; i++) {
    /* The reader is gone when the command begins. */
    ck_assert_int_eq(run("rm -f gone; mkfifo gone; { : <gone; echo >closed; } & exec 3>gone; "
                         "while [ ! -e closed ]; do sleep 0.01; done; rm closed; (trap '' PIPE; %s >&3)",
                         commands[i]), 2);
    ck_assert_msg(!is_empty("err"), "%s", commands[i]);
  }
}
END_TEST

/* A closed descriptor is not given to a file, in which reports would then land. */
START_TEST(closed_streams_are_no_files)
{
  ck_assert_int_eq(run("%s --proof p <&- >&- 2>&-", AUDIT), 2);
  ck_assert_int_eq(run("%s --proof q <&- 2>&-", AUDIT), 1);
  ck_assert_int_eq(run("cmp p q"), 0);
}
END_TEST

START_TEST(what_is_no_file_is_written_through)
{
  ck_assert_int_eq(run("%s --proof right", AUDIT), 1);
  ck_assert_int_eq(run("%s --proof /dev/null && exit 9; test -c /dev/null", AUDIT), 0);
  ck_assert_int_eq(run("mkfifo pipe; cat pipe >got & %s --proof pipe; wait; test -p pipe && cmp right got", AUDIT), 0);
  ck_assert_int_eq(run("echo old >real; ln -s real link; %s --proof link; test -L link && cmp right real", AUDIT), 0);
  ck_assert_int_eq(run("%s --proof /dev/full", AUDIT), 2);
  file_says("err", "/dev/full: cannot be written");
  ck_assert_int_eq(run("ln -s nowhere dangling; %s --proof dangling", AUDIT), 2);
  ck_assert(!exists("nowhere"));
}
END_TEST

START_TEST(plots_and_gradients_likewise)
{
  ck_assert_int_eq(run("%s --at t=0 --plot right.svg; %s --at t=0 --plot /dev/stdout >got; "
                       "grep -q '^<svg' got && test -s right.svg", DERIVE, DERIVE), 0);
  ck_assert_int_eq(run("%s --at t=0 --plot /dev/full", DERIVE), 2);
  ck_assert_int_eq(run("%s --gradient /dev/full", AUDIT), 2);
  file_says("err", "/dev/full: cannot be written");
  ck_assert_int_eq(run("%s --gradient no/where", AUDIT), 2);
  file_says("err", "no/where: cannot be created");
}
END_TEST

START_TEST(nothing_is_written_on_errors)
{
  size_t before;

  ck_assert_int_eq(run("echo old >kept; mkdir sub"), 0);
  before = files_in_folder();
  ck_assert_int_eq(run("%s --proof sub", AUDIT), 2);
  ck_assert_int_eq(run("(ulimit -f 0; trap '' XFSZ; %s --proof kept 2>/dev/null) 2>/dev/null", AUDIT), 2);
  file_says("kept", "old");
  ck_assert_uint_eq(files_in_folder(), before);
}
END_TEST

/* The libraries too must find their end. */
START_TEST(little_address_space)
{
  static const char *const kilobytes[] = {"100000", "200000", "250000", "300000", "400000", "500000", "800000"};

  for (size_t i = 0; i < sizeof kilobytes / sizeof kilobytes[0]; i++) {
    int status = run("(ulimit -v %s; timeout 20 %s)", kilobytes[i], AUDIT);

    ck_assert_msg(status == 1 || (status == 2 && !is_empty("err")), "%s kB: %d", kilobytes[i], status);
    ck_assert_int_eq(run("(ulimit -v %s; timeout 20 %s --version)", kilobytes[i], CLARKE), 0);
  }
}
END_TEST

START_TEST(empty_values_are_refused)
{
  static const char *const options[] = {"--proof=", "--gradient=", "--wrt=", "--params=", "--loss=", "--profile=",
                                        "--batch=", "''"};

  for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
    ck_assert_msg(run("%s %s", AUDIT, options[i]) == 2, "%s", options[i]);
    file_says("err", "is empty");
  }
  ck_assert_int_eq(run("%s --at t=0 --proof=", DERIVE), 2);
  ck_assert_int_eq(run("%s reproduce ''", CLARKE), 2);
}
END_TEST

int
main(void)
{
  Suite *suite = suite_create("output");
  TCase *tests = tcase_create("output");
  SRunner *runner;
  int failed;

  tcase_set_timeout(tests, 120);
  tcase_add_checked_fixture(tests, set_up, remove_folder);
  tcase_add_test(tests, output_that_cannot_be_written_is_an_error);
  tcase_add_test(tests, a_pipe_that_nobody_reads_is_an_error);
  tcase_add_test(tests, closed_streams_are_no_files);
  tcase_add_test(tests, what_is_no_file_is_written_through);
  tcase_add_test(tests, plots_and_gradients_likewise);
  tcase_add_test(tests, nothing_is_written_on_errors);
#ifndef __SANITIZE_ADDRESS__ /* it takes all the space there is */
  tcase_add_test(tests, little_address_space);
#else
  (void)little_address_space;
#endif
  tcase_add_test(tests, empty_values_are_refused);
  suite_add_tcase(suite, tests);
  runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? 0 : 1;
}
