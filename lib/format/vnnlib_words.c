/* Words of VNNLIB's texts (vnnlib_inside.h). */
#include "format/vnnlib_inside.h"
#include "format/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

clarke_status
clarke_vnnlib_refuse(const clarke_vnnlib_words *w, const char *why)
{
  return clarke_fail(w->err, CLARKE_EINPUT, "%s: line %zu: %s, at '%.40s'", w->file, w->line, why, w->word);
}

static void
pass_blanks(clarke_vnnlib_words *w)
{
  for (; w->at < w->end; w->at++) {
    if (*w->at == ';')
      while (w->at < w->end && *w->at != '\n')
        w->at++;
    if (w->at == w->end || strchr(" \t\r\n", *w->at) == NULL || *w->at == '\0')
      return;
    w->line += *w->at == '\n';
  }
}

clarke_status
clarke_vnnlib_advance(clarke_vnnlib_words *w)
{
  size_t n = 0;

  pass_blanks(w);
  if (w->at < w->end && (*w->at == '(' || *w->at == ')'))
    w->word[n++] = *w->at++;
  else
    for (; w->at < w->end && *w->at != '\0' && strchr(" \t\r\n();", *w->at) == NULL; w->at++) {
      if (n == CLARKE_VNNLIB_LONGEST)
        break;
      w->word[n++] = *w->at;
    }
  w->word[n] = '\0';
  if (n == CLARKE_VNNLIB_LONGEST || (w->at < w->end && *w->at == '\0'))
    return clarke_vnnlib_refuse(w, "no text of VNNLIB");
  return CLARKE_OK;
}

clarke_status
clarke_vnnlib_take(clarke_vnnlib_words *w, const char *word)
{
  char why[64];

  if (strcmp(w->word, word) == 0)
    return clarke_vnnlib_advance(w);
  snprintf(why, sizeof why, "'%s' is expected", word);
  return clarke_vnnlib_refuse(w, why);
}

bool
clarke_vnnlib_is_variable(const char *word, char letter, size_t *i)
{
  char *end;

  if (word[0] != letter || word[1] != '_' || word[2] < '0' || word[2] > '9' || strlen(word) > 12)
    return false;
  *i = strtoul(word + 2, &end, 10);
  return *end == '\0' && (word[2] != '0' || word[3] == '\0');
}

clarke_status
clarke_vnnlib_number(clarke_vnnlib_words *w, mpq_t value)
{
  const bool minus = strcmp(w->word, "(") == 0;
  clarke_status status = CLARKE_OK;

  if (minus && (status = clarke_vnnlib_advance(w)) == CLARKE_OK)
    status = clarke_vnnlib_take(w, "-");
  if (status != CLARKE_OK)
    return status;
  if (!clarke_table_number(value, w->word))
    return clarke_vnnlib_refuse(w, "a number is expected");
  if (minus)
    mpq_neg(value, value);
  status = clarke_vnnlib_advance(w);
  return minus && status == CLARKE_OK ? clarke_vnnlib_take(w, ")") : status;
}
