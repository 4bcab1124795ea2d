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

void
clarke_patterns_put_grid(const clarke_grid *g, const char *format, bool plane)
{
  mpq_t share;

  gmp_printf("%s: %Zd %s, %Zd of them in the bifurcation zone", format, g->numbers, plane ? "points of the grid in the box" : "numbers from A to B",
             g->bifurcation);
  if (mpz_sgn(g->numbers) > 0) {
    mpq_init(share);
    mpq_set_num(share, g->bifurcation);
    mpq_set_den(share, g->numbers);
    mpq_canonicalize(share);
    printf(" (share %.3g)", mpq_get_d(share));
    mpq_clear(share);
  }
  if (mpz_sgn(g->unknown) > 0)
    gmp_printf("; of %Zd it is not known", g->unknown);
  if (plane)
    printf(". Asked in %zu column%s\n", g->intervals, g->intervals == 1 ? "" : "s");
  else
    printf(". Its zone there: %zu point%s or interval%s\n", g->zones, g->zones == 1 ? "" : "s", g->zones == 1 ? "" : "s");
}

void
clarke_patterns_put_grid_key(const clarke_grid *g, const char *format)
{
  gmp_printf(", \"grid\": {\"format\": \"%s\", \"numbers\": \"%Zd\", \"bifurcation\": \"%Zd\", \"unknown\": \"%Zd\", \"zones\": %zu}", format,
             g->numbers, g->bifurcation, g->unknown, g->zones);
}
