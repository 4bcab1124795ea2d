/* Where the record's branches part from those of exact arithmetic (record_pattern.h). */
#include "check/record/record_pattern.h"
#include "check/base/lines.h"

#include <string.h>

static const char *const kinks[] = {"Abs",   "Clamp",     "Clip",    "GlobalMaxPool", "HardSigmoid", "HardSwish",
                                    "Huber", "LeakyRelu", "MaxPool", "PRelu",         "Relu"};

bool
pattern_has(const node *n)
{
  bool found = false;
  for (size_t i = 0; i < sizeof kinks / sizeof *kinks; i++)
    found = found || strcmp(n->op, kinks[i]) == 0;
  return found;
}

/* Pieces of one slope are one, and have the last one's number: a place may be that of any of them. */
static size_t
last_alike(const step *st, size_t piece)
{
  while (piece < st->n_kinks && mpq_equal(&st->piece[piece][1], &st->piece[piece + 1][1]))
    piece++;
  return piece;
}

/* As it was recorded, and exactly: at a kink, or on which piece? NULL: they agree. */
static const char *
part_at_kink(const record *r, size_t s, size_t f, size_t b)
{
  const point *p = r->p;
  const step *st = &p->net->steps[s];
  size_t exact = p->place[s][f * p->net->batch + b];
  size_t own = record_piece(r, st, record_read(r, st->sources[st->source_row[f]], b));
  exact = exact >= TOUCHED ? AT_KINK + p->touched[exact - TOUCHED].kink : last_alike(st, exact);
  if (exact == own)
    return NULL;
  return exact < AT_KINK && own >= AT_KINK   ? "recorded-at-kink"
         : exact >= AT_KINK && own < AT_KINK ? "exactly-at-kink"
                                             : "other-side";
}

/* The recorded winners of a step with windows, where they were recorded; and the value that it pools. */
typedef struct {
  const tensor *indices;
  const graph_value *in;
} winners;

/* Is what the record took as winner exactly one of the largest? */
static const char *
part_of_window(const record *r, const winners *w, size_t s, size_t f, size_t b)
{
  const point *p = r->p;
  const step *st = &p->net->steps[s];
  const source *x = &st->sources[st->source_row[f] * st->width];
  size_t e = f * p->net->batch + b, place = p->place[s][e];
  size_t taken = w->indices != NULL ? record_named(r, st, w->in, w->indices, f, b) : record_winner(r, st, f, b);
  require(taken != NONE, "an index of '%s' is of no entry of its window", st->node->out[0]);
  size_t largest = place >= TOUCHED ? p->touched[place - TOUCHED].at[0] : entry_of(p, x[place], e);
  size_t own = entry_of(p, x[taken], e);
  if (own == largest)
    return NULL;
  int order = interval_compare(value_at(p, x[taken].step, own), value_at(p, x[taken].step, largest));
  if (order == 2)
    leave(UNDECIDED, "whether a window's winner is the largest is not decided");
  return order < 0 ? "loser" : NULL;
}

bool
pattern_covers(const record *r, const step *st)
{
  bool flat = st != NULL && (st->kind == WINDOW || st->kind == PIECEWISE);
  return flat && record_reads(r, st);
}

size_t
pattern_check(record *r, const step *st, size_t n)
{
  size_t s = (size_t)(st - r->p->net->steps), found = 0;
  winners w = {NULL, NULL};
  if (st->kind == WINDOW)
    w.indices = record_winners(r, st, &w.in);
  for (size_t f = 0; f < st->n; f++)
    for (size_t b = 0; b < r->p->net->batch; b++) {
      const char *part = st->kind == WINDOW ? part_of_window(r, &w, s, f, b) : part_at_kink(r, s, f, b);
      if (part == NULL)
        continue;
      require(found < n, "entry %zu of sample %zu parts, too: %s", f, b, part);
      next_line("part");
      require(next_number() == f && next_number() == b && strcmp(next_word(), part) == 0,
              "entry %zu of sample %zu is the next that parts: %s", f, b, part);
      fprintf(account, "    entry %zu of sample %zu: %s\n", f, b, part);
      found++;
    }
  require(found == n, "only %zu entries part", found);
  return st->n * r->p->net->batch;
}
