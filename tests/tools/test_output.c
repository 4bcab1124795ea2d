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
  CHECKER " " STORED "/lemma2.proof --data " CASES "/audit",
  CHECKER " " STORED "/runs/words.proof --data " CASES "/runs/words", /* over 4,096 bytes: a stream's buffer is not all */
  CHECKER " --show " CASES "/audit/lenet.onnx",
  CHECKER " --help",
  CHECKER " --version",
  "echo no proof >wrong; " CHECKER " wrong",
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

/* The command ends as if all had been read. (The checker's is an error: its one word is the answer.) */
START_TEST(a_pipe_that_nobody_reads_is_no_error)
{
  for (size_t i = 0; i < N_COMMANDS; i++) {
    const bool checker = strstr(commands[i], CHECKER) != NULL;
    const int read = run("%s", commands[i]);
    const bool silent = is_empty("err");

    /* The reader is gone when the command begins. */
    ck_assert_int_eq(run("rm -f gone; mkfifo gone; { : <gone; echo >closed; } & exec 3>gone; "
                         "while [ ! -e closed ]; do sleep 0.01; done; rm closed; (trap '' PIPE; %s >&3)",
                         commands[i]), checker ? 2 : read);
    ck_assert_msg(is_empty("err") == (silent && !checker), "%s", commands[i]);
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

/* Too little stack ends no process without a word. */
START_TEST(little_stack)
{
  static const char *const kilobytes[] = {"64", "128", "1024", "4095"};

  for (size_t i = 0; i < N_COMMANDS; i++) {
    const bool computes = strstr(commands[i], "--help") == NULL && strstr(commands[i], "--version") == NULL;
    const int right = run("%s", commands[i]);

    for (size_t k = 0; k < sizeof kilobytes / sizeof kilobytes[0]; k++) {
      int status = run("(ulimit -s %s; %s)", kilobytes[k], commands[i]);

      ck_assert_msg(status == (computes ? 2 : right) || strstr(commands[i], "--help") != NULL, "%s, %s kB: %d", commands[i], kilobytes[k], status);
      if (computes)
        file_says("err", "4096 KiB are needed (ulimit -s)");
    }
    ck_assert_msg(run("(ulimit -s 4096; %s)", commands[i]) == right, "%s", commands[i]);
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

/* ---- names that could steer a terminal */

#define TURNED "\xe2\x80\xae" /* U+202E: what follows is written from right to left */
#define ESCAPE "\x1b[2J"

/* Names of files: how they are shown in text and in JSON. */
static const struct {
  const char *name, *text, *json;
} hostile[] = {
  {TURNED "xnno.onnx", "\\xE2\\x80\\xAExnno.onnx", "\"\\u202Exnno.onnx\""},
  {ESCAPE "x.onnx", "\\x1B[2Jx.onnx", "\"\\u001B[2Jx.onnx\""},
  {"\xff\x80x.onnx", "\\xFF\\x80x.onnx", "\"\\\\xFF\\\\x80x.onnx\""},
  {"\r\x7f\xc2\x9bx.onnx", "\\x0D\\x7F\\xC2\\x9Bx.onnx", "\"\\r\\u007F\\u009Bx.onnx\""},
};

/* The file holds the text and, beside ends of lines, printable ASCII alone. */
static void
shows(const char *name, const char *text)
{
  size_t size;
  char *all = contents_of(name, &size);

  ck_assert_msg(strstr(all, text) != NULL, "'%s' expected: %s", text, all);
  for (size_t i = 0; i < size; i++)
    ck_assert_msg((all[i] >= ' ' && all[i] <= '~') || all[i] == '\n', "byte %02x in %s", (unsigned char)all[i], all);
  free(all);
}

START_TEST(names_of_files_steer_no_terminal)
{
  for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
    const char *name = hostile[i].name;

    ck_assert_int_eq(run("%s audit '%s' --batch %s/audit/lemma2.npz", CLARKE, name, CASES), 2);
    shows("err", hostile[i].text);
    ck_assert_int_eq(run("%s derive --wrt '%s'", CLARKE, name), 2);
    ck_assert_int_eq(run("%s audit '--%s'", CLARKE, name), 2); /* argp's own words */
    shows("err", hostile[i].text);
    ck_assert_int_eq(run("%s '%s'", CLARKE, name), 2);
    shows("err", hostile[i].text);
    ck_assert_int_eq(run("cp %s/audit/lemma2.onnx '%s'; %s audit '%s' --batch %s/audit/lemma2.npz", CASES, name, CLARKE,
                         name, CASES), 1);
    shows("out", hostile[i].text);
    ck_assert_int_eq(run("%s 'gone%s'", CHECKER, name), 2);
    shows("err", "cannot read: gone");
    ck_assert_int_eq(run("%s --show 'gone%s' 'gone%s'", CHECKER, name, name), 2);
    shows("out", "refused gone");
  }
}
END_TEST

START_TEST(names_in_json_are_ascii)
{
  for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
    const char *name = hostile[i].name;

    ck_assert_int_eq(run("cp %s/audit/lemma2.onnx '%s'; %s audit '%s' --batch %s/audit/lemma2.npz --json", CASES, name,
                         CLARKE, name, CASES), 1);
    shows("out", hostile[i].json);
  }
}
END_TEST

/* Of a node, a parameter, a comment; a profile. */
START_TEST(names_in_files_steer_no_terminal)
{
  ck_assert_int_eq(run("LC_ALL=C sed 's/rho/" TURNED "/g' %s/audit/lemma2.onnx >n.onnx; %s audit n.onnx --batch "
                       "%s/audit/lemma2.npz", CASES, CLARKE, CASES), 1);
  shows("out", "\\xE2\\x80\\xAE");
  ck_assert_int_eq(run("%s audit n.onnx --batch %s/audit/lemma2.npz --json", CLARKE, CASES), 1);
  shows("out", "\"\\u202E\"");
  ck_assert_int_eq(run("%s audit n.onnx --batch %s/audit/lemma2.npz --wrt '" TURNED "'", CLARKE, CASES), 2);
  shows("err", "\\xE2\\x80\\xAE");
  ck_assert_int_eq(run("printf '" ESCAPE " 0 1\\n' >'" TURNED ".profile'; %s audit n.onnx --batch %s/audit/lemma2.npz "
                       "--profile '" TURNED ".profile'", CLARKE, CASES), 2);
  shows("err", "\\xE2\\x80\\xAE");
  ck_assert_int_eq(run("printf 'input x\\noutput x # " TURNED "\\ny" ESCAPE "\\n' >p.prog; %s derive p.prog --at x=1",
                       CLARKE), 2);
  shows("err", "p.prog:3");
}
END_TEST

/* The formatter's output is a program again: its comments stay. */
START_TEST(a_printed_program_keeps_its_comments)
{
  ck_assert_int_eq(run("printf 'input x\\noutput x # " TURNED "\\n' >p.prog; %s derive p.prog --print", CLARKE), 0);
  ck_assert_int_eq(run("%s derive p.prog --print | cmp - p.prog", CLARKE), 0);
  ck_assert_int_eq(run("mkdir c; printf '#: claim A\\n#: where " TURNED "\\n#: says " TURNED "\\n#: at x=1\\n"
                       "#: expect value 1\\ninput x\\noutput x\\n' >c/a.prog; %s reproduce --cases c", CLARKE), 0);
  shows("out", "\\xE2\\x80\\xAE");
  ck_assert_int_eq(run("%s reproduce --cases c --json", CLARKE), 0);
  shows("out", "\\u202E");
}
END_TEST

START_TEST(ends_of_lines_in_names_are_refused)
{
  ck_assert_int_eq(run("%s audit 'a\nin-bouligand: .onnx' --batch b.npz", CLARKE), 2);
  file_says("err", "argument 2 holds the end of a line");
  ck_assert_int_eq(run("%s '\n'", CLARKE), 2);
  ck_assert_int_eq(run("mkdir d; cp %s/papers/bolte-zero.prog 'd/a\n.prog'; %s reproduce --cases d", CASES, CLARKE), 2);
  file_says("err", "d: a case there whose name holds the end of a line");
  ck_assert_int_eq(run("%s 'a\nVERIFIED'", CHECKER), 2);
  shows("err", "a?VERIFIED");
  ck_assert_int_eq(run("%s --show 'a\nVERIFIED'", CHECKER), 2);
  shows("out", "refused a?VERIFIED\n");
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("output");

  tcase_add_checked_fixture(tests, set_up, remove_folder);
  tcase_add_test(tests, output_that_cannot_be_written_is_an_error);
  tcase_add_test(tests, a_pipe_that_nobody_reads_is_no_error);
  tcase_add_test(tests, closed_streams_are_no_files);
  tcase_add_test(tests, what_is_no_file_is_written_through);
  tcase_add_test(tests, plots_and_gradients_likewise);
  tcase_add_test(tests, nothing_is_written_on_errors);
#ifndef SANITIZED /* it takes all the space there is */
  tcase_add_test(tests, little_address_space);
  tcase_add_test(tests, little_stack);
#else
  (void)little_address_space;
  (void)little_stack;
#endif
  tcase_add_test(tests, empty_values_are_refused);
  tcase_add_test(tests, names_of_files_steer_no_terminal);
  tcase_add_test(tests, names_in_json_are_ascii);
  tcase_add_test(tests, names_in_files_steer_no_terminal);
  tcase_add_test(tests, a_printed_program_keeps_its_comments);
  tcase_add_test(tests, ends_of_lines_in_names_are_refused);
  return run_tests();
}
