/* Einsum of one or two operands: the equation is read, and each entry of the result becomes one sum of products. */
#include "check/onnx/einsum.h"
#include "check/base/allocate.h"

#include <string.h>

#define CHARACTERS 128

/* An axis is a character: its letter, or \1, \2, ... for those that "..." stands for. */
typedef struct {
  size_t n;                      /* operands */
  char axes[3][MAX_RANK + 1];    /* of the operands; [2]: of the result */
  size_t size[CHARACTERS];       /* 0: there is none */
  size_t apart[2][CHARACTERS];   /* how far apart an operand's entries are along it; 0: it does not go along it */
  char summed[2 * MAX_RANK + 1]; /* those that the result has not */
  size_t n_result, n_summed;     /* entries of the result, terms of a sum */
  size_t dims[MAX_RANK];
} equation;

/* One list of letters: `dots` axes for "...", NONE when that may not stand there. False when it is none. */
static bool
read_axes(const builder *b, const char *from, size_t length, size_t dots, char *axes)
{
  size_t n = 0;
  bool met = false;
  for (size_t i = 0; i < length; i++) {
    bool letter = (from[i] >= 'a' && from[i] <= 'z') || (from[i] >= 'A' && from[i] <= 'Z');
    bool here = !letter && i + 3 <= length && strncmp(from + i, "...", 3) == 0 && !met;
    need(letter || here, "the equation is no list of letters, \"...\" and commas");
    size_t more = here && dots != NONE ? dots : letter;
    need(n + more <= MAX_RANK, "the equation has more axes than supported");
    for (size_t k = 0; k < more; k++)
      axes[n++] = letter ? from[i] : (char)(k + 1);
    i += here ? 2 : 0;
    met = met || here;
  }
  axes[n] = '\0';
  return met;
}

/* Operand i, of as many axes as the input has; *dots: what "..." stands for, NONE before it is met. */
static void
read_operand(const builder *b, equation *e, size_t i, const char *from, size_t length, size_t *dots)
{
  size_t rank = b->in[i].rank;
  bool met = read_axes(b, from, length, NONE, e->axes[i]);
  size_t letters = strlen(e->axes[i]);
  need(met ? letters <= rank : letters == rank, "an operand has not as many axes as the equation says");
  if (!met)
    return;
  need(*dots == NONE || *dots == rank - letters, "\"...\" stands for different numbers of axes");
  *dots = rank - letters;
  read_axes(b, from, length, *dots, e->axes[i]);
}

/* Without "->": the axes of "...", then the letters that stand once, in order. */
static void
make_result(const builder *b, equation *e, size_t dots)
{
  size_t n = 0;
  for (; dots != NONE && n < dots; n++)
    e->axes[2][n] = (char)(n + 1);
  for (char c = 'A'; c <= 'z'; c++) {
    size_t times = 0;
    for (size_t i = 0; i < e->n; i++)
      for (const char *at = e->axes[i]; *at != '\0'; at++)
        times += *at == c;
    if (times != 1)
      continue;
    need(c >= 'a', "without \"->\" capitals have no one order");
    need(n < MAX_RANK, "the equation has more axes than supported");
    e->axes[2][n++] = c;
  }
}

static void
read_equation(const builder *b, equation *e)
{
  const char *given = text_attribute(b, "equation", "?");
  char *text = allocate(strlen(given) + 1, 1), *end = text;
  for (const char *at = given; *at != '\0'; at++)
    if (*at != ' ')
      *end++ = *at;
  const char *arrow = strstr(text, "->"), *from = text, *all = arrow != NULL ? arrow : end;
  size_t dots = NONE;
  for (size_t i = 0; i < e->n; i++) {
    const char *to = memchr(from, ',', (size_t)(all - from));
    need((to != NULL) == (i + 1 < e->n), "the equation has another number of operands");
    to = to != NULL ? to : all;
    read_operand(b, e, i, from, (size_t)(to - from), &dots);
    from = to + 1;
  }
  if (arrow == NULL) {
    make_result(b, e, dots);
    return;
  }
  bool met = read_axes(b, arrow + 2, (size_t)(end - arrow - 2), dots, e->axes[2]);
  need(met == (dots != NONE), "\"...\" is in the operands or the result alone");
  for (const char *at = e->axes[2]; *at != '\0'; at++) {
    need(strchr(at + 1, *at) == NULL, "the result has an axis twice");
    need(strchr(e->axes[0], *at) != NULL || strchr(e->axes[1], *at) != NULL, "the result has an axis of no operand");
  }
}

/* Operand i has its samples on an axis: it is one of the operand, one of the result, and the other operand's axis of that name has
 * the samples, too, or one entry. */
static void
check_samples(builder *b, const equation *e, size_t i)
{
  const value *v = &b->in[i];
  value *other = &b->in[1 - i];
  char name = e->axes[i][v->at];
  const char *first = strchr(e->axes[i], name), *there = e->n == 2 ? strchr(e->axes[1 - i], name) : NULL;
  size_t at = there != NULL ? (size_t)(there - e->axes[1 - i]) : NONE;
  need(strchr(first + 1, name) == NULL && strchr(e->axes[2], name) != NULL, "the batch axis would be mixed");
  if (e->n == 2 && is_batch(b, other)) {
    need(at == other->at && v->inner == other->inner, "the inputs have the batch on different axes");
    return;
  }
  if (at == NONE)
    return;
  if (v->inner == 0 && b->net->together > 1 && other->constant != NULL)
    make_shared(b, other, at);
  need(other->dims[at] == 1 || (v->inner > 0 && b->net->together == 1),
       "a constant, or what is computed of constants, has more than one entry along the batch axis");
}

static void
read_sizes(const builder *b, equation *e)
{
  for (size_t i = 0; i < e->n; i++) {
    const value *v = &b->in[i];
    for (size_t a = 0; a < v->rank; a++) {
      size_t *size = &e->size[(size_t)e->axes[i][a]];
      size_t first = (size_t)(strchr(e->axes[i], e->axes[i][a]) - e->axes[i]);
      need(v->dims[a] > 0 && v->dims[a] == v->dims[first] && (v->dims[a] == 1 || *size <= 1 || *size == v->dims[a]),
           "axes of one name differ in length");
      *size = v->dims[a] > *size ? v->dims[a] : *size;
    }
  }
  for (size_t i = 0; i < e->n; i++)
    for (size_t a = b->in[i].rank, next = 1; a-- > 0; next *= b->in[i].dims[a])
      e->apart[i][(size_t)e->axes[i][a]] += b->in[i].dims[a] > 1 ? next : 0;
  e->n_summed = 1;
  for (size_t c = 0, n = 0; c < CHARACTERS; c++)
    if (e->size[c] > 0 && strchr(e->axes[2], (int)c) == NULL) {
      e->summed[n++] = (char)c;
      need(!__builtin_mul_overflow(e->n_summed, e->size[c], &e->n_summed), "a sum of too many terms");
    }
  for (size_t a = 0; e->axes[2][a] != '\0'; a++)
    e->dims[a] = e->size[(size_t)e->axes[2][a]];
  e->n_result = product(e->dims, strlen(e->axes[2]));
}

/* The part of operand i's entry that index f over such axes says. */
static size_t
part(const equation *e, size_t i, const char *axes, size_t f)
{
  size_t at = 0;
  for (size_t a = strlen(axes); a-- > 0; f /= e->size[(size_t)axes[a]])
    at += f % e->size[(size_t)axes[a]] * e->apart[i][(size_t)axes[a]];
  return at;
}

/* Which row the result's entry f has, of those for operand i: the entries of the result that differ along its axes alone. */
static size_t
row_of(const equation *e, size_t i, size_t f, size_t *rows)
{
  size_t row = 0;
  *rows = 1;
  for (size_t a = strlen(e->axes[2]); a-- > 0; f /= e->dims[a]) {
    if (e->apart[i][(size_t)e->axes[2][a]] == 0)
      continue;
    row += f % e->dims[a] * *rows;
    *rows *= e->dims[a];
  }
  return row;
}

/* Operand x is an activation, the other one a constant. */
static void
put_linear(builder *b, const equation *e, size_t x)
{
  const value *v = &b->in[x], *w = &b->in[1 - x];
  size_t factors, sources;
  step *s = add_step(b, LINEAR, 0, strlen(e->axes[2]), e->dims);
  row_of(e, 1 - x, 0, &factors);
  row_of(e, x, 0, &sources);
  add_rows(b, s, e->n_summed, factors, sources);
  for (size_t f = 0; f < s->n; f++) {
    size_t to = row_of(e, 1 - x, f, &factors), from = row_of(e, x, f, &sources);
    s->factor_row[f] = to;
    s->source_row[f] = from;
    for (size_t i = 0; i < e->n_summed; i++) {
      factor *t = &s->factors[to * s->width + i];
      s->sources[from * s->width + i] = (source){v->step, v->map[part(e, x, e->axes[2], f) + part(e, x, e->summed, i)]};
      if (t->w == NULL)
        factor_of(b, t, w, part(e, 1 - x, e->axes[2], f) + part(e, 1 - x, e->summed, i));
      if (w->negated)
        t->coef = &minus_one;
    }
  }
}

static void
put_sums(builder *b, const equation *e)
{
  const value *x = &b->in[0];
  step *s = add_step(b, LINEAR, e->n_summed, strlen(e->axes[2]), e->dims);
  for (size_t f = 0; f < s->n; f++)
    for (size_t i = 0; i < s->width; i++)
      operand(b, s, f * s->width + i, x, part(e, 0, e->axes[2], f) + part(e, 0, e->summed, i));
}

static void
put_terms(builder *b, const equation *e)
{
  step *s = add_step(b, PRODUCT, 2 * e->n_summed, strlen(e->axes[2]), e->dims);
  for (size_t f = 0; f < s->n; f++)
    for (size_t i = 0; i < 2 * e->n_summed; i++)
      factor_source(b, s, f * s->width + i, &b->in[i % 2],
                    part(e, i % 2, e->axes[2], f) + part(e, i % 2, e->summed, i / 2));
}

void
lower_einsum(builder *b)
{
  equation e = {.n = b->node->n_in};
  need(e.n <= 2, "more than two operands");
  read_equation(b, &e);
  const value *of = NULL;
  for (size_t i = 0; i < e.n; i++)
    if (is_batch(b, &b->in[i])) {
      of = &b->in[i];
      check_samples(b, &e, i);
    }
  size_t at = of != NULL ? (size_t)(strchr(e.axes[2], e.axes[of - b->in][of->at]) - e.axes[2]) : 0;
  read_sizes(b, &e);
  if (e.n == 1)
    put_sums(b, &e);
  else if (b->in[0].constant == NULL && b->in[1].constant == NULL)
    put_terms(b, &e);
  else
    put_linear(b, &e, b->in[0].constant != NULL);
  b->out.at = at;
  b->out.inner = of != NULL ? of->inner : 0;
}
