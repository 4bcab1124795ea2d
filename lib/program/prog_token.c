/* The text of a program cut into tokens; its comments are put aside, with their places. */
#include "program/prog_token.h"

#include "base/text.h"
#include "exact/literal.h"

#include <string.h>

/* Longer numbers have too many digits or too long an exponent whatever they say. */
#define MAX_NUMBER 4200

static bool
is_digit(char c)
{
  return c >= '0' && c <= '9';
}

static bool
is_name(char c)
{
  return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static clarke_status
begin_line(prog_lexer *lexer, clarke_error *err)
{
  clarke_prog *g = lexer->g;
  uint32_t *grown = clarke_prog_grow(g->line_start, g->n_lines, &g->line_capacity, sizeof *grown);

  if (grown == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "%s: out of memory", g->file);
  g->line_start = grown;
  g->line_start[g->n_lines++] = lexer->position;
  lexer->fresh = true;
  return CLARKE_OK;
}

/* Is a blank line before the line that the lexer is on, which holds something? */
static bool
after_blank(prog_lexer *lexer)
{
  const uint32_t line = (uint32_t)lexer->g->n_lines;
  const bool blank = lexer->last_line != 0 && line > lexer->last_line + 1;

  lexer->last_line = line;
  return blank;
}

/* Comments are UTF-8 text and tabs. */
static clarke_status
check_comment(const clarke_prog *g, size_t start, size_t end, clarke_error *err)
{
  size_t length;

  for (size_t i = start; i < end; i += length) {
    for (length = 1; g->text[i] != '\t' && !clarke_text_valid(g->text + i, length); length++)
      if (length == 4 || i + length == end)
        return clarke_prog_fail(g, i, err, "byte 0x%02x is not text: expected UTF-8 without control"
                                " characters", (unsigned char)g->text[i]);
  }
  return CLARKE_OK;
}

static clarke_status
read_comment(prog_lexer *lexer, clarke_error *err)
{
  clarke_prog *g = lexer->g;
  const char *stop = memchr(g->text + lexer->position, '\n', g->size - lexer->position);
  size_t start = lexer->position, end = stop != NULL ? (size_t)(stop - g->text) : g->size;
  clarke_prog_comment *grown;
  clarke_status status;

  lexer->position = (uint32_t)end;
  if (stop != NULL && g->text[end - 1] == '\r')
    end--;
  while (end > start && (g->text[end - 1] == ' ' || g->text[end - 1] == '\t'))
    end--;
  status = check_comment(g, start, end, err);
  if (status != CLARKE_OK)
    return status;
  grown = clarke_prog_grow(g->comment, g->n_comments, &g->comment_capacity, sizeof *grown);
  if (grown == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "%s: out of memory", g->file);
  g->comment = grown;
  g->comment[g->n_comments++] = (clarke_prog_comment){
    .start = (uint32_t)start, .length = (uint32_t)(end - start), .line = (uint32_t)g->n_lines,
    .alone = lexer->fresh, .blank = after_blank(lexer),
  };
  return CLARKE_OK;
}

/* Passes blanks, comments and, inside brackets or after nothing, ends of lines. */
static clarke_status
skip(prog_lexer *lexer, clarke_error *err)
{
  const clarke_prog *g = lexer->g;
  clarke_status status = CLARKE_OK;

  while (status == CLARKE_OK && lexer->position < g->size) {
    const char *s = g->text + lexer->position;

    if (*s == '\n') {
      if (!lexer->fresh && lexer->brackets == 0)
        break;
      lexer->position++;
      status = begin_line(lexer, err);
    } else if (*s == '#') {
      status = read_comment(lexer, err);
    } else if (*s == ' ' || *s == '\t' || (*s == '\r' && s[1] == '\n')) {
      lexer->position++;
    } else {
      break;
    }
  }
  return status;
}

/* A number takes all letters, digits and points that follow, and the sign of an exponent. */
static uint32_t
number_length(const char *s)
{
  const bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
  const char low = hex ? 'p' : 'e', high = hex ? 'P' : 'E';
  uint32_t n = 0;

  while (is_name(s[n]) || s[n] == '.'
         || ((s[n] == '+' || s[n] == '-') && n > 0 && (s[n - 1] == low || s[n - 1] == high)))
    n++;
  return n;
}

static clarke_status
check_number(const clarke_prog *g, const prog_token *token, clarke_error *err)
{
  char text[MAX_NUMBER + 1];
  mpq_t value;
  bool good = false;

  if (token->length <= MAX_NUMBER) {
    memcpy(text, g->text + token->start, token->length);
    text[token->length] = '\0';
    mpq_init(value);
    good = clarke_literal_parse(value, text);
    mpq_clear(value);
  }
  if (good)
    return CLARKE_OK;
  return clarke_prog_fail(g, token->start, err, "'%.*s%s' is no number: expected 3, 0.1, 1e-3 or"
                          " 0x1.8p-4, at most 4096 digits and exponents up to 4096. With f, h or d"
                          " at its end it is the nearest float32, float16, float64 (finite)",
                          token->length > 40 ? 40 : (int)token->length, g->text + token->start,
                          token->length > 40 ? "..." : "");
}

static bool
read_relation(prog_token *token, const char *s)
{
  static const struct {
    const char *text;
    clarke_relation relation;
  } relations[] = {
    { "<=", CLARKE_LE }, { ">=", CLARKE_GE }, { "==", CLARKE_EQ },
    { "!=", CLARKE_NE }, { "<", CLARKE_LT },  { ">", CLARKE_GT },
  };

  for (size_t k = 0; k < sizeof relations / sizeof relations[0]; k++) {
    const size_t n = strlen(relations[k].text);

    if (strncmp(s, relations[k].text, n) != 0)
      continue;
    token->kind = TOKEN_RELATION;
    token->relation = relations[k].relation;
    token->length = (uint32_t)n;
    return true;
  }
  return false;
}

static clarke_status
wrong_byte(const clarke_prog *g, size_t at, clarke_error *err)
{
  const char c = g->text[at];

  if (c == '!')
    return clarke_prog_fail(g, at, err, "'!' alone means nothing: expected '!='");
  if (c >= 0x21 && c <= 0x7e)
    return clarke_prog_fail(g, at, err, "'%c' is not used in the language", c);
  return clarke_prog_fail(g, at, err, "byte 0x%02x outside of a comment: expected printable ASCII"
                          " characters", (unsigned char)c);
}

static clarke_status
read_punctuation(prog_token *token, prog_lexer *lexer, clarke_error *err)
{
  const char c = lexer->g->text[token->start];

  if (c == '\0' || strchr(",=+-*/()[]{}:", c) == NULL)
    return wrong_byte(lexer->g, token->start, err);
  token->kind = TOKEN_PUNCTUATION;
  token->length = 1;
  token->mark = c;
  if (strchr("([{", c) != NULL)
    lexer->brackets++;
  else if (strchr(")]}", c) != NULL && lexer->brackets > 0)
    lexer->brackets--;
  return CLARKE_OK;
}

static clarke_status
read_token(prog_token *token, prog_lexer *lexer, clarke_error *err)
{
  const clarke_prog *g = lexer->g;
  const char *s = g->text + token->start;

  if (is_digit(s[0]) || (s[0] == '.' && is_digit(s[1]))) {
    token->kind = TOKEN_NUMBER;
    token->length = number_length(s);
    return check_number(g, token, err);
  }
  if (is_name(s[0])) {
    while (is_name(s[token->length]))
      token->length++;
    token->kind = clarke_prog_is_word(s, token->length) ? TOKEN_WORD : TOKEN_NAME;
    return CLARKE_OK;
  }
  return read_relation(token, s) ? CLARKE_OK : read_punctuation(token, lexer, err);
}

clarke_status
clarke_prog_token(prog_token *token, prog_lexer *lexer, clarke_error *err)
{
  const clarke_prog *g = lexer->g;
  clarke_status status = g->n_lines == 0 ? begin_line(lexer, err) : CLARKE_OK;

  if (status == CLARKE_OK)
    status = skip(lexer, err);
  if (status != CLARKE_OK)
    return status;
  *token = (prog_token){ .kind = TOKEN_END, .start = lexer->position, .line = (uint32_t)g->n_lines };
  if (lexer->position == g->size)
    return CLARKE_OK;
  if (g->text[lexer->position] == '\n') {
    token->kind = TOKEN_NEWLINE;
    lexer->position++;
    return begin_line(lexer, err);
  }
  token->blank = after_blank(lexer);
  lexer->fresh = false;
  status = read_token(token, lexer, err);
  lexer->position = token->start + token->length;
  return status;
}
