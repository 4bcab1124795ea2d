/* Tables of numbers as text: a row a line, numbers parted by spaces or tabs, comments after #. */
#include "check/program/table.h"
#include "check/base/allocate.h"

#include <stdlib.h>
#include <string.h>

#define MOST_ENTRIES ((size_t)1 << 20)
#define LONGEST 1024 /* characters of a number */
#define MOST_EXPONENT 400

static size_t
count_digits(const char *s)
{
  return strspn(s, "0123456789");
}

/* value *= 10^exponent */
static void
scale(rational *value, long exponent)
{
  INTEGER(power);
  mpz_ui_pow_ui(&power, 10, (unsigned long)labs(exponent));
  if (exponent < 0)
    mpz_mul(mpq_denref(value), mpq_denref(value), &power);
  else
    mpz_mul(mpq_numref(value), mpq_numref(value), &power);
  mpq_canonicalize(value);
}

/* The exponent after e; false when it is none, or large. */
static bool
read_exponent(long *exponent, const char *s)
{
  const char *digits = s + (*s == '+' || *s == '-');
  char *end;
  *exponent = strtol(s, &end, 10);
  return count_digits(digits) > 0 && *end == '\0' && labs(*exponent) <= MOST_EXPONENT;
}

/* Digits with a point among them, before or after: the digits alone; how many stood behind it. */
static const char *
read_digits(char *digits, size_t *behind, const char *s)
{
  size_t n = count_digits(s);
  memcpy(digits, s, n);
  s += n;
  *behind = 0;
  if (*s == '.') {
    *behind = count_digits(++s);
    memcpy(digits + n, s, *behind);
    s += *behind;
  }
  digits[n + *behind] = '\0';
  return s;
}

/* -3, 0.25, 1e-3 or 1/3, and nothing else. */
static bool
read_number(rational *value, const char *word)
{
  char digits[LONGEST + 1];
  size_t behind;
  long exponent = 0;
  bool negative = *word == '-';
  const char *start = word + (*word == '-' || *word == '+'), *s = read_digits(digits, &behind, start);
  if (*digits == '\0' || mpz_set_str(mpq_numref(value), digits, 10) != 0)
    return false;
  if (*s == '/') {
    if (start + strlen(digits) != s || count_digits(s + 1) == 0 || s[1 + count_digits(s + 1)] != '\0')
      return false;
    if (mpz_set_str(mpq_denref(value), s + 1, 10) != 0 || mpz_sgn(mpq_denref(value)) == 0)
      return false;
    mpq_canonicalize(value);
  } else {
    if (*s != '\0' && ((*s != 'e' && *s != 'E') || !read_exponent(&exponent, s + 1)))
      return false;
    scale(value, exponent - (long)behind);
  }
  if (negative)
    mpq_neg(value, value);
  return true;
}

/* The next word of the line, NUL-terminated; false at the line's end, or at a comment. */
static bool
take_word(char word[LONGEST + 1], bytes *file, size_t line, const char *what)
{
  size_t n = 0, blank = 0;
  while (blank < file->size && strchr(" \t\r", file->data[blank]) != NULL && file->data[blank] != '\0')
    blank++;
  take(file, blank);
  while (n < file->size && memchr(" \t\r\n#", file->data[n], 5) == NULL) {
    expect(n < LONGEST && file->data[n] != '\0', "%s: line %zu: no number", what, line);
    word[n] = (char)file->data[n];
    n++;
  }
  word[n] = '\0';
  take(file, n);
  return n > 0;
}

/* What is left of the line, and its end. */
static void
end_line(bytes *file)
{
  const unsigned char *end = file->size > 0 ? memchr(file->data, '\n', file->size) : NULL;
  take(file, end != NULL ? (size_t)(end - file->data) + 1 : file->size);
}

table
table_read(bytes file, const char *what)
{
  table t = {0, 0, NULL};
  char word[LONGEST + 1];
  size_t n = 0;
  for (size_t line = 1; file.size > 0; line++) {
    size_t before = n;
    for (; take_word(word, &file, line, what); n++) {
      refuse_if(n == MOST_ENTRIES, "%s: over %zu numbers", what, MOST_ENTRIES);
      t.value = grow(t.value, n, sizeof *t.value);
      t.value[n] = rational_zero();
      expect(read_number(&t.value[n], word), "%s: line %zu: no number", what, line);
    }
    end_line(&file);
    if (n == before)
      continue;
    expect(t.rows == 0 || n - before == t.columns, "%s: line %zu: a row of another length", what, line);
    t.columns = n - before;
    t.rows++;
  }
  expect(n > 0, "%s: no number in it", what);
  return t;
}
