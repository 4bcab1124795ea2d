/* A table of open addresses. What it finds at a hash it compares word by word. */
#include "check/base/sequences.h"
#include "check/base/allocate.h"

#include <stdlib.h>
#include <string.h>

void
put_word(sequences *t, size_t word)
{
  if (t->n_words == t->room) { /* not grow(): what is taken back comes again */
    size_t *more = allocate(2 * t->room + 16, sizeof *more);
    if (t->room > 0)
      memcpy(more, t->word, t->room * sizeof *more);
    free(t->word);
    t->word = more;
    t->room = 2 * t->room + 16;
  }
  t->word[t->n_words++] = word;
}

static void
put_limbs(sequences *t, const integer *z)
{
  put_word(t, mpz_size(z));
  for (size_t i = 0; i < mpz_size(z); i++)
    put_word(t, mpz_getlimbn(z, (mp_size_t)i));
}

void
put_rational(sequences *t, const rational *q)
{
  put_word(t, (size_t)mpq_sgn(q));
  put_limbs(t, mpq_numref(q));
  put_limbs(t, mpq_denref(q));
}

static size_t
begin_of(const sequences *t, size_t k)
{
  return k == 0 ? 0 : t->end[k - 1];
}

/* Where the sequence is, which has those words, or may be put. */
static size_t *
place_of(const sequences *t, const size_t *word, size_t n)
{
  uint64_t hash = n;
  for (size_t i = 0; i < n; i++) {
    hash = (hash ^ word[i]) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 32;
  }
  for (size_t i = hash & (t->n_places - 1);; i = (i + 1) & (t->n_places - 1)) {
    size_t k = t->place[i], from = k == 0 ? 0 : begin_of(t, k - 1);
    if (k == 0 || (t->end[k - 1] - from == n && memcmp(&t->word[from], word, n * sizeof *word) == 0))
      return &t->place[i];
  }
}

static void
make_room(sequences *t)
{
  if (2 * (t->n + 1) < t->n_places)
    return;
  free(t->place);
  t->n_places = t->n_places == 0 ? 16 : 2 * t->n_places;
  t->place = allocate(t->n_places, sizeof *t->place);
  for (size_t k = 0; k < t->n; k++)
    *place_of(t, &t->word[begin_of(t, k)], t->end[k] - begin_of(t, k)) = k + 1;
}

size_t
end_sequence(sequences *t)
{
  size_t from = begin_of(t, t->n);
  make_room(t);
  size_t *place = place_of(t, &t->word[from], t->n_words - from);
  if (*place != 0) {
    t->n_words = from;
    return *place - 1;
  }
  t->end = grow(t->end, t->n, sizeof *t->end);
  t->end[t->n++] = t->n_words;
  *place = t->n;
  return t->n - 1;
}

void
sequences_free(sequences *t)
{
  free(t->end);
  free(t->word);
  free(t->place);
  *t = (sequences){0};
}
