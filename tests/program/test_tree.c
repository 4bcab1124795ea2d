/* Tokens and places of the language, before there is a tree. */
#include "../ok.h"

#include "program/prog_token.h"

#include <stdlib.h>
#include <string.h>

static clarke_prog g;

static void
begin(const char *text)
{
  clarke_prog_init(&g);
  g.file = strdup("t.prog");
  g.text = strdup(text);
  g.size = strlen(text);
  ck_assert_ptr_nonnull(g.line_start = calloc(g.line_capacity = 8, sizeof *g.line_start));
  g.n_lines = 1;
  for (size_t i = 0; i < g.size; i++)
    if (text[i] == '\n')
      g.line_start[g.n_lines++] = (uint32_t)i + 1;
}

/* The next token is this text, of that kind. */
static prog_token
next(prog_lexer *l, prog_token_kind kind, const char *text)
{
  prog_token t;

  OK(clarke_prog_token(&t, l, &error));
  ck_assert_msg(t.kind == kind && clarke_prog_is(&g, t.start, t.length, text), "'%.*s', kind %d; expected '%s'", (int)t.length,
                g.text + t.start, (int)t.kind, text);
  return t;
}

START_TEST(tokens_are_as_long_as_they_can_be)
{
  prog_lexer l = {.g = &g, .fresh = true};
  prog_token t;

  begin("let lets = 1.5e-3*x2 <= -_y");
  g.n_lines = 0; /* the lexer finds the lines */
  next(&l, TOKEN_WORD, "let");
  next(&l, TOKEN_NAME, "lets");
  t = next(&l, TOKEN_PUNCTUATION, "=");
  ck_assert_int_eq(t.mark, '=');
  next(&l, TOKEN_NUMBER, "1.5e-3");
  ck_assert_int_eq(next(&l, TOKEN_PUNCTUATION, "*").mark, '*');
  next(&l, TOKEN_NAME, "x2");
  t = next(&l, TOKEN_RELATION, "<=");
  ck_assert_int_eq(t.relation, CLARKE_LE);
  next(&l, TOKEN_PUNCTUATION, "-");
  next(&l, TOKEN_NAME, "_y");
  clarke_prog_clear(&g);
}
END_TEST

START_TEST(words_are_these)
{
  static const char *const words[] = {"input", "let", "output", "piece", "if", "then", "else", "and"};

  for (size_t i = 0; i < 8; i++) {
    char longer[16];

    ck_assert(clarke_prog_is_word(words[i], strlen(words[i])));
    snprintf(longer, sizeof longer, "%ss", words[i]);
    ck_assert(!clarke_prog_is_word(longer, strlen(longer)));
    ck_assert(!clarke_prog_is_word(words[i], strlen(words[i]) - 1));
  }
}
END_TEST

START_TEST(places_count_lines_and_columns_from_1)
{
  static const size_t place[][3] = {{0, 1, 1}, {2, 1, 3}, {3, 2, 1}, {4, 3, 1}, {6, 3, 3}};
  size_t line, column;

  begin("ab\n\ncde");
  for (size_t i = 0; i < 5; i++) {
    clarke_prog_place(&g, place[i][0], &line, &column);
    ck_assert_msg(line == place[i][1] && column == place[i][2], "offset %zu: %zu:%zu", place[i][0], line, column);
  }
  clarke_prog_clear(&g);
}
END_TEST

START_TEST(messages_show_the_place)
{
  begin("one\n\xc3\xa4 two\nthree");
  ck_assert_int_eq(clarke_prog_fail(&g, 7, &error, "no %s", "good"), CLARKE_EINPUT);
  ck_assert_str_eq(error.text, "t.prog:2:3: no good\n\xc3\xa4 two\n  ^"); /* columns count characters */
  ck_assert_int_eq(clarke_prog_fail_limit(&g, 0, &error, CLARKE_LIMIT_INSTRUCTIONS, "one more constant"), CLARKE_ENOMEM);
  ck_assert_ptr_nonnull(strstr(error.text, "t.prog:1:1: one more constant; the limit is "));
  ck_assert_ptr_nonnull(strstr(error.text, "--limit instructions=N"));
  ck_assert_int_eq(clarke_prog_fail(&g, 7, NULL, "no good"), CLARKE_EINPUT);
  clarke_prog_clear(&g);
}
END_TEST

START_TEST(arrays_double)
{
  size_t capacity = 0, moves = 0;
  int *array = NULL;

  for (size_t n = 0; n < 1000; n++) {
    const size_t before = capacity;

    array = clarke_prog_grow(array, n, &capacity, sizeof *array);
    ck_assert(array != NULL && capacity > n);
    moves += capacity != before;
    array[n] = (int)n;
  }
  ck_assert_uint_le(moves, 10);
  for (size_t n = 0; n < 1000; n++)
    ck_assert_int_eq(array[n], (int)n);
  free(array);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("tree");

  tcase_add_test(tests, tokens_are_as_long_as_they_can_be);
  tcase_add_test(tests, words_are_these);
  tcase_add_test(tests, places_count_lines_and_columns_from_1);
  tcase_add_test(tests, messages_show_the_place);
  tcase_add_test(tests, arrays_double);
  return run_tests();
}
