/* The text of a tape (tape.h): a line a parameter, a line a step. Rows are told by their hashes, a row's being that of its terms. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* open_memstream */
#endif
#include "check/tape.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"
#include "check/base/sha256.h"
#include "check/kernel/point.h"
#include "check/onnx/network.h"

#include <stdlib.h>
#include <string.h>

typedef char hash[65];

/* A text that becomes its hash. */
typedef struct {
  FILE *to;
  char *data;
  size_t n;
} text;

static void
text_begin(text *t)
{
  t->to = open_memstream(&t->data, &t->n);
  expect(t->to != NULL, "out of memory");
}

static void
text_end(text *t, hash hex)
{
  expect(fclose(t->to) == 0, "out of memory");
  sha256((bytes){(unsigned char *)t->data, t->n}, hex);
  free(t->data);
}

static void
put_number(FILE *to, const rational *q)
{
  gmp_fprintf(to, " %Qd", q);
}

static void
put_name(FILE *to, const char *name)
{
  for (; *name != '\0'; name++)
    fprintf(to, strchr(safe, *name) != NULL ? "%c" : "%%%02X", (unsigned char)*name);
}

/* ---- Rows */

/* `C`, `C*PARAMETER@ENTRY` or, of a constant, `C*VALUE`. */
static void
put_factor(FILE *to, const network *net, const factor *t)
{
  put_number(to, t->coef);
  if (t->w == NULL)
    return;
  size_t i = t->w->weight && t->w->name != NULL ? name_find(&net->named, t->w->name) : NONE;
  if (i < net->n_tensors && net->tensors[i] == t->w)
    fprintf(to, "*%zu@%zu", i, t->at);
  else
    gmp_fprintf(to, "*%Qd", &t->w->value[t->at]);
}

static void
put_source(FILE *to, const source *x)
{
  if (x->step == NONE)
    fputs(" 1", to);
  else if (x->step == PADDING)
    fputs(" -", to);
  else
    fprintf(to, " %zu.%zu", x->step, x->from);
}

static bool
has_factors(const step *st)
{
  return st->kind == LINEAR || st->kind == PIECEWISE || st->kind == OVER_ROOT;
}

/* The hash of each row; of factors, or of sources. */
static hash *
row_hashes(const network *net, const step *st, bool factors)
{
  size_t rows = factors ? rows_of_factors(st) : rows_of_sources(st);
  hash *hashes = allocate(rows, sizeof *hashes);
  for (size_t r = 0; r < rows; r++) {
    text t;
    text_begin(&t);
    for (size_t i = r * st->width; i < (r + 1) * st->width; i++)
      if (factors)
        put_factor(t.to, net, &st->factors[i]);
      else
        put_source(t.to, &st->sources[i]);
    text_end(&t, hashes[r]);
  }
  return hashes;
}

/* Of all features the rows that each has. */
static void
put_rows(FILE *to, const network *net, const step *st)
{
  hash hex, *factors = has_factors(st) ? row_hashes(net, st, true) : NULL;
  hash *sources = row_hashes(net, st, false);
  text t;
  text_begin(&t);
  for (size_t f = 0; f < st->n; f++)
    fprintf(t.to, "%s %s\n", factors != NULL ? factors[st->factor_row[f]] : "-", sources[st->source_row[f]]);
  text_end(&t, hex);
  fprintf(to, " of %zu rows %s", st->width, hex);
  free(factors);
  free(sources);
}

/* ---- Lines */

static void
put_dims(FILE *to, const size_t *dims, size_t rank)
{
  fputs(" [", to);
  for (size_t i = 0; i < rank; i++)
    fprintf(to, i > 0 ? ",%zu" : "%zu", dims[i]);
  fputc(']', to);
}

static void
put_tensor(FILE *to, const tensor *t)
{
  hash hex;
  text values;
  text_begin(&values);
  for (size_t i = 0; i < t->count; i++)
    put_number(values.to, &t->value[i]);
  text_end(&values, hex);
  put_dims(to, t->dims, t->rank);
  fprintf(to, " %s\n", hex);
}

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
    put_number(to, &st->at[0]);
  if (st->length > 0)
    fprintf(to, " lines of %zu by %zu%s%s", st->length, st->stride, st->log ? " logarithm" : "",
            st->couples ? " coupled" : "");
  if (st->kind != PIECEWISE)
    return;
  fprintf(to, " %s kinks", step_operator(st));
  for (size_t k = 0; k < st->n_kinks; k++) {
    fprintf(to, " %zu at", st->number[k]);
    put_number(to, &st->at[k]);
  }
  fputs(" pieces", to);
  for (size_t k = 0; k < 3 * (st->n_kinks + 1); k++)
    put_number(to, &st->piece[k / 3][k % 3]);
}

static void
put_step(FILE *to, const network *net, size_t s)
{
  static const char *const names[] = {"input",  "linear",    "piecewise", "softmax", "over-root",
                                      "window", "normalize", "product",   "function"};
  const step *st = &net->steps[s];
  fprintf(to, "step %zu %s %zu", s, names[st->kind], st->n);
  put_attributes(to, st);
  if (st->kind == INPUT && st->given != NULL) {
    put_tensor(to, st->given);
    return;
  }
  if (st->kind != INPUT)
    put_rows(to, net, st);
  fputc('\n', to);
}

void
tape_write(FILE *to, const network *net)
{
  static const char *const losses[] = {"sum", "mse", "ce", "none"};
  hash hex;
  text map;
  fprintf(to, "tape 1\nsamples %zu together %zu\n", net->batch, net->together);
  for (size_t i = 0; i < net->n_tensors; i++)
    if (net->tensors[i]->weight) {
      fprintf(to, "parameter %zu ", i);
      put_name(to, net->tensors[i]->name);
      put_tensor(to, net->tensors[i]);
    }
  for (size_t s = 0; s < net->n_steps; s++)
    put_step(to, net, s);
  text_begin(&map);
  for (size_t f = 0; f < net->n_outputs; f++)
    fprintf(map.to, "%zu\n", net->map[f]);
  text_end(&map, hex);
  fputs("output", to);
  put_dims(to, net->dims, net->rank);
  fprintf(to, " of step %zu %s loss %s\n", net->output, hex, losses[net->own.kind]);
}

void
clarke_show_tape(const char *model_path, const char *batch_path)
{
  model m;
  network net;
  hash hex;
  char *data;
  size_t n;
  expect(batch_path != NULL, "a model's tape is that for a batch");
  onnx_read(&m, read_file(model_path));
  const arrays given = batch_read(read_file(batch_path));
  network_build(&net, &m, &given);
  FILE *to = open_memstream(&data, &n);
  expect(to != NULL, "out of memory");
  tape_write(to, &net);
  expect(fclose(to) == 0, "out of memory");
  fputs(data, stdout);
  sha256((bytes){(unsigned char *)data, n}, hex);
  printf("hash %s\n", hex);
}
