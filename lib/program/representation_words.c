/* What is said of a representation. */
#include "program/representation_words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
clarke_say(clarke_sentence *w, const char *format, ...)
{
  va_list list;
  int n;

  va_start(list, format);
  n = vsnprintf(w->text + w->n, sizeof w->text - w->n, format, list);
  va_end(list);
  if (n > 0)
    w->n = (size_t)n < sizeof w->text - w->n ? w->n + (size_t)n : sizeof w->text - 1;
}

void
clarke_say_number(clarke_sentence *w, const mpq_t q)
{
  char text[80];

  if (mpz_sizeinbase(mpq_numref(q), 10) + mpz_sizeinbase(mpq_denref(q), 10) > 60)
    clarke_say(w, "about %.17g", mpq_get_d(q));
  else
    clarke_say(w, "%s", mpq_get_str(text, 10, q));
}

void
clarke_say_piece(clarke_sentence *w, const clarke_code *p, size_t piece)
{
  clarke_say(w, "piece %zu", piece + 1);
  if (p->piece[piece].line > 0)
    clarke_say(w, " (line %zu)", p->piece[piece].line);
}

void
clarke_say_point(clarke_sentence *w, const clarke_code *p, mpq_t *at, mpq_t *point)
{
  clarke_say(w, " at");
  for (size_t i = 0; i < p->n_inputs; i++) {
    const clarke_code_input *input = &p->input[i];

    clarke_say(w, " %s=", input->name);
    for (size_t k = 0; k < input->n; k++) {
      size_t entry = clarke_code_wrt_entry(p, input->first + k);

      clarke_say(w, "%s", k > 0 ? "," : "");
      if (entry == CLARKE_NONE)
        clarke_say_number(w, at[clarke_code_entry(p, input->first + k)]);
      else
        clarke_say_number(w, point[entry]);
    }
  }
}

void
clarke_say_instruction(clarke_sentence *w, const clarke_code *p, size_t at)
{
  const clarke_instruction *i = &p->instruction[at];

  if (i->line > 0)
    clarke_say(w, "the expression at %zu:%zu", i->line, i->column);
  else
    clarke_say(w, "instruction %zu", at);
}

void
clarke_say_holding(clarke_sentence *w, const clarke_code *p, size_t first, size_t second)
{
  if (first == CLARKE_NONE) {
    clarke_say(w, "no piece holds");
    return;
  }
  clarke_say_piece(w, p, first);
  clarke_say(w, " and ");
  clarke_say_piece(w, p, second);
  clarke_say(w, " both hold");
}
