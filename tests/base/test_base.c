/* What all rooms stand on: errors, limits, what may go to a terminal, output that is written whole or not at all. */
#include "base/limit.h"
#include "base/output.h"
#include "base/printable.h"
#include "base/room.h"
#include "base/text.h"
#include "base/verify.h"
#include "../suite.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static clarke_error error;
static char folder[] = "/tmp/clarke-base-XXXXXX";

/* --- room.h --- */

START_TEST(an_array_grows)
{
  size_t room = 0, before = 0, moves = 0;
  int *array = NULL;

  ck_assert(clarke_room(&array, &room, 0, sizeof *array) && array == NULL && room == 0);
  for (int n = 0; n < 1000; n++) {
    ck_assert_int_eq(clarke_make_room(&array, &room, (size_t)n + 1, sizeof *array, &error), CLARKE_OK);
    ck_assert(room > (size_t)n && (room == before || room >= 2 * before));
    moves += room != before;
    before = room;
    array[n] = n;
  }
  for (int n = 0; n < 1000; n++)
    ck_assert_int_eq(array[n], n);
  ck_assert_uint_lt(moves, 10);
  ck_assert(clarke_room(&array, &room, 100000, sizeof *array) && room >= 100000 && array[999] == 999);
  free(array);
}
END_TEST

START_TEST(without_memory_an_array_is_as_it_was)
{
  size_t room = 0, before;
  char *array = NULL, *old;

  ck_assert(clarke_room(&array, &room, 3, 1));
  array[2] = 'c';
  old = array;
  before = room;
  ck_assert(!clarke_room(&array, &room, SIZE_MAX, 1) && !clarke_room(&array, &room, SIZE_MAX / 8, 16));
  ck_assert_int_eq(clarke_make_room(&array, &room, SIZE_MAX / 2 + 2, 2, &error), CLARKE_ENOMEM);
  ck_assert(array == old && room == before && array[2] == 'c');
  room = SIZE_MAX / 2; /* twice as much is no size */
  ck_assert(!clarke_room(&array, &room, room + 1, 1) && array == old);
  free(array);
}
END_TEST

/* --- status.h --- */

START_TEST(contexts_come_before_messages)
{
  const clarke_status status = clarke_fail(&error, CLARKE_EINPUT, "no %s", "weight");

  ck_assert_int_eq(clarke_fail_in(&error, status, "node %d", 3), CLARKE_EINPUT);
  ck_assert_str_eq(error.text, "node 3: no weight");
  ck_assert_int_eq(error.code, CLARKE_EINPUT);
  ck_assert_int_eq(clarke_no_memory(&error), CLARKE_ENOMEM);
  ck_assert_str_eq(error.text, "out of memory");
  ck_assert_int_eq(clarke_fail_in(NULL, CLARKE_ENOMEM, "nowhere"), CLARKE_ENOMEM);
}
END_TEST

START_TEST(long_messages_are_cut)
{
  char name[2 * sizeof error.text];

  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  clarke_fail(&error, CLARKE_EINPUT, "%s", name);
  ck_assert_uint_eq(strlen(error.text), sizeof error.text - 1);
  clarke_fail_in(&error, CLARKE_EINPUT, "%s", name);
  ck_assert_uint_eq(strlen(error.text), sizeof error.text - 1);
}
END_TEST

/* --- printable.h, text.h --- */

START_TEST(bytes_are_shown)
{
  static const struct {
    const char *from, *to;
  } cases[] = {
    {"", ""}, {"a ~\n\t", "a ~\n\t"}, {"\r", "\\x0D"}, {"\x1b[2J", "\\x1B[2J"}, {"\x7f", "\\x7F"},
    {"\xe2\x80\xae", "\\xE2\\x80\\xAE"}, {"\xff", "\\xFF"},
  };
  char to[64];

  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const size_t n = clarke_printable(to, cases[i].from, strlen(cases[i].from));

    ck_assert_uint_eq(n, strlen(cases[i].to));
    ck_assert(memcmp(to, cases[i].to, n) == 0);
  }
  ck_assert_uint_eq(clarke_printable(to, "\0a", 2), 5);
  ck_assert(memcmp(to, "\\x00a", 5) == 0);
}
END_TEST

START_TEST(endings_and_names)
{
  ck_assert(clarke_ends_with("net.onnx", ".onnx"));
  ck_assert(clarke_ends_with(".onnx", ".onnx"));
  ck_assert(clarke_ends_with("x", ""));
  ck_assert(!clarke_ends_with("onnx", ".onnx"));
  ck_assert(!clarke_ends_with("net.onnx.bak", ".onnx"));
  ck_assert_str_eq(clarke_base_name("a/b/c"), "c");
  ck_assert_str_eq(clarke_base_name("c"), "c");
  ck_assert_str_eq(clarke_base_name("a/"), "");
}
END_TEST

START_TEST(texts_by_a_format)
{
  char *text = clarke_text_print("%s of %d", "one", 3), *cut = clarke_text_print("%2000d", 7);

  ck_assert_str_eq(text, "one of 3");
  ck_assert_uint_eq(strlen(cut), 1023);
  free(text);
  free(cut);
}
END_TEST

/* --- limit.h --- */

START_TEST(limits_are_set_by_name)
{
  static const char *const wrong[] = {"", "nodes", "nodes=", "nodes=-1", "nodes= 1", "nodes=1k", "nodes=+1", "node=1", "=1",
                                      "nodes=0", "nodes=16385", "nodes=99999999999999999999999"};
  const size_t before = clarke_limit_of(CLARKE_LIMIT_NODES);

  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    ck_assert_msg(clarke_limit_set(wrong[i], &error) == CLARKE_EINPUT, "%s", wrong[i]);
    ck_assert_msg(strstr(error.text, "--limit") != NULL, "%s", error.text);
    ck_assert_uint_eq(clarke_limit_of(CLARKE_LIMIT_NODES), before);
  }
  ck_assert_int_eq(clarke_limit_set("nodes=16384", &error), CLARKE_OK);
  ck_assert_uint_eq(clarke_limit_of(CLARKE_LIMIT_NODES), 16384);
  ck_assert_int_eq(clarke_limit_set("nodes=1", &error), CLARKE_OK);
  ck_assert_uint_eq(clarke_limit_of(CLARKE_LIMIT_NODES), 1);
  ck_assert_int_eq(clarke_limit_fail(&error, CLARKE_LIMIT_NODES, "%d nodes", 2), CLARKE_ENOMEM);
  ck_assert_str_eq(error.text, "2 nodes; the limit is 1 (--limit nodes=N raises it)");
}
END_TEST

/* Some limits grow with what is read beyond the first megabyte, up to what is supported; one that was set does not. */
START_TEST(limits_grow_with_the_input)
{
  const size_t entries = clarke_limit_of(CLARKE_LIMIT_ENTRIES), text = clarke_limit_of(CLARKE_LIMIT_TEXT);

  ck_assert_int_eq(clarke_limit_set("unpacked=7", &error), CLARKE_OK);
  clarke_limit_input(CLARKE_LIMIT_BYTES);
  ck_assert_uint_eq(clarke_limit_of(CLARKE_LIMIT_ENTRIES), entries);
  clarke_limit_input(10);
  ck_assert_uint_eq(clarke_limit_of(CLARKE_LIMIT_ENTRIES), entries + 10 * 1024);
  ck_assert_uint_eq(clarke_limit_of(CLARKE_LIMIT_TEXT), text);
  ck_assert_uint_eq(clarke_limit_of(CLARKE_LIMIT_UNPACKED), 7);
  clarke_limit_input((size_t)1 << 62);
  ck_assert_uint_eq(clarke_limit_of(CLARKE_LIMIT_ENTRIES), (size_t)1 << 36);
}
END_TEST

/* --- output.h --- */

static const char *
path_of(const char *name)
{
  static char path[128];

  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void
holds(const char *path, const char *text)
{
  char read[64] = "";
  FILE *f = fopen(path, "rb");

  ck_assert_ptr_nonnull(f);
  read[fread(read, 1, sizeof read - 1, f)] = '\0';
  fclose(f);
  ck_assert_str_eq(read, text);
}

static clarke_status
put(const char *path, const char *text, clarke_status status)
{
  clarke_output o;

  ck_assert_int_eq(clarke_output_open(&o, path, &error), CLARKE_OK);
  fputs(text, o.to);
  return clarke_output_close(&o, status, path, &error);
}

START_TEST(files_are_written_whole_or_not_at_all)
{
  char link[128];
  struct stat st;

  ck_assert_int_eq(put(path_of("new"), "one", CLARKE_EINPUT), CLARKE_EINPUT);
  ck_assert_int_ne(access(path_of("new"), F_OK), 0);
  ck_assert_int_eq(put(path_of("new"), "one", CLARKE_OK), CLARKE_OK);
  ck_assert_int_eq(put(path_of("new"), "two", CLARKE_EINPUT), CLARKE_EINPUT);
  holds(path_of("new"), "one");
  strcpy(link, path_of("link"));
  ck_assert_int_eq(symlink("new", link), 0);
  ck_assert_int_eq(put(link, "three", CLARKE_OK), CLARKE_OK);
  holds(path_of("new"), "three");
  ck_assert(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
  ck_assert_int_eq(put("/dev/null", "four", CLARKE_OK), CLARKE_OK);
  ck_assert_int_ne(put("/dev/full", "five", CLARKE_OK), CLARKE_OK);
  ck_assert_ptr_nonnull(strstr(error.text, "/dev/full"));
  ck_assert_int_eq(unlink(link), 0);
  ck_assert_int_eq(unlink(path_of("new")), 0);
  ck_assert_int_eq(rmdir(folder), 0); /* nothing was left beside it */
}
END_TEST

START_TEST(nothing_is_created_nowhere)
{
  clarke_output o;

  ck_assert_int_ne(clarke_output_open(&o, "/no-such-folder/file", &error), CLARKE_OK);
  ck_assert_ptr_nonnull(strstr(error.text, "/no-such-folder/file"));
}
END_TEST

/* A process that ends in the middle of an output leaves the folder as it was. */
START_TEST(an_abandoned_output_leaves_nothing)
{
  char here[] = "/tmp/clarke-base-XXXXXX", path[64], after[64], command[128];
  clarke_output o;

  ck_assert_ptr_nonnull(mkdtemp(here));
  snprintf(path, sizeof path, "%s/abandoned", here);
  snprintf(after, sizeof after, "%s/after", here);
  ck_assert_int_eq(clarke_output_open(&o, path, &error), CLARKE_OK);
  fputs("half", o.to);
  fflush(o.to);
  snprintf(command, sizeof command, "ls -A %s | grep -q abandoned", here);
  ck_assert_int_eq(system(command), 0);
  clarke_output_abandon();
  ck_assert_int_ne(system(command), 0);
  clarke_output_abandon(); /* there is none */
  ck_assert_int_ne(clarke_output_close(&o, CLARKE_OK, path, &error), CLARKE_OK);
  ck_assert_int_eq(clarke_output_open(&o, after, &error), CLARKE_OK);
  fputs("whole", o.to);
  ck_assert_int_eq(clarke_output_close(&o, CLARKE_OK, after, &error), CLARKE_OK);
  clarke_output_abandon();
  ck_assert_int_eq(unlink(after), 0);
  ck_assert_int_eq(rmdir(here), 0);
}
END_TEST

START_TEST(texts_in_memory)
{
  clarke_text t = {NULL, NULL, 0, 0};

  clarke_text_clear(&t);
  ck_assert_int_eq(clarke_text_open(&t, &error), CLARKE_OK);
  fprintf(t.to, "%s", "seven");
  ck_assert_int_eq(clarke_text_close(&t, CLARKE_OK, &error), CLARKE_OK);
  ck_assert_uint_eq(t.size, 5);
  ck_assert_str_eq(t.text, "seven");
  clarke_text_clear(&t);
  ck_assert_ptr_null(t.text);
  ck_assert_int_eq(clarke_text_open(&t, &error), CLARKE_OK);
  ck_assert_int_eq(clarke_text_close(&t, CLARKE_EINPUT, &error), CLARKE_EINPUT);
  clarke_text_clear(&t);
}
END_TEST

static char *
printed(const char *format, ...)
{
  va_list args;
  char *text;

  va_start(args, format);
  text = clarke_text_vprint(format, args);
  va_end(args);
  return text;
}

START_TEST(texts_by_arguments)
{
  char *text = printed("%s %d %.2f", "a", -3, 0.25);

  ck_assert_str_eq(text, "a -3 0.25");
  free(text);
  text = printed("%2000d", 7); /* 1023 bytes are kept */
  ck_assert_uint_eq(strlen(text), 1023);
  free(text);
}
END_TEST

/* It says what and where, and aborts. */
START_TEST(a_broken_promise)
{
  char said[256] = "";
  int ends[2], status;
  ssize_t n = 0, got;
  pid_t child;

  ck_assert_int_eq(pipe(ends), 0);
  child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    signal(SIGABRT, SIG_DFL);
    clarke_assertion_failed("n > 0", "lib/x.c", 17);
  }
  close(ends[1]);
  while ((got = read(ends[0], said + n, sizeof said - 1 - (size_t)n)) > 0)
    n += got;
  close(ends[0]);
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  ck_assert_str_eq(said, "clarke: lib/x.c:17: an invariant is broken: n > 0\nThis is an error of clarke's own.\n");
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("base");

  if (mkdtemp(folder) == NULL)
    return 1;
  tcase_add_test(tests, contexts_come_before_messages);
  tcase_add_test(tests, long_messages_are_cut);
  tcase_add_test(tests, bytes_are_shown);
  tcase_add_test(tests, endings_and_names);
  tcase_add_test(tests, texts_by_a_format);
  tcase_add_test(tests, limits_are_set_by_name);
  tcase_add_test(tests, limits_grow_with_the_input);
  tcase_add_test(tests, files_are_written_whole_or_not_at_all);
  tcase_add_test(tests, nothing_is_created_nowhere);
  tcase_add_test(tests, an_abandoned_output_leaves_nothing);
  tcase_add_test(tests, texts_in_memory);
  tcase_add_test(tests, texts_by_arguments);
  tcase_add_test(tests, a_broken_promise);
  tcase_add_test(tests, an_array_grows);
  tcase_add_test(tests, without_memory_an_array_is_as_it_was);
  return run_tests();
}
