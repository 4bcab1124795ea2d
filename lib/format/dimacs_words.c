/* Words of SAT's formats (dimacs_words.h). */
#include "format/dimacs_words.h"

#include <stdlib.h>
#include <string.h>

static bool
is_blank(unsigned char c)
{
  return c == ' ' || c == '\t' || c == '\r';
}

bool
clarke_words_more(clarke_dimacs_words *p, bool lines)
{
  while (p->at < p->end) {
    if (is_blank(*p->at)) {
      p->at++;
    } else if (lines && *p->at == '\n') {
      p->at++;
      p->line++;
      p->fresh = true;
    } else if (lines && p->fresh && *p->at == 'c') {
      while (p->at < p->end && *p->at != '\n')
        p->at++;
    } else {
      return *p->at != '\n';
    }
  }
  return false;
}

void
clarke_words_take(clarke_dimacs_words *p, char word[CLARKE_WORD])
{
  size_t n = 0;

  p->fresh = false;
  for (; p->at < p->end && !is_blank(*p->at) && *p->at != '\n'; p->at++)
    if (n + 1 < CLARKE_WORD)
      word[n++] = *p->at > ' ' && *p->at < 127 ? (char)*p->at : '?';
  word[n] = '\0';
}

bool
clarke_words_number(const char *word, long least, long most, long *number)
{
  const char *digits = *word == '-' ? word + 1 : word;
  char *end;

  if (*digits < '0' || *digits > '9' || strlen(word) > (most > 999999999999 ? 18 : 12))
    return false;
  *number = strtol(word, &end, 10);
  return *end == '\0' && *number >= least && *number <= most && (*number != 0 || *word != '-');
}
