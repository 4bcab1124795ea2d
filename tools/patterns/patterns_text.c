#include "patterns_text.h"

#include <stdio.h>
#include <stdlib.h>

void
clarke_patterns_put_rational(const mpq_t q, bool quoted)
{
  char *text = mpq_get_str(NULL, 10, q);

  printf(quoted ? "\"%s\"" : "%s", text);
  free(text);
}

void
clarke_patterns_put_row(mpq_t *q, size_t n, bool json)
{
  for (size_t k = 0; k < n; k++) {
    fputs(k == 0 ? "" : json ? ", " : " ", stdout);
    clarke_patterns_put_rational(q[k], json);
  }
}

void
clarke_patterns_put_choice(clarke_do kind, size_t choice)
{
  if (choice == CLARKE_NONE)
    putchar('.');
  else if (kind == CLARKE_DO_PIECEWISE)
    putchar('0' + (int)choice);
  else if (choice < 26)
    putchar('a' + (int)choice);
  else
    printf("(%zu)", choice);
}
