/* The text of a tape (tape.h): a line a parameter, a line a step. What is long is a block of lines, of which the line has the number
 * and the hash. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* open_memstream */
#endif
#include "check/kernel/tape.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"
#include "check/base/sha256.h"
#include "check/kernel/point.h"

#include <stdlib.h>
#include <string.h>

/* What is written is in data from `text_end` on. Its place in memory stays. */
typedef struct {
  FILE *to;
  char *data;
  size_t n;
} text;

typedef struct {
  FILE *to;
  const network *net;
  const tensor *x, *y;
  bool whole;
  text behind;    /* blocks of the line that is written */
  size_t *number; /* of the network's tensors: a parameter's among all by name */
} writer;

static void
text_begin(text *t)
{
  t->to = open_memstream(&t->data, &t->n);
  expect(t->to != NULL, "out of memory");
}

static void
text_end(const text *t)
{
  expect(fclose(t->to) == 0, "out of memory");
}

/* ---- Blocks and lines */

/* The block is of these: into the line its number of lines and its hash. */
static void
end_block(writer *w, text *block, const char *what)
{
  tape_hash hex;
  size_t lines = 0;
  text_end(block);
  for (const char *line = block->data, *end; (end = strchr(line, '\n')) != NULL; line = end + 1, lines++)
    if (w->whole)
      fprintf(w->behind.to, " %.*s\n", (int)(end - line), line);
  sha256((bytes){(unsigned char *)block->data, block->n}, hex);
  fprintf(w->to, " %s %zu %s", what, lines, hex);
  free(block->data);
}

static void
end_line(writer *w)
{
  text_end(&w->behind);
  fprintf(w->to, "\n%s", w->behind.data);
  free(w->behind.data);
  text_begin(&w->behind);
}

static void
put_dims(FILE *to, const size_t *dims, size_t rank)
{
  fputs(" [", to);
  for (size_t i = 0; i < rank; i++)
    fprintf(to, i > 0 ? ",%zu" : "%zu", dims[i]);
  fputc(']', to);
}

static void
put_tensor(writer *w, const tensor *t)
{
  text values;
  text_begin(&values);
  for (size_t i = 0; i < t->count; i++)
    gmp_fprintf(values.to, "%Qd\n", &t->value[i]);
  put_dims(w->to, t->dims, t->rank);
  end_block(w, &values, "values");
  end_line(w);
}

/* ---- Rows */

/* `C`, `C*PARAMETER@ENTRY` or, of a constant, `C*VALUE`. */
static void
put_factor(const writer *w, FILE *to, const factor *t)
{
  gmp_fprintf(to, "%Qd", t->coef);
  if (t->w == NULL)
    return;
  size_t i = t->w->weight && t->w->name != NULL ? name_find(&w->net->named, t->w->name) : NONE;
  if (i < w->net->n_tensors && w->net->tensors[i] == t->w)
    fprintf(to, "*%zu@%zu", w->number[i], t->at);
  else
    gmp_fprintf(to, "*%Qd", &t->w->value[t->at]);
}

static void
put_source(FILE *to, const source *x)
{
  if (x->step == NONE)
    fputc('1', to);
  else if (x->step == PADDING)
    fputc('-', to);
  else
    fprintf(to, "%zu.%zu", x->step, x->from);
}

static char *
row_text(const writer *w, const step *st, size_t row, bool of_factors)
{
  text t;
  text_begin(&t);
  for (size_t i = row * st->width; i < (row + 1) * st->width; i++) {
    if (i > row * st->width)
      fputc(' ', t.to);
    if (of_factors)
      put_factor(w, t.to, &st->factors[i]);
    else
      put_source(t.to, &st->sources[i]);
  }
  text_end(&t);
  return t.data;
}

/* The rows as a block, each once, in the order in which features have them. The number of each that a feature has, and 1. */
static size_t *
put_rows(writer *w, const step *st, bool of_factors)
{
  const size_t *row = of_factors ? st->factor_row : st->source_row;
  size_t *number = allocate(of_factors ? rows_of_factors(st) : rows_of_sources(st), sizeof *number);
  name_index known = {0};
  text block;
  text_begin(&block);
  for (size_t f = 0; f < st->n; f++) {
    if (number[row[f]] > 0)
      continue;
    char *line = row_text(w, st, row[f], of_factors);
    bool new = name_add(&known, line);
    number[row[f]] = name_find(&known, line) + 1;
    if (new)
      fprintf(block.to, "%s\n", line);
    else
      free(line);
  }
  for (size_t i = 0; i < known.n; i++)
    free((char *)known.name[i]);
  name_index_free(&known);
  end_block(w, &block, of_factors ? "factors" : "sources");
  return number;
}

/* Which rows the features have. */
static void
put_terms(writer *w, const step *st)
{
  bool weighs = st->kind == LINEAR || st->kind == PIECEWISE || st->kind == OVER_ROOT;
  fprintf(w->to, " of %zu", st->width);
  size_t *factors = weighs ? put_rows(w, st, true) : NULL, *sources = put_rows(w, st, false);
  text features;
  text_begin(&features);
  for (size_t f = 0; f < st->n; f++) {
    if (weighs)
      fprintf(features.to, "%zu ", factors[st->factor_row[f]] - 1);
    fprintf(features.to, "%zu\n", sources[st->source_row[f]] - 1);
  }
  end_block(w, &features, "features");
  end_line(w);
  free(factors);
  free(sources);
}

/* ---- Steps */

/* What the kind has beside its rows; of what has kinks the operator, whose proxies or tie rule it takes. */
static void
put_attributes(FILE *to, const step *st)
{
  if (st->kind == LINEAR && st->divide)
    fputs(" dividing", to);
  if (st->kind == WINDOW)
    fprintf(to, " %s", network_rule(st->op));
  if (st->kind == FUNCTION)
    fprintf(to, " %s", function_name(st->of));
  if (st->kind == OVER_ROOT || st->kind == NORMALIZE)
    gmp_fprintf(to, " %Qd", &st->at[0]);
  if (st->length > 0)
    fprintf(to, " lines of %zu by %zu%s%s", st->length, st->stride, st->log ? " logarithm" : "",
            st->couples ? " coupled" : "");
  if (st->kind != PIECEWISE)
    return;
  fprintf(to, " %s kinks", step_operator(st));
  for (size_t k = 0; k < st->n_kinks; k++)
    gmp_fprintf(to, " %zu at %Qd", st->number[k], &st->at[k]);
  fputs(" pieces", to);
  for (size_t k = 0; k < 3 * (st->n_kinks + 1); k++)
    gmp_fprintf(to, " %Qd", &st->piece[k / 3][k % 3]);
}

static void
put_step(writer *w, size_t s)
{
  static const char *const names[] = {"input",  "linear",    "piecewise", "softmax", "over-root",
                                      "window", "normalize", "product",   "function"};
  const step *st = &w->net->steps[s];
  fprintf(w->to, "step %zu %s %zu", s, names[st->kind], st->n);
  put_attributes(w->to, st);
  if (st->kind == INPUT)
    put_tensor(w, st->given != NULL ? st->given : w->x);
  else
    put_terms(w, st);
}

static int
by_name(const void *a, const void *b)
{
  return strcmp((*(tensor *const *)a)->name, (*(tensor *const *)b)->name);
}

static void
put_parameters(writer *w)
{
  const network *net = w->net;
  size_t n = 0;
  tensor **sorted = allocate(net->n_tensors, sizeof(tensor *));
  for (size_t i = 0; i < net->n_tensors; i++)
    if (net->tensors[i]->weight)
      sorted[n++] = net->tensors[i];
  qsort(sorted, n, sizeof(tensor *), by_name);
  for (size_t k = 0; k < n; k++) {
    w->number[name_find(&net->named, sorted[k]->name)] = k;
    fprintf(w->to, "parameter %zu ", k);
    write_name(w->to, sorted[k]->name);
    put_tensor(w, sorted[k]);
  }
  free(sorted);
}

/* The model's own loss. A label that it ignores is told unless y is there and no sample has it: the mean is of others then. */
static void
put_loss(FILE *to, const tail *own, const tensor *y)
{
  static const char *const losses[] = {"sum", "mse", "ce", "none"};
  bool told = own->ignored != NULL && y == NULL;
  for (size_t i = 0; own->ignored != NULL && y != NULL && i < y->count; i++)
    told = told || mpq_equal(&y->value[i], own->ignored->value);
  fprintf(to, " loss %s", losses[own->kind]);
  if (told)
    gmp_fprintf(to, " ignoring %Qd", own->ignored->value);
}

void
tape_write(FILE *to, const network *net, const tensor *x, const tensor *y, bool whole)
{
  writer w = {to, net, x, y, whole, {0}, allocate(net->n_tensors, sizeof(size_t))};
  text_begin(&w.behind);
  fprintf(to, "tape 1\nsamples %zu together %zu\n", net->batch, net->together);
  put_parameters(&w);
  for (size_t s = 0; s < net->n_steps; s++)
    put_step(&w, s);
  text map;
  text_begin(&map);
  for (size_t f = 0; f < net->n_outputs; f++)
    fprintf(map.to, "%zu\n", net->map[f]);
  fputs("output", to);
  put_dims(to, net->dims + net->batched, net->rank - net->batched);
  fprintf(to, " of step %zu", net->output);
  put_loss(to, &net->own, y);
  end_block(&w, &map, "features");
  end_line(&w);
  if (y != NULL) {
    fputs(y->real ? "target real" : "target integer", to);
    put_tensor(&w, y);
  }
  text_end(&w.behind);
  free(w.behind.data);
  free(w.number);
}

void
tape_digest(const network *net, const tensor *x, const tensor *y, tape_hash hex)
{
  text t;
  text_begin(&t);
  tape_write(t.to, net, x, y, false);
  text_end(&t);
  sha256((bytes){(unsigned char *)t.data, t.n}, hex);
  free(t.data);
}

void
check_tape(const network *net, const tensor *x, const tensor *y)
{
  tape_hash own;
  if (!line_is("tape"))
    return;
  const char *said = next_word();
  tape_digest(net, x, y, own);
  require(strcmp(said, own) == 0, "the network's tape has the hash %s", own);
  fprintf(account, "Tape: %s\n", own);
}
