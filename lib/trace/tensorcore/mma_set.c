#include "trace/tensorcore/mma_set.h"
#include "trace/tensorcore/mma_rule.h"

#include <stdlib.h>
#include <string.h>

void
clarke_mma_rows_clear(clarke_mma_rows *r)
{
  free(r->bits);
  memset(r, 0, sizeof *r);
}

/* --- lines ----------------------------------------------------------------------------------- */

typedef struct {
  const char *at, *end; /* what is left */
  const char *line;     /* the line, which has length characters and is the number-th */
  size_t length, number;
  const char *file;
  clarke_error *err;
} reader;

static reader
read_from(const void *data, size_t size, const char *file, clarke_error *err)
{
  const char *text = data != NULL ? data : "";

  return (reader){.at = text, .end = text + size, .file = file, .err = err};
}

/* False at the end. The last line may lack its end. */
static bool
next_line(reader *r)
{
  const char *end;

  if (r->at == r->end)
    return false;
  end = memchr(r->at, '\n', (size_t)(r->end - r->at));
  r->line = r->at;
  r->length = (size_t)((end != NULL ? end : r->end) - r->at);
  r->at = end != NULL ? end + 1 : r->end;
  r->number++;
  return true;
}

static clarke_status
wrong(const reader *r, const char *what)
{
  return clarke_fail(r->err, CLARKE_EINPUT, "%s:%zu: %s", r->file, r->number, what);
}

/* Room for as many rows as there can be of lines that have so many characters at least. */
static clarke_status
make_rows(clarke_mma_rows *rows, const reader *r, int columns, size_t characters)
{
  size_t n = (size_t)(r->end - r->at) / characters + 1;

  if (r->at == r->end)
    return clarke_fail(r->err, CLARKE_EINPUT, "%s: it is empty", r->file);
  rows->bits = calloc(n, (size_t)columns * sizeof *rows->bits);
  if (rows->bits == NULL)
    return clarke_no_memory(r->err);
  rows->columns = columns;
  return CLARKE_OK;
}

/* --- factors --------------------------------------------------------------------------------- */

#define DIGITS 8

static int
digit_of(char c)
{
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The number of words in a line of its length; 0: it cannot be one. */
static int
columns_of(size_t length)
{
  size_t n = (length + 1) / (DIGITS + 1), rest = length % (DIGITS + 1);

  return (rest == 0 || rest == DIGITS) && n <= CLARKE_MMA_PRODUCTS_MOST ? (int)n : 0;
}

static bool
read_word(uint32_t *bits, const char *text)
{
  *bits = 0;
  for (int i = 0; i < DIGITS; i++) {
    int digit = digit_of(text[i]);

    if (digit < 0)
      return false;
    *bits = *bits << 4 | (uint32_t)digit;
  }
  return true;
}

static clarke_status
parse_line(uint32_t *bits, int columns, const clarke_mma_format *f, const reader *r)
{
  clarke_mma_number x;

  if (columns_of(r->length) != columns)
    return clarke_fail(r->err, CLARKE_EINPUT, "%s:%zu: %zu characters; line 1 has %d numbers of 8 hexadecimal digits, with a blank "
                       "after each", r->file, r->number, r->length, columns);
  for (int i = 0; i < columns; i++) {
    const char *word = r->line + (size_t)i * (DIGITS + 1);

    if (!read_word(&bits[i], word))
      return clarke_fail(r->err, CLARKE_EINPUT, "%s:%zu: number %d is not 8 hexadecimal digits", r->file, r->number, i + 1);
    if ((size_t)i * (DIGITS + 1) + DIGITS < r->length && word[DIGITS] != ' ')
      return clarke_fail(r->err, CLARKE_EINPUT, "%s:%zu: no blank after number %d", r->file, r->number, i + 1);
    if (!clarke_mma_decode(&x, f, bits[i]))
      return clarke_fail(r->err, CLARKE_EINPUT, "%s:%zu: number %d, %08x, is not a finite number of the format %s", r->file,
                         r->number, i + 1, (unsigned)bits[i], f->name);
  }
  return CLARKE_OK;
}

clarke_status
clarke_mma_parse_factors(clarke_mma_rows *rows, const clarke_mma_format *f, const void *data, size_t size, const char *file,
                         clarke_error *err)
{
  reader r = read_from(data, size, file, err), first = r;
  clarke_status status;
  int columns;

  if (!next_line(&first))
    return clarke_fail(err, CLARKE_EINPUT, "%s: it is empty", file);
  columns = columns_of(first.length);
  if (columns == 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s:1: %zu characters are not 1 to %d numbers of 8 hexadecimal digits, with a blank after "
                       "each", file, first.length, CLARKE_MMA_PRODUCTS_MOST);
  status = make_rows(rows, &r, columns, (size_t)columns * (DIGITS + 1) - 1);
  while (status == CLARKE_OK && next_line(&r)) {
    status = parse_line(&rows->bits[rows->rows * (size_t)columns], columns, f, &r);
    rows->rows++;
  }
  if (status != CLARKE_OK)
    clarke_mma_rows_clear(rows);
  return status;
}

/* --- addends and results --------------------------------------------------------------------- */

static clarke_status
parse_binary(uint32_t *bits, bool finite, const reader *r)
{
  if (r->length != 32)
    return clarke_fail(r->err, CLARKE_EINPUT, "%s:%zu: %zu characters; expected 32 digits 0 or 1", r->file, r->number, r->length);
  *bits = 0;
  for (size_t i = 0; i < 32; i++) {
    if (r->line[i] != '0' && r->line[i] != '1')
      return wrong(r, "expected 32 digits 0 or 1");
    *bits = *bits << 1 | (uint32_t)(r->line[i] - '0');
  }
  if (finite && (*bits & CLARKE_MMA_INFINITY) == CLARKE_MMA_INFINITY)
    return wrong(r, "an infinite number or NaN");
  return CLARKE_OK;
}

clarke_status
clarke_mma_parse_bits(clarke_mma_rows *rows, bool finite, const void *data, size_t size, const char *file, clarke_error *err)
{
  reader r = read_from(data, size, file, err);
  clarke_status status = make_rows(rows, &r, 1, 32);

  while (status == CLARKE_OK && next_line(&r)) {
    status = parse_binary(&rows->bits[rows->rows], finite, &r);
    rows->rows++;
  }
  if (status != CLARKE_OK)
    clarke_mma_rows_clear(rows);
  return status;
}

/* --- instructions ---------------------------------------------------------------------------- */

static bool
is_name(const char *text, size_t n)
{
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:";

  for (size_t i = 0; i < n; i++)
    if (text[i] == '\0' || strchr(letters, text[i]) == NULL)
      return false;
  return n > 0 && n < CLARKE_MMA_INSTRUCTION;
}

static clarke_status
parse_instruction(clarke_mma_instructions *to, const reader *r)
{
  const bool is32 = r->length > 5 && memcmp(r->line, "fp32 ", 5) == 0;
  const bool is16 = r->length > 5 && memcmp(r->line, "fp16 ", 5) == 0;
  char *name = is32 ? to->fp32 : to->fp16;

  if (r->length == 0 || r->line[0] == '#')
    return CLARKE_OK;
  if ((!is32 && !is16) || !is_name(r->line + 5, r->length - 5))
    return wrong(r, "expected \"fp32 INSTRUCTION\", \"fp16 INSTRUCTION\" or a comment (#)");
  if (*name != '\0')
    return wrong(r, "a second instruction for these results");
  memcpy(name, r->line + 5, r->length - 5);
  name[r->length - 5] = '\0';
  return CLARKE_OK;
}

clarke_status
clarke_mma_parse_instructions(clarke_mma_instructions *to, const void *data, size_t size, const char *file, clarke_error *err)
{
  reader r = read_from(data, size, file, err);
  clarke_status status = CLARKE_OK;

  memset(to, 0, sizeof *to);
  while (status == CLARKE_OK && next_line(&r))
    status = parse_instruction(to, &r);
  return status;
}
