/* clarke-check on the proofs of index.txt, those kept as edits written out (edits.py). Each must end with its status and say why, and say of
 * a right one what said.txt has; no changed byte of a right proof may pass, and no changed byte of anything may crash it. */
#include "../draw.h"
#include "apart.h"
#include "heard.h"
#include "check/proof.h"
#include "check/base/sha256.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SAID 16384 /* more than is said */

static char folder[] = "/tmp/clarke-kernel-XXXXXX";
static uint64_t state = 7;

/* Below n. */
static size_t
any(size_t n)
{
  return draw_below(&state, n);
}

/* Of the changes one in so many: under the sanitizers a child takes ten times as long. */
static size_t
one_in(void)
{
  return draw_one_in() > 1 ? 2 * draw_one_in() : 1;
}

/* Runs the program itself; its output's beginning in said. */
static int
run_program(const char *threads, const char *proof, const char *data, char *said, size_t size)
{
  int ends[2];
  pid_t child = fork_heard(ends);

  if (child == 0) {
    execl(CLARKE_CHECK, "clarke-check", proof, "--data", data, "--threads", threads, (char *)NULL);
    _exit(99);
  }
  return heard(child, ends, proof, said, size);
}

static void
write_file(const char *path, bytes b)
{
  FILE *f = fopen(path, "wb");

  ck_assert(f != NULL);
  ck_assert_uint_eq(fwrite(b.data, 1, b.size, f), b.size);
  fclose(f);
}

/* Line i of index.txt: FILE STATUS REASON. */
static bool
case_at(size_t i, char *path, size_t size, int *status, char *reason)
{
  FILE *f = fopen(DATA "/index.txt", "r");
  char line[512], name[256];
  bool found = true;

  ck_assert(f != NULL);
  for (size_t j = 0; j <= i && found; j++)
    found = fgets(line, sizeof line, f) != NULL;
  fclose(f);
  if (!found)
    return false;
  line[strcspn(line, "\n")] = '\0';
  ck_assert_int_eq(sscanf(line, "%255s %d %255[^\n]", name, status, reason), 3);
  snprintf(path, size, PROOFS "/%s", name);
  return true;
}

/* The statement names the proof's loss, and no other. */
static void
one_loss(const char *path, const char *said)
{
  static const char *const names[] = {"sum", "mse", "ce"};
  char line[32];
  bytes b = read_file(path);

  b.data[b.size - 1] = '\0';
  for (size_t i = 0; i < 3; i++) {
    snprintf(line, sizeof line, "\nloss %s\n", names[i]);
    bool stated = strstr((const char *)b.data, line) != NULL;
    snprintf(line, sizeof line, "\nLoss: %s, ", names[i]);
    ck_assert_msg((strstr(said, line) != NULL) == stated, "%s: loss %s: %s", path, names[i], said);
  }
  free(b.data);
}

/* A proof up to its evidence. */
static bytes
statement_of(const char *path)
{
  bytes b = read_file(path);

  for (size_t at = 0; at + 9 < b.size; at++)
    if (memcmp(b.data + at, "\nevidence", 9) == 0)
      b.size = at;
  return b;
}

typedef struct {
  bytes statement;
  char *text;
} answer;

/* Two statements have two texts, without a character that may steer a terminal. */
static void
words_of_their_own(const answer *answers, size_t n)
{
  size_t others = 0;

  for (size_t i = 0; i < n; i++) {
    const bytes one = answers[i].statement;
    const char *text = answers[i].text;

    for (size_t j = 0; j < i; j++) {
      const bytes other = answers[j].statement;
      if (one.size == other.size && memcmp(one.data, other.data, one.size) == 0)
        continue;
      others++;
      ck_assert_msg(strcmp(text, answers[j].text) != 0, "two statements, one text: %s", text);
    }
    for (const char *c = text; *c != '\0'; c++)
      ck_assert_msg(*c == '\n' || (*c >= ' ' && *c <= '~'), "a character that may steer a terminal: %s", text);
  }
  ck_assert_uint_gt(others, 5000);
}

/* All that is printed of a proof that holds, to the letter: said.txt has it (said.py writes it). */
static void
said_as_ever(const char *path, const char *said)
{
  static bytes all;
  char head[300];

  if (all.data == NULL) {
    all = read_file(DATA "/said.txt");
    all.data = realloc(all.data, all.size + 1);
    ck_assert(all.data != NULL);
    all.data[all.size] = '\0';
  }
  snprintf(head, sizeof head, "== %s\n", strrchr(path, '/') + 1);
  const char *expected = strstr((const char *)all.data, head);
  ck_assert_msg(expected != NULL, "%s is not in said.txt", path);
  expected += strlen(head);
  size_t n = strlen(said);
  ck_assert_msg(strncmp(expected, said, n) == 0 && (expected[n] == '\0' || strncmp(expected + n, "== ", 3) == 0), "%s: %s", path, said);
}

static void
judged_as(const char *path, const char *said, int status, const char *reason)
{
  ck_assert_msg(strstr(said, reason) != NULL, "%s: '%s' expected: %s", path, reason, said);
  ck_assert_msg(status == 0 || strstr(said, "VERIFIED") == NULL, "%s: %s", path, said);
  ck_assert_msg(status == 2 || strncmp(said, status == 0 ? "VERIFIED\n" : "FAILED line ", 9) == 0, "%s", said);
  if (status == 0) {
    one_loss(path, said);
    said_as_ever(path, said);
  }
}

/* By any number of threads, with the same words. */
START_TEST(proofs_are_judged)
{
  enum { CASES = 1024 };
  static const size_t threads[] = {2, 3, 64};
  static answer answers[CASES];
  char path[512], reason[256], said[SAID], again[SAID];
  int status;
  size_t n = 0;

  for (size_t i = 0; case_at(i, path, sizeof path, &status, reason); i++) {
    int got = check_apart(path, DATA, 1, said, sizeof said);
    ck_assert_msg(got == status, "%s: status %d, expected %d: %s", path, got, status, said);
    judged_as(path, said, status, reason);
    ck_assert_int_eq(check_apart(path, DATA, threads[i % 3], again, sizeof again), status);
    ck_assert_msg(strcmp(said, again) == 0, "%s: %s, or %s", path, said, again);
    if (status != 0)
      continue;
    ck_assert_uint_lt(n, CASES);
    answers[n++] = (answer){statement_of(path), strdup(said)};
  }
  words_of_their_own(answers, n);
  for (size_t i = 0; i < n; i++) {
    free(answers[i].statement.data);
    free(answers[i].text);
  }
}
END_TEST

/* The index names every proof of the folder, each once. */
START_TEST(no_proof_is_left_out)
{
  char path[512], reason[256];
  size_t listed = 0, found = 0;
  DIR *all = opendir(PROOFS);
  int status;

  ck_assert(all != NULL);
  for (const struct dirent *e; (e = readdir(all)) != NULL;) {
    size_t n = strlen(e->d_name);
    found += n > 6 && strcmp(e->d_name + n - 6, ".proof") == 0;
  }
  closedir(all);
  for (; case_at(listed, path, sizeof path, &status, reason); listed++)
    ck_assert_msg(access(path, R_OK) == 0, "%s", path);
  ck_assert_uint_gt(listed, 400);
  ck_assert_uint_eq(listed, found);
}
END_TEST

START_TEST(stored_proofs_hold)
{
  char path[512], said[SAID];
  static const char *const names[] = {"lemma2", "lemma3", "abs", "global-only", "leaky-cascade",
                                      "digits-relu-init", "digits-sigmoid-relu", "digits-relu-later", "lemma7",
                                      "two-windows", "opposite-images", "one-window", "zero-gamma-beta",
                                      "lenet-q6-pair", "lenet-init", "digits-batchnorm", "digits-batchnorm-pruned",
                                      "digits-layernorm", "digits-layernorm-gamma-beta"};

  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    snprintf(path, sizeof path, ROOT "/proofs-data/%s.proof", names[i]);
    ck_assert_msg(run_program("2", path, ROOT "/cases/audit", said, sizeof said) == 0, "%s: %s", path, said);
  }
}
END_TEST

/* Every byte of every right proof, changed in one way; cut off at some places. */
START_TEST(changed_proofs_fail)
{
  char path[512], changed[512], reason[256], said[SAID];
  int status;

  snprintf(changed, sizeof changed, "%s/changed.proof", folder);
  for (size_t i = 0; case_at(i, path, sizeof path, &status, reason); i++) {
    if (status != 0)
      continue;
    bytes b = read_file(path);
    bool all = strstr(path, "lemma2.") != NULL || strstr(path, "abs.") != NULL || strstr(path, "lemma7.") != NULL
               || strstr(path, "/layer-outside.") != NULL || strstr(path, "/trained.") != NULL || strstr(path, "/global-mean.") != NULL;
    for (size_t at = all ? 0 : any(60); at < b.size; at += all ? one_in() : 1 + any(150 * one_in())) {
      unsigned char old = b.data[at];
      b.data[at] ^= (unsigned char)(1 + any(255));
      write_file(changed, b);
      ck_assert_msg(check_apart(changed, DATA, 1, said, sizeof said) == 1, "%s, byte %zu: %s", path, at, said);
      ck_assert(strstr(said, "VERIFIED") == NULL);
      b.data[at] = old;
    }
    for (size_t cut = 0; cut < 1 + 3 / one_in(); cut++) {
      write_file(changed, (bytes){b.data, any(b.size)});
      ck_assert_int_eq(check_apart(changed, DATA, 1, said, sizeof said), 1);
    }
    free(b.data);
  }
}
END_TEST

/* Ends a proof anew. */
static bytes
seal(bytes b)
{
  char hex[65];
  size_t told = b.size - 69;

  sha256((bytes){b.data, told}, hex);
  memcpy(b.data + told + 4, hex, 64);
  return b;
}

/* Changed bytes with a right end must be read to their end, or refused; never more than that. */
START_TEST(sealed_nonsense_does_no_harm)
{
  static const char *const names[] = {"lemma2", "lemma3", "abs", "two", "abs-hull", "sigmoid", "prelu-flat",
                                      "opposed", "lemma7", "tied-mean", "tied-relu-up", "norm-exact-hull", "bound",
                                      "bound-windows", "bound-behind-branch", "bound-both", "simplices", "simplices-two",
                                      "simplices-others", "simplices-windows", "simplices-ce-0", "layer-mix",
                                      "layer-outside", "layer-exact-half", "trained", "trained-exact", "global-mean",
                                      "global-two"};
  char path[512], changed[512], said[SAID];

  snprintf(changed, sizeof changed, "%s/sealed.proof", folder);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    snprintf(path, sizeof path, PROOFS "/%s.proof", names[i]);
    bytes b = read_file(path);
    for (size_t round = 0; round < 75 / one_in(); round++) {
      size_t at = any(b.size - 69);
      unsigned char old = b.data[at];
      b.data[at] = (unsigned char)any(256);
      if (any(2) == 0)
        b.data[at] = (unsigned char)"0123456789-/ \n"[any(14)];
      write_file(changed, seal(b));
      int status = check_apart(changed, DATA, 1, said, sizeof said);
      ck_assert_msg(status <= 2, "%s, byte %zu: %s", path, at, said);
      ck_assert_msg(status == 2 || strncmp(said, status ? "FAILED line " : "VERIFIED\n", 9) == 0, "%s", said);
      b.data[at] = old;
    }
    free(b.data);
  }
}
END_TEST

/* Models, parameters and batches with changed bytes, whose hash the proof states. */
START_TEST(broken_inputs_do_no_harm)
{
  static const char *const names[][3] = {{"lemma2", "lemma2.onnx", "lemma2.npz"},
    {"two", "two.onnx", "two.npz"}, {"sigmoid", "sigmoid.onnx", "sigmoid.npz"},
    {"abs", "abs.onnx", "abs.npz"}, {"conv", "conv.onnx", "conv.npz"}, {"norm", "norm.onnx", "norm.npz"},
    {"lemma7", "lemma7.onnx", "lemma7.npz"}, {"layer-sum", "layer.onnx", "layer.npz"},
    {"trained", "trained.onnx", "trained.npz"}, {"global-line-mean", "global-line.onnx", "global-line.npz"}};
  char path[512], changed[512], said[SAID], old[65], new[65];

  for (size_t i = 0; i < 2 * sizeof names / sizeof *names; i++) {
    const char *const *name = names[i / 2];
    const char *input = name[1 + i % 2], *other = name[2 - i % 2];
    snprintf(path, sizeof path, DATA "/%s", other);
    snprintf(changed, sizeof changed, "%s/%s", folder, other);
    write_file(changed, read_file(path));
    snprintf(path, sizeof path, DATA "/%s", input);
    bytes data = read_file(path);
    snprintf(path, sizeof path, PROOFS "/%s.proof", name[0]);
    bytes proof = read_file(path);
    sha256(data, old);
    for (size_t round = 0; round < 100 / one_in(); round++) {
      size_t at = any(data.size), size = any(4) == 0 ? at : data.size;
      unsigned char before = data.data[at];
      data.data[at] = (unsigned char)(any(3) == 0 ? 255 : any(256));
      sha256((bytes){data.data, size}, new);
      snprintf(changed, sizeof changed, "%s/%s", folder, input);
      write_file(changed, (bytes){data.data, size});
      for (size_t j = 0; j + 64 < proof.size; j++)
        if (memcmp(proof.data + j, old, 64) == 0)
          memcpy(proof.data + j, new, 64);
      memcpy(old, new, 65);
      snprintf(changed, sizeof changed, "%s/%s.proof", folder, name[0]);
      write_file(changed, seal(proof));
      int status = check_apart(changed, folder, 1, said, sizeof said);
      ck_assert_msg(status <= 2 && strstr(said, "memory") == NULL, "%s, byte %zu: %s", input, at, said);
      data.data[at] = before;
    }
  }
}
END_TEST

/* What was wrong on the command line stays wrong, whatever comes behind it. */
START_TEST(wrong_words_stay_wrong)
{
  static const char *const wrong[][2] = {{"--unknown", "--threads"}, {PROOFS "/lemma2.proof", "--threads"}, {"--threads=0", "--threads"}};
  char said[SAID];
  int ends[2];

  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    pid_t child = fork_heard(ends);
    if (child == 0) {
      execl(CLARKE_CHECK, "clarke-check", PROOFS "/lemma2.proof", wrong[i][0], wrong[i][1], "2", "--data", DATA, (char *)NULL);
      _exit(99);
    }
    ck_assert_int_eq(heard(child, ends, wrong[i][0], said, sizeof said), 2);
    ck_assert_msg(strstr(said, "Usage: ") != NULL, "%s: %s", wrong[i][0], said);
  }
}
END_TEST

START_TEST(options_are_gnu)
{
  char said[SAID];

  ck_assert_int_eq(run_program("2", "--help", DATA, said, sizeof said), 0);
  ck_assert(strncmp(said, "Usage: ", 7) == 0);
  ck_assert_int_eq(run_program("2", "--version", DATA, said, sizeof said), 0);
  ck_assert(strncmp(said, "clarke-check ", 13) == 0);
  ck_assert_int_eq(run_program("2", "--unknown", DATA, said, sizeof said), 2);
  ck_assert_int_eq(run_program("0", PROOFS "/lemma2.proof", DATA, said, sizeof said), 2);
  ck_assert_int_eq(run_program("-1", PROOFS "/lemma2.proof", DATA, said, sizeof said), 2);
  ck_assert_int_eq(run_program("two", PROOFS "/lemma2.proof", DATA, said, sizeof said), 2);
  ck_assert_int_eq(run_program("2", DATA "/no-such.proof", DATA, said, sizeof said), 2);
  ck_assert(strstr(said, "cannot be opened") != NULL);
}
END_TEST

int
main(void)
{
  TCase *t = tests_of("check proofs");

  if (mkdtemp(folder) == NULL)
    return EXIT_FAILURE;
  tcase_add_test(t, proofs_are_judged);
  tcase_add_test(t, no_proof_is_left_out);
  tcase_add_test(t, stored_proofs_hold);
  tcase_add_test(t, changed_proofs_fail);
  tcase_add_test(t, sealed_nonsense_does_no_harm);
  tcase_add_test(t, broken_inputs_do_no_harm);
  tcase_add_test(t, options_are_gnu);
  tcase_add_test(t, wrong_words_stay_wrong);
  return run_tests();
}
