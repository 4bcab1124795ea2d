/* Does a result say what a text says? Numbers are compared exactly; ~D stands for every number that
 * rounds to the decimal D. */
#include "reproduce_compare.h"
#include "exact/literal.h"

#include <stdlib.h>
#include <string.h>

/* A number of a text: center +- radius, radius 0 for a literal. */
typedef struct {
  mpq_t center, radius;
} range;

typedef struct {
  size_t n;
  range *entry;
} ranges;

static void
ranges_clear(ranges *r)
{
  for (size_t i = 0; i < r->n; i++)
    mpq_clears(r->entry[i].center, r->entry[i].radius, NULL);
  free(r->entry);
  *r = (ranges){0, NULL};
}

/* Half a unit of the last digit of a decimal such as -5.96e-8. */
static bool
half_unit(mpq_t half, const char *decimal)
{
  const char *point = strchr(decimal, '.'), *e = strpbrk(decimal, "eE");
  size_t end = e != NULL ? (size_t)(e - decimal) : strlen(decimal);
  size_t places = point != NULL && point < decimal + end ? end - (size_t)(point - decimal) - 1 : 0;
  char unit[64];

  if (places > 99 || strlen(e != NULL ? e : "") > 8)
    return false;
  snprintf(unit, sizeof unit, "0.%0*d%s", (int)places + 1, 5, e != NULL ? e : "");
  return clarke_literal_parse(half, unit);
}

static bool
parse_range(range *r, const char *token)
{
  if (*token != '~')
    return clarke_literal_parse(r->center, token);
  return clarke_literal_parse(r->center, token + 1) && half_unit(r->radius, token + 1);
}

/* The numbers of a text, whatever the brackets around them; false when something else is there. */
static bool
parse_ranges(ranges *r, const char *text)
{
  static const char between[] = " \t,(){}[]";
  char token[256];

  *r = (ranges){0, NULL};
  for (const char *p = text + strspn(text, between); *p != '\0'; p += strspn(p, between)) {
    size_t n = strcspn(p, between);
    range *grown = realloc(r->entry, (r->n + 1) * sizeof *grown);

    if (grown == NULL || n >= sizeof token)
      return false;
    memcpy(token, p, n);
    token[n] = '\0';
    r->entry = grown;
    mpq_inits(grown[r->n].center, grown[r->n].radius, NULL);
    if (!parse_range(&grown[r->n++], token))
      return false;
    p += n;
  }
  return r->n > 0;
}

static bool
number_in(const clarke_number *x, const range *r)
{
  clarke_number low, high;
  mpq_t q;
  bool in;

  if (mpq_sgn(r->radius) == 0)
    return x->exact && mpq_equal(x->q, r->center);
  clarke_number_init(&low);
  clarke_number_init(&high);
  mpq_init(q);
  mpq_sub(q, r->center, r->radius);
  clarke_number_set_q(&low, q);
  mpq_add(q, r->center, r->radius);
  clarke_number_set_q(&high, q);
  int below = clarke_number_compare(&low, x, CLARKE_PRECISION_FIRST);
  int above = clarke_number_compare(x, &high, CLARKE_PRECISION_FIRST);
  in = (below == -1 || below == 0) && (above == -1 || above == 0);
  mpq_clear(q);
  clarke_number_clear(&low);
  clarke_number_clear(&high);
  return in;
}

static bool
numbers_are(const clarke_result *result, const ranges *r)
{
  bool same = result->n == r->n;

  for (size_t i = 0; i < r->n && same; i++)
    same = number_in(&result->x[i], &r->entry[i]);
  return same;
}

/* As sets: the text's vectors are those of the result, each of them at least once. */
static bool
points_are(const clarke_result *result, const ranges *r)
{
  size_t dim = result->dim, rows = dim > 0 ? r->n / dim : 0, found = 0;
  bool *seen = calloc(result->points.n + 1, 1);
  mpq_t *v = malloc((dim + 1) * sizeof *v);
  bool same = seen != NULL && v != NULL && dim > 0 && r->n % dim == 0;

  for (size_t i = 0; i < rows && same; i++) {
    for (size_t k = 0; k < dim; k++) {
      v[k][0] = r->entry[i * dim + k].center[0]; /* an alias: read only */
      same = same && mpq_sgn(r->entry[i * dim + k].radius) == 0;
    }
    size_t row = clarke_points_find(&result->points, v);

    same = same && row != CLARKE_NONE;
    if (same && !seen[row]) {
      seen[row] = true;
      found++;
    }
  }
  same = same && found == result->points.n;
  free(seen);
  free(v);
  return same;
}

bool
clarke_result_is(const clarke_result *result, const char *text)
{
  ranges r;
  bool is;

  if (strcmp(result->text, text) == 0)
    return true;
  if (result->kind == CLARKE_RESULT_WORD)
    return false;
  is = parse_ranges(&r, text)
       && (result->kind == CLARKE_RESULT_SET ? points_are(result, &r) : numbers_are(result, &r));
  ranges_clear(&r);
  return is;
}

/* Every number the expected text allows is one that the printed text allows, in their order. */
bool
clarke_texts_agree(const char *printed, const char *expected)
{
  ranges a, b;
  mpq_t d;
  bool same, read = parse_ranges(&a, printed), both = parse_ranges(&b, expected) && read;

  mpq_init(d);
  same = both && a.n == b.n;
  for (size_t i = 0; same && i < a.n; i++) {
    mpq_sub(d, a.entry[i].center, b.entry[i].center);
    mpq_abs(d, d);
    mpq_add(d, d, b.entry[i].radius);
    same = mpq_cmp(d, a.entry[i].radius) <= 0;
  }
  mpq_clear(d);
  ranges_clear(&a);
  ranges_clear(&b);
  return same || strcmp(printed, expected) == 0;
}
