/* The words of a program's text, one at a time. */
#include "check/program/program_text.h"
#include "check/base/allocate.h"
#include "check/base/limit.h"

#include <stdlib.h>
#include <string.h>

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
ahead(reader *r, size_t i)
{
  return (size_t)(r->limit - r->cursor) > i ? r->cursor[i] : '\0';
}

/* To the end of its line. It is UTF-8 text and tabs, and perhaps the carriage return of that end. */
static void
pass_comment(reader *r)
{
  const char *end = memchr(r->cursor, '\n', (size_t)(r->limit - r->cursor));
  size_t n = (size_t)((end != NULL ? end : r->limit) - r->cursor);
  n -= end != NULL && r->cursor[n - 1] == '\r';
  for (size_t i = 0, from = 0; i <= n; i++) {
    if (i < n && r->cursor[i] != '\t')
      continue;
    want(is_text((bytes){(unsigned char *)r->cursor + from, i - from}), "a comment that is no text");
    from = i + 1;
  }
  r->cursor += n - 1; /* its last character */
}

static void
pass_blanks(reader *r)
{
  for (; r->cursor < r->limit; r->cursor++) {
    if (*r->cursor == '#')
      pass_comment(r);
    else if (*r->cursor == '\n' && r->brackets > 0)
      r->line++;
    else if (*r->cursor != ' ' && *r->cursor != '\t' && (*r->cursor != '\r' || ahead(r, 1) != '\n'))
      return;
  }
}

void
advance(reader *r)
{
  size_t n = 1;
  if (r->token == '\n')
    r->line++;
  pass_blanks(r);
  free(r->token_text);
  char c = ahead(r, 0), mark = ahead(r, 0) == '0' && (ahead(r, 1) | 32) == 'x' ? 'p' : 'e';
  r->token = c;
  if (letter(c)) {
    for (r->token = 'a'; letter(ahead(r, n)) || digit(ahead(r, n));)
      n++;
  } else if (digit(c) || (c == '.' && digit(ahead(r, 1)))) {
    r->token = '0';
    while (letter(ahead(r, n)) || digit(ahead(r, n)) || ahead(r, n) == '.'
           || ((ahead(r, n) == '+' || ahead(r, n) == '-') && (ahead(r, n - 1) | 32) == mark))
      n++;
  } else if (c != '\0' && strchr("<>=!", c) != NULL && (ahead(r, 1) == '=' || c == '<' || c == '>')) {
    r->token = 'r';
    n += ahead(r, 1) == '=';
  } else {
    want(r->cursor == r->limit || (c != '\0' && strchr("\n,=+-*/()[]{}:", c) != NULL), "an unknown character");
  }
  n = r->cursor == r->limit ? 0 : n;
  r->token_text = copy_text(r->cursor, n);
  r->cursor += n;
  if (n == 1) {
    r->brackets += strchr("([{", c) != NULL;
    r->brackets -= r->brackets > 0 && strchr(")]}", c) != NULL;
  }
}

/* Is the token this one? Then the next is read. */
bool
is(reader *r, const char *what)
{
  bool yes = r->token != '\0' && strcmp(r->token_text, what) == 0;
  if (yes)
    advance(r);
  return yes;
}

void
must(reader *r, const char *what)
{
  expect(is(r, what), "program, line %zu: '%s' is expected, not '%.40s'", r->line, what, r->token_text);
}

/* q >= 0 becomes the nearest m 2^e, m < 2^bits, e >= lowest; of two the one with m even. */
static void
nearest(reader *r, rational *q, long bits, long lowest, unsigned long top)
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
literal(reader *r, rational *q)
{
  const char *s = r->token_text;
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
    nearest(r, q, 24, -149, 128);
  if (*s == 'h')
    nearest(r, q, 11, -24, 16);
  if (*s == 'd')
    nearest(r, q, 53, -1074, 1024);
  want(n > 0 && (*s == '\0' || (strchr("fhd", *s) != NULL && s[1] == '\0')), "not a number");
  advance(r);
}

void
text_begin(reader *r, bytes b)
{
  within(LIMIT_TEXT, b.size, "a program of %zu bytes", b.size);
  r->cursor = (const char *)b.data;
  r->limit = r->cursor + b.size;
  r->line = 1;
  advance(r);
}
