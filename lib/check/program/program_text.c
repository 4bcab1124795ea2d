/* The words of a program's text, one at a time. */
#include "check/program/program_text.h"
#include "check/base/allocate.h"
#include "check/base/limit.h"

#include <stdlib.h>
#include <string.h>

static const char *cursor, *limit;
static size_t brackets;
size_t text_line;
char token, *token_text;

static bool
digit(char c)
{
  return c >= '0' && c <= '9';
}

static bool
letter(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* The character i places on, or 0. */
static char
ahead(size_t i)
{
  return (size_t)(limit - cursor) > i ? cursor[i] : '\0';
}

/* To the end of its line. It is UTF-8 text and tabs, and perhaps the carriage return of that end. */
static void
pass_comment(void)
{
  const char *end = memchr(cursor, '\n', (size_t)(limit - cursor));
  size_t n = (size_t)((end != NULL ? end : limit) - cursor);
  n -= end != NULL && cursor[n - 1] == '\r';
  for (size_t i = 0, from = 0; i <= n; i++) {
    if (i < n && cursor[i] != '\t')
      continue;
    want(is_text((bytes){(unsigned char *)cursor + from, i - from}), "a comment that is no text");
    from = i + 1;
  }
  cursor += n - 1; /* its last character */
}

static void
pass_blanks(void)
{
  for (; cursor < limit; cursor++) {
    if (*cursor == '#')
      pass_comment();
    else if (*cursor == '\n' && brackets > 0)
      text_line++;
    else if (*cursor != ' ' && *cursor != '\t' && (*cursor != '\r' || ahead(1) != '\n'))
      return;
  }
}

void
advance(void)
{
  size_t n = 1;
  if (token == '\n')
    text_line++;
  pass_blanks();
  free(token_text);
  char c = ahead(0), mark = ahead(0) == '0' && (ahead(1) | 32) == 'x' ? 'p' : 'e';
  token = c;
  if (letter(c)) {
    for (token = 'a'; letter(ahead(n)) || digit(ahead(n));)
      n++;
  } else if (digit(c) || (c == '.' && digit(ahead(1)))) {
    token = '0';
    while (letter(ahead(n)) || digit(ahead(n)) || ahead(n) == '.'
           || ((ahead(n) == '+' || ahead(n) == '-') && (ahead(n - 1) | 32) == mark))
      n++;
  } else if (c != '\0' && strchr("<>=!", c) != NULL && (ahead(1) == '=' || c == '<' || c == '>')) {
    token = 'r';
    n += ahead(1) == '=';
  } else {
    want(cursor == limit || (c != '\0' && strchr("\n,=+-*/()[]{}:", c) != NULL), "an unknown character");
  }
  n = cursor == limit ? 0 : n;
  token_text = copy_text(cursor, n);
  cursor += n;
  if (n == 1) {
    brackets += strchr("([{", c) != NULL;
    brackets -= brackets > 0 && strchr(")]}", c) != NULL;
  }
}

/* Is the token this one? Then the next is read. */
bool
is(const char *what)
{
  bool yes = token != '\0' && strcmp(token_text, what) == 0;
  if (yes)
    advance();
  return yes;
}

void
must(const char *what)
{
  expect(is(what), "program, line %zu: '%s' is expected, not '%.40s'", text_line, what, token_text);
}

/* q >= 0 becomes the nearest m 2^e, m < 2^bits, e >= lowest; of two the one with m even. */
static void
nearest(rational *q, long bits, long lowest, unsigned long top)
{
  RATIONAL(t);
  INTEGER(rest);
  INTEGER(m);
  long e = (long)mpz_sizeinbase(mpq_numref(q), 2) - (long)mpz_sizeinbase(mpq_denref(q), 2);
  if (mpq_sgn(q) == 0)
    return;
  for (int i = 0; i < 2; i++) { /* 2^e <= q < 2^(e + 1), found in the first round; then in units */
    long shift = i == 0 ? e : e - bits + 1 > lowest ? e - bits + 1 : lowest;
    if (shift < 0)
      mpq_mul_2exp(&t, q, (mp_bitcnt_t)-shift);
    else
      mpq_div_2exp(&t, q, (mp_bitcnt_t)shift);
    e -= i == 0 && mpq_cmp(&t, &plus_one) < 0;
    if (i == 0)
      continue;
    mpz_fdiv_qr(&m, &rest, mpq_numref(&t), mpq_denref(&t));
    mpz_mul_2exp(&rest, &rest, 1);
    int above = mpz_cmp(&rest, mpq_denref(&t));
    if (above > 0 || (above == 0 && mpz_odd_p(&m)))
      mpz_add_ui(&m, &m, 1);
    mpq_set_z(q, &m);
    if (shift < 0)
      mpq_div_2exp(q, q, (mp_bitcnt_t)-shift);
    else
      mpq_mul_2exp(q, q, (mp_bitcnt_t)shift);
  }
  mpq_div_2exp(&t, q, top);
  want(mpq_cmp(&t, &plus_one) < 0, "a number too large for its format");
}

/* The token, a number: digits, a point, an exponent, a format. */
void
literal(rational *q)
{
  const char *s = token_text;
  unsigned long base = s[0] == '0' && (s[1] | 32) == 'x' ? 16 : 10, power = 0;
  size_t n = 0;
  bool fraction = false, less = false;
  long exponent = 0;
  INTEGER(z);
  for (s += base == 16 ? 2 : 0; digit(*s) || *s == '.' || (base == 16 && (*s | 32) >= 'a' && (*s | 32) <= 'f'); s++) {
    want((*s != '.' || !fraction) && n < 4096, "a number with two points or over 4096 digits");
    if (*s == '.') {
      fraction = true;
      continue;
    }
    mpz_mul_ui(mpq_numref(q), mpq_numref(q), base);
    mpz_add_ui(mpq_numref(q), mpq_numref(q),
               digit(*s) ? (unsigned long)(*s - '0') : (unsigned long)((*s | 32) - 'a' + 10));
    exponent -= fraction ? base == 16 ? 4 : 1 : 0;
    n++;
  }
  if ((*s | 32) == (base == 16 ? 'p' : 'e')) {
    less = s[1] == '-';
    s += s[1] == '-' || s[1] == '+' ? 2 : 1;
    want(digit(*s), "an exponent without digits");
    for (; digit(*s) && power <= 4096; s++)
      power = 10 * power + (unsigned long)(*s - '0');
    want(power <= 4096, "an exponent beyond 4096");
  }
  exponent += less ? -(long)power : (long)power;
  mpz_ui_pow_ui(&z, base == 16 ? 2 : 10, (unsigned long)labs(exponent));
  mpz_mul(exponent < 0 ? mpq_denref(q) : mpq_numref(q), exponent < 0 ? mpq_denref(q) : mpq_numref(q), &z);
  mpq_canonicalize(q);
  if (*s == 'f')
    nearest(q, 24, -149, 128);
  if (*s == 'h')
    nearest(q, 11, -24, 16);
  if (*s == 'd')
    nearest(q, 53, -1074, 1024);
  want(n > 0 && (*s == '\0' || (strchr("fhd", *s) != NULL && s[1] == '\0')), "not a number");
  advance();
}

void
text_begin(bytes b)
{
  within(LIMIT_TEXT, b.size, "a program of %zu bytes", b.size);
  cursor = (const char *)b.data;
  limit = cursor + b.size;
  text_line = 1;
  advance();
}
