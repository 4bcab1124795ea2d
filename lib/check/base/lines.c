/* The lines of a proof, word by word; and the account of what they say. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* fopencookie */
#endif
#include "check/base/lines.h"
#include "check/base/allocate.h"
#include "check/base/limit.h"
#include "check/base/sha256.h"

#include <stdlib.h>
#include <string.h>

const char safe[] = "._/:-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/* The proof that is read, and what it says. */
static struct {
  bytes rest;              /* the lines to come */
  char *words, *words_end; /* what is left of this one; every word ends with a NUL */
  bool no_links;           /* may no file's name be a symbolic link? */
  char *told;
  size_t n_told, told_room;
} proof;
FILE *account;

const char *
next_word(void)
{
  const char *word = proof.words;
  require(proof.words < proof.words_end, "the line ends too early");
  proof.words += strlen(word) + 1;
  return word;
}

bool
more_words(void)
{
  return proof.words < proof.words_end;
}

bool
word_is(const char *word)
{
  return proof.words < proof.words_end && strcmp(proof.words, word) == 0;
}

void
unread_word(const char *word)
{
  proof.words -= strlen(word) + 1;
}

/* Begins the next line, if it begins with the keyword; all words of this one must be read. */
bool
line_is(const char *keyword)
{
  size_t length = strlen(keyword);
  if (proof.rest.size <= length || memcmp(proof.rest.data, keyword, length) != 0 || proof.rest.data[length] > ' ')
    return false;
  require(proof.words == proof.words_end, "'%s' is more than was expected", proof.words);
  const unsigned char *end = memchr(proof.rest.data, '\n', proof.rest.size);
  size_t n = end != NULL ? (size_t)(end - proof.rest.data) : 0;
  session_set_line(session_line + 1);
  require(end != NULL, "the line is not ended");
  within(LIMIT_LINE, n, "a line of %zu bytes", n);
  proof.words = (char *)proof.rest.data;
  proof.words_end = proof.words + n + 1;
  for (size_t i = 0; i <= n; i++) {
    unsigned char *at = &proof.rest.data[i];
    bool space = *at == ' ' && i > 0 && i + 1 < n && at[-1] != '\0';
    require(space || i == n || (*at > ' ' && *at < 127), "not words of ASCII one space apart");
    *at = space || i == n ? '\0' : *at;
  }
  take(&proof.rest, n + 1);
  next_word();
  return true;
}

void
next_line(const char *keyword)
{
  bool begun = line_is(keyword);
  session_set_line(session_line + !begun);
  require(begun, "'%s' is expected", keyword);
}

void
last_line(void)
{
  next_line("end");
  require(proof.rest.size == 0, "lines after the evidence");
}

void
known_line(const char *keyword, const char *word)
{
  next_line(keyword);
  require(strcmp(next_word(), word) == 0, "'%s %s' is expected", keyword, word);
}

/* A rational in the one way it may be written, which is GMP's. */
void
next_rational(rational *q)
{
  const char *word = next_word();
  bool good = mpq_set_str(q, word, 10) == 0 && mpz_sgn(mpq_denref(q)) > 0;
  if (good)
    mpq_canonicalize(q);
  char *again = good ? mpq_get_str(NULL, 10, q) : NULL; /* GMP writes a denominator above zero only */
  require(again != NULL && strcmp(again, word) == 0, "'%.40s' is not a rational in lowest terms", word);
  free(again);
}

size_t
next_number(void)
{
  RATIONAL(q);
  next_rational(&q);
  require(mpz_cmp_ui(mpq_denref(&q), 1) == 0 && mpz_fits_slong_p(mpq_numref(&q)) && mpq_sgn(&q) >= 0,
          "a number is expected, no fraction");
  return mpz_get_ui(mpq_numref(&q));
}

/* The next word, decoded; what may stand for itself must. */
char *
next_name(void)
{
  static const char digits[] = "0123456789ABCDEF";
  const char *word = next_word();
  char *name = copy_text(word, strlen(word)), *end = name;
  for (const char *at = word; *at != '\0'; at++, end++) {
    const char *high = *at == '%' && at[1] != '\0' ? strchr(digits, at[1]) : NULL;
    const char *low = high != NULL && at[2] != '\0' ? strchr(digits, at[2]) : NULL;
    *end = low != NULL ? (char)((high - digits) * 16 + (low - digits)) : *at;
    require(*end != '\0' && (strchr(safe, *end) != NULL) == (low == NULL), "'%s' is not a name as it must be written",
            word);
    at += low != NULL ? 2 : 0;
  }
  *end = '\0';
  require(is_text((bytes){(unsigned char *)name, strlen(name)}), "'%s' is no text", word);
  return name;
}

void
refuse_links(void)
{
  proof.no_links = true;
}

bytes
sibling_file(const char *folder, const char *name)
{
  char *path = allocate(strlen(folder) + strlen(name) + 2, 1);
  require(strchr(name, '/') == NULL, "'%s' is not a base name", name);
  sprintf(path, "%s/%s", folder, name);
  bytes b = (proof.no_links ? read_no_link : read_file)(path);
  free(path);
  return b;
}

/* After the keyword, `NAME HASH`: the file, if it has the hash. */
bytes
next_file(const char *folder, const char *what)
{
  char hex[65];
  const char *word = proof.words;
  char *name = next_name();
  bytes b = sibling_file(folder, name);
  sha256(b, hex);
  require(strcmp(next_word(), hex) == 0, "the hash of %s/%s is %s", folder, name, hex);
  fprintf(account, "%s: %s\n  SHA-256 %s\n", what, word, hex);
  return b;
}

/* The last line is checked first: a proof that was changed is not worth reading. */
static void
check_end(void)
{
  char hex[65];
  size_t lines = 0;
  for (size_t i = 0; i < proof.rest.size; i++)
    lines += proof.rest.data[i] == '\n';
  session_set_line(lines);
  require(proof.rest.size > 69 && memcmp(proof.rest.data + proof.rest.size - 69, "end ", 4) == 0
              && proof.rest.data[proof.rest.size - 1] == '\n',
          "the last line is not 'end HASH'");
  sha256((bytes){proof.rest.data, proof.rest.size - 69}, hex);
  require(memcmp(proof.rest.data + proof.rest.size - 65, hex, 64) == 0, "the proof was changed");
  session_set_line(0);
}

void
lines_begin(bytes text)
{
  proof.rest = text;
  check_end();
}

/* ---- The account */

/* The account's writer. (open_memstream forgets what it had no memory for.) */
static ssize_t
tell(void *unused, const char *text, size_t n)
{
  (void)unused;
  if (n >= proof.told_room - proof.n_told) {
    char *larger = allocate(2 * (proof.n_told + n) + 1, 1);
    if (proof.n_told > 0)
      memcpy(larger, proof.told, proof.n_told);
    free(proof.told);
    proof.told = larger;
    proof.told_room = 2 * (proof.n_told + n) + 1;
  }
  memcpy(proof.told + proof.n_told, text, n);
  proof.n_told += n;
  proof.told[proof.n_told] = '\0';
  return (ssize_t)n;
}

void
account_begin(void)
{
  account = fopencookie(NULL, "w", (cookie_io_functions_t){.write = tell});
  if (account == NULL)
    leave_past(LIMIT_MEMORY, "out of memory");
}

const char *
account_text(void)
{
  fflush(account);
  return proof.told != NULL ? proof.told : "";
}

void
write_name(FILE *to, const char *name)
{
  for (; *name != '\0'; name++)
    fprintf(to, strchr(safe, *name) != NULL ? "%c" : "%%%02X", (unsigned char)*name);
}

void
state_name(const char *name)
{
  if (*name == '\0')
    fputs("(no name)", account); /* brackets stand for nothing else */
  write_name(account, name);
}

void
state_profile(char *name)
{
  fputs("Proxies (profile ", account);
  state_name(name);
  fputs("):\n", account);
  free(name);
}

void
state_shape(const size_t *dims, size_t rank)
{
  fputc('(', account);
  for (size_t i = 0; i < rank; i++)
    if (dims[i] == 0)
      fprintf(account, "%s?", i > 0 ? ", " : "");
    else
      fprintf(account, "%s%zu", i > 0 ? ", " : "", dims[i]);
  fputc(')', account);
}
