#include "patterns_text.h"

#include <stdio.h>
#include <stdlib.h>

void
clarke_patterns_put_rational(FILE *to, const mpq_t q, bool quoted)
{
  char *text = mpq_get_str(NULL, 10, q);

  fprintf(to, quoted ? "\"%s\"" : "%s", text);
  free(text);
}

void
clarke_patterns_put_row(FILE *to, mpq_t *q, size_t n, bool json)
{
  for (size_t k = 0; k < n; k++) {
    fputs(k == 0 ? "" : json ? ", " : " ", to);
    clarke_patterns_put_rational(to, q[k], json);
  }
}

void
clarke_patterns_put_choice(FILE *to, clarke_do kind, size_t choice)
{
  if (choice == CLARKE_NONE)
    putc('.', to);
  else if (kind == CLARKE_DO_PIECEWISE)
    putc('0' + (int)choice, to);
  else if (choice < 26)
    putc('a' + (int)choice, to);
  else
    fprintf(to, "(%zu)", choice);
}
