/* What readers take texts and bytes apart with: words of SAT's formats, clauses as they are kept, numbers of tables, fields of
 * messages, files beside others, tensors that are decoded late. */
#include "describe.h"
#include "files.h"
#include "format/clausal_inside.h"
#include "format/dimacs_words.h"
#include "format/file.h"
#include "format/foreign.h"
#include "format/property.h"
#include "format/safetensors.h"
#include "format/table.h"
#include "format/vnnlib_inside.h"
#include "format/wire.h"
#include "../ok.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- words ----------------------------------------------------------------------------------- */

static clarke_dimacs_words
words_in(const char *text)
{
  return (clarke_dimacs_words){"f.cnf", (const unsigned char *)text, (const unsigned char *)text + strlen(text), 1, true};
}

START_TEST(words_and_lines)
{
  static const struct {
    const char *word;
    size_t line;
  } expected[] = {{"p", 2}, {"cnf", 2}, {"-3", 3}, {"c", 3}, {"0", 3}, {"a?b", 6}};
  clarke_dimacs_words p = words_in("c a comment 1 2\np \tcnf\n -3 c 0\r\n\nc 9\na\x01" "b");
  char word[CLARKE_WORD];

  for (size_t k = 0; k < 6; k++) {
    ck_assert(clarke_words_more(&p, true));
    ck_assert_uint_eq(p.line, expected[k].line);
    clarke_words_take(&p, word);
    ck_assert_str_eq(word, expected[k].word);
    ck_assert(!p.fresh);
  }
  ck_assert(!clarke_words_more(&p, true));
  p = words_in("  1 \n 2");
  ck_assert(clarke_words_more(&p, false));
  clarke_words_take(&p, word);
  ck_assert(!clarke_words_more(&p, false) && p.line == 1); /* the line ends */
  ck_assert(clarke_words_more(&p, true) && p.line == 2 && p.fresh);
  p = words_in("123456789012345678901234567890123456789012345678901234567890 x");
  ck_assert(clarke_words_more(&p, true));
  clarke_words_take(&p, word);
  ck_assert_uint_eq(strlen(word), CLARKE_WORD - 1); /* the rest of it is passed over */
  ck_assert(clarke_words_more(&p, true) && *p.at == 'x');
}
END_TEST

START_TEST(numbers_of_words)
{
  static const char *const good[] = {"0", "7", "-7", "100", "-100", "007"};
  static const char *const bad[] = {"", "-", "-0", "+1", "1x", "x", "101", "-101", "1.0", " 1", "0x1", "--1", "0000000000001"};
  static const long value[] = {0, 7, -7, 100, -100, 7};
  long number;

  for (size_t k = 0; k < 6; k++) {
    ck_assert_msg(clarke_words_number(good[k], -100, 100, &number), "%s", good[k]);
    ck_assert_int_eq(number, value[k]);
  }
  for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++)
    ck_assert_msg(!clarke_words_number(bad[k], -100, 100, &number), "%s", bad[k]);
  ck_assert(clarke_words_number("288230376151711744", 1, (long)CLARKE_CLAUSAL_NUMBERS, &number) && number == (long)CLARKE_CLAUSAL_NUMBERS);
  ck_assert(!clarke_words_number("288230376151711745", 1, (long)CLARKE_CLAUSAL_NUMBERS, &number));
  ck_assert(!clarke_words_number("9223372036854775808", 1, (long)CLARKE_CLAUSAL_NUMBERS, &number));
}
END_TEST

/* --- clauses --------------------------------------------------------------------------------- */

/* Many steps, whose parts lie end to end. */
START_TEST(kept_clauses)
{
  clarke_clausal p;

  clarke_clausal_init(&p);
  for (size_t k = 0; k < 300; k++) {
    OK(clarke_clausal_begin(&p, k % 3 == 0, k + 1, (int64_t)(10 * k), &error));
    for (size_t i = 0; i < k % 5; i++)
      OK(clarke_clausal_literal(&p, (int32_t)(k + i + 1), &error));
    for (size_t i = 0; i < k % 4; i++)
      OK(clarke_clausal_hint(&p, (int64_t)(i + 1), &error));
  }
  ck_assert_uint_eq(p.n, 300);
  for (size_t k = 0, literals = 0, hints = 0; k < 300; literals += k % 5, hints += k % 4, k++) {
    ck_assert(p.step[k].deletion == (k % 3 == 0) && p.step[k].place == k + 1 && p.step[k].number == (int64_t)(10 * k));
    ck_assert(p.step[k].first_literal == literals && p.step[k].first_hint == hints);
    for (size_t i = 0; i < k % 5; i++)
      ck_assert_int_eq(p.literal[literals + i], (int32_t)(k + i + 1));
    for (size_t i = 0; i < k % 4; i++)
      ck_assert_int_eq(p.hint[hints + i], (int64_t)(i + 1));
  }
  p.binary = false;
  ck_assert_int_eq(clarke_clausal_fail(&error, &p, "f.drat", 4, "it is %s", "odd"), CLARKE_EINPUT);
  ck_assert_str_eq(error.text, "f.drat:5: it is odd");
  p.binary = true;
  clarke_clausal_fail(&error, &p, "f.drat", 4, "odd");
  ck_assert_str_eq(error.text, "f.drat: byte 5: odd");
  clarke_clausal_clear(&p);
  clarke_clausal_clear(&p);
}
END_TEST

/* Binary DRAT against the same steps as text. */
START_TEST(binary_clauses)
{
  static const unsigned char data[] = {'a', 2, 5, 0, 'd', 0x80, 1, 0, 'a', 0xff, 0xff, 0xff, 0x7f, 0, 'a', 0};
  static const unsigned char bad[][7] = {{'x', 0}, {'a', 1, 0}, {'a', 0x80, 0x80, 0x80, 0x80, 0x80, 0}, {'a', 2, 4}};
  clarke_clausal p;

  clarke_clausal_init(&p);
  OK(clarke_clausal_binary(&p, data, sizeof data, "f.drat", &error));
  ck_assert_uint_eq(p.n, 4);
  ck_assert(p.literal[0] == 1 && p.literal[1] == -2 && p.literal[2] == 64 && p.literal[3] == -(int32_t)(0xfffffffu / 2));
  ck_assert(!p.step[0].deletion && p.step[1].deletion && p.step[1].place == 4 && p.step[3].first_literal == 4);
  clarke_clausal_clear(&p);
  for (size_t k = 0; k < 4; k++) {
    clarke_clausal_init(&p);
    ck_assert_int_eq(clarke_clausal_binary(&p, bad[k], k == 3 ? 3 : k == 2 ? 7 : 3 - (k == 0), "f.drat", &error), CLARKE_EINPUT);
    ck_assert_msg(strstr(error.text, k == 0 ? "byte 0: 120 begins no step" : "no literal or 0, in the step of byte 0") != NULL,
                  "%s", error.text);
    clarke_clausal_clear(&p);
  }
}
END_TEST

START_TEST(clauses_as_text)
{
  static const char text[] = "c a comment\n1 -2 0\nd 3 0\n0\n", late[] = "1 2\n";
  clarke_clausal p;

  clarke_clausal_init(&p);
  p.format = CLARKE_CLAUSAL_DRAT;
  OK(clarke_clausal_text(&p, (const unsigned char *)text, sizeof text - 1, "f.drat", &error));
  ck_assert(p.n == 3 && p.step[0].place == 2 && p.step[1].deletion && p.step[2].first_literal == 3 && p.n_literals == 3);
  clarke_clausal_clear(&p);
  clarke_clausal_init(&p);
  ck_assert_int_eq(clarke_clausal_text(&p, (const unsigned char *)late, sizeof late - 1, "f.drat", &error), CLARKE_EINPUT);
  clarke_clausal_clear(&p);
}
END_TEST

/* --- tables and messages --------------------------------------------------------------------- */

START_TEST(numbers_of_tables)
{
  static const struct {
    const char *word;
    long numerator;
    unsigned long denominator; /* 0: it is none */
  } word[] = {{"3", 3, 1}, {"-0.25", -1, 4}, {"1e-3", 1, 1000}, {"1/3", 1, 3}, {"2.5E1", 25, 1}, {"1e3", 1000, 1}, {"", 0, 0},
              {"1/0", 0, 0}, {"1e999999999", 0, 0}, {"1e99999999999999999999", 0, 0}, {"0x10", 0, 0}, {"nan", 0, 0}, {"inf", 0, 0},
              {"1 2", 0, 0}, {"--1", 0, 0}, {"pi", 0, 0}};
  mpq_t value;

  mpq_init(value);
  for (size_t k = 0; k < sizeof word / sizeof word[0]; k++) {
    const bool is = clarke_table_number(value, word[k].word);

    ck_assert_msg(is == (word[k].denominator > 0), "'%s'", word[k].word);
    ck_assert_msg(!is || mpq_cmp_si(value, word[k].numerator, word[k].denominator) == 0, "'%s'", word[k].word);
  }
  mpq_clear(value);
}
END_TEST

/* The payload of a field, wherever it stands; nothing of one that is not there, or behind what is broken. */
START_TEST(found_fields)
{
  static const clarke_wire_rule rules[] = {{1, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "name", NULL},
                                           {2, CLARKE_WIRE_VARINT, CLARKE_WIRE_ONE, "number", NULL},
                                           {3, CLARKE_WIRE_BYTES, CLARKE_WIRE_ONE, "text", NULL}};
  static const clarke_wire_message message = {"M", 3, rules};
  bytes b = {NULL, 0};
  clarke_wire_span all, found;

  put_int(&b, 2, 300);
  put_string(&b, 3, "here");
  put_string(&b, 1, "x");
  all = (clarke_wire_span){b.data, b.data, b.size};
  found = clarke_wire_find(all, &message, 3);
  ck_assert(found.size == 4 && memcmp(found.data, "here", 4) == 0);
  found = clarke_wire_find(all, &message, 1);
  ck_assert(found.size == 1 && *found.data == 'x');
  ck_assert_uint_eq(clarke_wire_find(all, &message, 4).size, 0);
  all.size -= 2; /* the last field is cut off */
  ck_assert_uint_eq(clarke_wire_find(all, &message, 1).size, 0);
  ck_assert_uint_eq(clarke_wire_find(all, &message, 3).size, 4);
  bytes_clear(&b);
}
END_TEST

/* --- files ----------------------------------------------------------------------------------- */

START_TEST(files_beside_others)
{
  char folder[] = "/tmp/clarke-words-XXXXXX", path[64], link[64];
  bytes b = {NULL, 0};
  clarke_file f;

  ck_assert_ptr_nonnull(mkdtemp(folder));
  put_text(&b, "abc");
  save_bytes(folder, "data", &b);
  snprintf(path, sizeof path, "%s/model.onnx", folder); /* which need not be there */
  OK(clarke_file_read_beside(&f, path, "data", &error));
  ck_assert(f.size == 3 && memcmp(f.data, "abc", 3) == 0);
  ck_assert_str_eq(f.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  clarke_file_clear(&f);
  ck_assert_int_ne(clarke_file_read_beside(&f, path, "none", &error), CLARKE_OK);
  clarke_file_clear(&f);
  snprintf(link, sizeof link, "%s/link", folder);
  ck_assert_int_eq(symlink("/etc/passwd", link), 0);
  ck_assert_int_ne(clarke_file_read_beside(&f, path, "link", &error), CLARKE_OK);
  clarke_file_clear(&f);
  OK(clarke_file_read_found(&f, link, &error));
  clarke_file_clear(&f);
  unlink(link);
  ck_assert_int_eq(mkfifo(link, 0600), 0); /* nobody writes to it, and nobody waits */
  ck_assert_int_eq(clarke_file_read_beside(&f, path, "link", &error), CLARKE_EINPUT);
  ck_assert_ptr_nonnull(strstr(error.text, "is no regular file"));
  ck_assert_int_eq(clarke_file_read_found(&f, link, &error), CLARKE_EINPUT);
  ck_assert_ptr_nonnull(strstr(error.text, "is no regular file"));
  unlink(link);
  snprintf(link, sizeof link, "%s/data", folder);
  unlink(link);
  rmdir(folder);
}
END_TEST

/* Read as they are stored, then decoded: the tensors that the other reader makes. */
START_TEST(tensors_decoded_late)
{
  static const char header[] = "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                               "\"b\":{\"dtype\":\"F16\",\"shape\":[1,1],\"data_offsets\":[8,10]}}";
  static const float a[] = {1.5F, -0.25F};
  bytes b = {NULL, 0};
  clarke_tensors packed, plain;

  put_word(&b, sizeof header - 1, 8);
  put_text(&b, header);
  put(&b, a, sizeof a);
  put_word(&b, 0x3800, 2); /* 0.5 */
  clarke_tensors_init(&packed);
  clarke_tensors_init(&plain);
  OK(clarke_safetensors_parse_packed(&packed, b.data, b.size, "t.safetensors", &error));
  OK(clarke_safetensors_parse(&plain, b.data, b.size, "t.safetensors", &error));
  ck_assert(packed.n == 2 && packed.tensor[0].real == NULL);
  OK(clarke_tensors_unpack(&packed, &error));
  OK(clarke_tensors_unpack(&packed, &error)); /* there is nothing left to do */
  for (size_t k = 0; k < 2; k++) {
    const clarke_tensor *x = &packed.tensor[k], *y = &plain.tensor[k];

    ck_assert(strcmp(x->name, y->name) == 0 && x->dtype == y->dtype && x->rank == y->rank && x->count == y->count);
    ck_assert_mem_eq(x->real, y->real, x->count * sizeof *x->real);
  }
  ck_assert(packed.tensor[1].real[0] == 0.5);
  clarke_tensors_clear(&packed);
  clarke_tensors_clear(&plain);
  bytes_clear(&b);
}
END_TEST

/* --- words of VNNLIB --------------------------------------------------------------------------- */

START_TEST(words_of_queries)
{
  static const char text[] = "; a comment\n(X_12 (- 0.5)\n)\tX_012";
  clarke_vnnlib_words w = {.at = text, .end = text + sizeof text - 1, .line = 1, .file = "q", .err = &error};
  mpq_t value;
  size_t i;

  mpq_init(value);
  OK(clarke_vnnlib_advance(&w));
  OK(clarke_vnnlib_take(&w, "("));
  ck_assert(clarke_vnnlib_is_variable(w.word, 'X', &i) && i == 12 && !clarke_vnnlib_is_variable(w.word, 'Y', &i) && w.line == 2);
  ck_assert_int_eq(clarke_vnnlib_take(&w, ")"), CLARKE_EINPUT);
  ck_assert_str_eq(error.text, "q: line 2: ')' is expected, at 'X_12'");
  OK(clarke_vnnlib_advance(&w));
  OK(clarke_vnnlib_number(&w, value));
  ck_assert(mpq_cmp_si(value, -1, 2) == 0 && w.line == 3);
  OK(clarke_vnnlib_take(&w, ")"));
  ck_assert(!clarke_vnnlib_is_variable(w.word, 'X', &i)); /* one spelling each */
  ck_assert_int_eq(clarke_vnnlib_number(&w, value), CLARKE_EINPUT);
  ck_assert_int_eq(clarke_vnnlib_refuse(&w, "no"), CLARKE_EINPUT);
  ck_assert_str_eq(error.text, "q: line 3: no, at 'X_012'");
  OK(clarke_vnnlib_advance(&w));
  ck_assert_str_eq(w.word, "");
  mpq_clear(value);
}
END_TEST

/* --- properties ------------------------------------------------------------------------------- */

#define DECLARED "(declare-const X_0 Real)\n(declare-const X_1 Real)\n(declare-const Y_0 Real)\n"

/* At x = (3, 1/2), y = -2. */
static void
margin_is(const char *assertions, const char *expected)
{
  clarke_number value[3], margin;
  clarke_query q = {0};
  char text[512], *found;

  snprintf(text, sizeof text, DECLARED "%s", assertions);
  OK(clarke_query_parse(&q, text, strlen(text), "p.vnnlib", &error));
  ck_assert(q.n_inputs == 2 && q.n_outputs == 1);
  clarke_number_init(&margin);
  for (size_t i = 0; i < 3; i++)
    clarke_number_init(&value[i]);
  clarke_number_set_si(&value[0], 3);
  mpq_set_ui(value[1].q, 1, 2);
  clarke_number_set_si(&value[2], -2);
  clarke_property_margin(&margin, &q.asserted, value, 64);
  found = clarke_number_text(&margin);
  ck_assert_msg(strcmp(found, expected) == 0, "%s: %s, expected %s", assertions, found, expected);
  free(found);
  for (size_t i = 0; i < 3; i++)
    clarke_number_clear(&value[i]);
  clarke_number_clear(&margin);
  clarke_query_clear(&q);
}

static void
query_fails(const char *assertions, const char *why)
{
  clarke_query q = {0};
  char text[512];

  snprintf(text, sizeof text, DECLARED "%s", assertions);
  ck_assert_int_eq(clarke_query_parse(&q, text, strlen(text), "p.vnnlib", &error), CLARKE_EINPUT);
  ck_assert_msg(strstr(error.text, why) != NULL, "%s: %s", assertions, error.text);
  ck_assert(q.n_inputs == 0 && q.asserted.part == NULL);
}

START_TEST(margins_of_properties)
{
  margin_is("(assert (<= X_0 5))", "2");
  margin_is("(assert (>= X_0 5))", "-2");
  margin_is("(assert (<= 5 X_0))", "-2");
  margin_is("(assert (<= Y_0 (- 2)))", "0");
  margin_is("(assert (<= X_0 5)) (assert (>= X_1 0.25))", "1/4");
  margin_is("(assert (or (<= X_0 5) (>= X_1 0.25) (<= X_0 (+ X_1 100))))", "195/2");
  margin_is("(assert (and (<= X_0 5) (or (>= X_1 1) (and (<= Y_0 0) (>= Y_0 -9)))))", "2");
  margin_is("(assert (or))", "-1");
  margin_is("(assert (and))", "1");
  margin_is("(assert (>= (- X_0) X_0))", "-6");
  margin_is("(assert (>= (- X_0 X_1 Y_0) 0))", "9/2");
  margin_is("(assert (>= (- (- X_0 (- X_1)) (- 1)) (* 2 (+ X_0 (* X_1 -1)))))", "-1/2");
  margin_is("(assert (<= (* (* 2 3) (+ 1 X_1)) (* X_0 (- 3))))", "-18");
  margin_is("(assert (<= (+ X_0 X_0 X_0) (+ X_0 7)))", "1");
  query_fails("", "nothing is asserted");
  query_fails("(assert (<= X_0 X_2))", "a declared X_i or Y_j");
  query_fails("(assert (<= Y_1 0))", "a declared X_i or Y_j");
  query_fails("(assert (<= (* X_0 X_1) 0))", "not linear");
  query_fails("(assert (< X_0 0))", "<=, >=, and, or");
  query_fails("(assert (<= X_0 0 1))", "')' is expected");
  query_fails("(assert (<= (+) 0))", "is expected");
  query_fails("(assert (<= X_0", "is expected");
  query_fails("(assert (and (<= X_0 0) X_1))", "')' is expected");
  query_fails("(assert (<= X_0 0)) (declare-const X_2 Real)", "declarations stand before");
  query_fails("(declare-const Y_2 Real)", "in order");
}
END_TEST

/* As deep as brackets go, and no deeper: each level is read once. */
START_TEST(deep_properties)
{
  for (int deep = 30; deep < 130; deep += 60) {
    char text[4096] = DECLARED "(assert (>= ";
    clarke_query q = {0};

    for (int i = 0; i < deep; i++)
      strcat(text, "(- ");
    strcat(text, "X_0");
    for (int i = 0; i < deep; i++)
      strcat(text, ")");
    strcat(text, " 0))");
    ck_assert_int_eq(clarke_query_parse(&q, text, strlen(text), "p.vnnlib", &error), deep < 64 ? CLARKE_OK : CLARKE_EINPUT);
    if (deep < 64)
      ck_assert(mpq_cmp_ui(q.asserted.part[0].coef[0], 1, 1) == 0);
    else
      ck_assert_ptr_nonnull(strstr(error.text, "too many brackets"));
    clarke_query_clear(&q);
  }
}
END_TEST

START_TEST(counterexamples)
{
  static const struct {
    const char *text, *why;
  } refused[] = {{"unsat", "there is no counterexample"}, {"sat", "'(' is expected"}, {"(", "')' is expected"}, {"()", "no input X_0"},
                 {"((X_1 0))", "the next of X_0"}, {"((X_0 0)(X_0 1))", "the next of"}, {"((Y_0 0)(X_0 1))", "the next of"}, {"((X_0 nan))", "a number"},
                 {"((X_0 1)) sat", "something stands behind"}, {"((X_0 1 2))", "')' is expected"}, {"((x 1))", "the next of"}};
  static const char good[] = "sat\n((X_0 1.5) ; a comment\n (X_1 (- 1e-3))\n (Y_0 -7))\n";
  clarke_counterexample c = {0};

  OK(clarke_counterexample_parse(&c, good, strlen(good), "c.txt", &error));
  ck_assert(c.n_inputs == 2 && c.n_outputs == 1 && mpq_cmp_si(c.input[0], 3, 2) == 0 && mpq_cmp_si(c.input[1], -1, 1000) == 0);
  ck_assert(mpq_cmp_si(c.output[0], -7, 1) == 0);
  clarke_counterexample_clear(&c);
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    ck_assert_int_eq(clarke_counterexample_parse(&c, refused[i].text, strlen(refused[i].text), "c.txt", &error), CLARKE_EINPUT);
    ck_assert_msg(strstr(error.text, refused[i].why) != NULL, "%s: %s", refused[i].text, error.text);
    ck_assert(c.n_inputs == 0 && c.input == NULL && c.output == NULL);
  }
}
END_TEST

/* Of each file the words that its message must have, under a model's name and a checkpoint's; NULL: it is not told. */
START_TEST(foreign_files)
{
  static const struct {
    const char *bytes;
    size_t size;
    const char *model, *weights;
  } files[] = {
#define BYTES(text) text, sizeof(text) - 1
    {BYTES("\x1c\0\0\0TFL3"), "tf2onnx", "TensorFlow Lite"},
    {BYTES("\x1c\0\0\0TFL"), NULL, NULL},
    {BYTES("\x89HDF\r\n\x1a\n"), "--like keras", "HDF5"},
    {BYTES("\x89HDF\r\n\x1a"), NULL, NULL},
    {BYTES("\x80\2\x8a\ngood bits"), "no graph", NULL},
    {BYTES("\x10\0\0\0\0\0\0\0{\"a\":1}"), "no graph", NULL},
#define MEMBER(length, name) BYTES("PK\3\4abcdefghijklmnopqrstuv" length "\0\0\0" name)
    {MEMBER("\12", "m/data.pkl"), "no graph", NULL},
    {MEMBER("\13", "m/data.pkl"), NULL, NULL}, /* cut off */
    {MEMBER("\10", "m/data/0"), "no graph", NULL},
    {MEMBER("\15", "metadata.json"), "--like keras", "--like keras"},
    {MEMBER("\13", "config.json"), "--like keras", "--like keras"},
    {MEMBER("\23", "m/extra/config.json"), "no graph", NULL},
    {MEMBER("\15", "m/config.json"), NULL, NULL},
    {MEMBER("\7", "m/extra"), NULL, NULL},
    {MEMBER("\5", "x.npy"), "numpy.savez", NULL},
    {BYTES(""), NULL, NULL},
  };

  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char *copy = malloc(files[i].size + 1); /* asan looks on */
    const char *model, *weights;

    copy = realloc(copy, files[i].size > 0 ? files[i].size : 1);
    memcpy(copy, files[i].bytes, files[i].size);
    model = clarke_foreign_model(copy, files[i].size);
    weights = clarke_foreign_weights(copy, files[i].size);
    ck_assert_msg((model == NULL) == (files[i].model == NULL) && (model == NULL || strstr(model, files[i].model) != NULL), "%zu: %s", i,
                  model == NULL ? "nothing" : model);
    ck_assert_msg((weights == NULL) == (files[i].weights == NULL) && (weights == NULL || strstr(weights, files[i].weights) != NULL),
                  "%zu: %s", i, weights == NULL ? "nothing" : weights);
    free(copy);
  }
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("words");

  tcase_add_test(tests, words_and_lines);
  tcase_add_test(tests, numbers_of_words);
  tcase_add_test(tests, kept_clauses);
  tcase_add_test(tests, binary_clauses);
  tcase_add_test(tests, clauses_as_text);
  tcase_add_test(tests, numbers_of_tables);
  tcase_add_test(tests, found_fields);
  tcase_add_test(tests, files_beside_others);
  tcase_add_test(tests, tensors_decoded_late);
  tcase_add_test(tests, words_of_queries);
  tcase_add_test(tests, margins_of_properties);
  tcase_add_test(tests, deep_properties);
  tcase_add_test(tests, counterexamples);
  tcase_add_test(tests, foreign_files);
  return run_tests();
}
