/* The construction of Theorem 6 (network.h). A form is a row: what an entry is, in terms of the layer before it. */
#include "sat/network.h"
#include "base/limit.h"
#include "base/verify.h"

#include <stdlib.h>
#include <string.h>

void
clarke_sign_network_init(clarke_sign_network *net)
{
  memset(net, 0, sizeof *net);
}

void
clarke_sign_network_clear(clarke_sign_network *net)
{
  for (size_t k = 0; net->matrix != NULL && k < net->n_matrices; k++)
    free(net->matrix[k].row);
  free(net->matrix);
  clarke_sign_network_init(net);
}

/* --- forms ------------------------------------------------------------------------------------ */

static clarke_sign_row
literal_form(int32_t literal)
{
  return (clarke_sign_row){1, {(size_t)labs((long)literal) - 1}, {literal < 0 ? -1 : 1}};
}

/* a + s b. Entries cancel where they must: no two forms that are added have an entry of one sign in one column. */
static clarke_sign_row
plus(const clarke_sign_row *a, const clarke_sign_row *b, int s)
{
  clarke_sign_row sum = {0};
  size_t i = 0, j = 0;

  while (i < a->n || j < b->n)
    if (j == b->n || (i < a->n && a->column[i] < b->column[j])) {
      sum.column[sum.n] = a->column[i];
      sum.entry[sum.n++] = a->entry[i++];
    } else if (i == a->n || b->column[j] < a->column[i]) {
      sum.column[sum.n] = b->column[j];
      sum.entry[sum.n++] = s * b->entry[j++];
    } else {
      CLARKE_ASSERT(a->entry[i++] + s * b->entry[j++] == 0);
    }
  return sum;
}

static clarke_sign_row
negative(const clarke_sign_row *a)
{
  static const clarke_sign_row none = {0};

  return plus(&none, a, -1);
}

/* --- layers ----------------------------------------------------------------------------------- */

/* Forms whose relu is the next layer become its rows; the forms of what follows are in its entries. */
typedef struct {
  clarke_sign_network *net;
  size_t n;
  clarke_sign_row *form; /* with room for the first layer's forms */
} building;

static clarke_status
add_matrix(clarke_sign_network *net, size_t n_rows, size_t n_columns, clarke_error *err)
{
  clarke_sign_matrix *m = &net->matrix[net->n_matrices];

  m->row = malloc(n_rows * sizeof *m->row);
  if (m->row == NULL)
    return clarke_no_memory(err);
  m->n_rows = n_rows;
  m->n_columns = n_columns;
  net->n_matrices++;
  return CLARKE_OK;
}

static size_t
width_before(const clarke_sign_network *net)
{
  return net->n_matrices == 0 ? net->n_inputs : net->matrix[net->n_matrices - 1].n_rows;
}

/* Lemma 3: of each two forms a, b the rows a - b, b and -b, and from these the maximum. */
static clarke_status
maxima(building *b, clarke_error *err)
{
  const size_t pairs = b->n / 2;
  clarke_status status = add_matrix(b->net, 3 * pairs, width_before(b->net), err);
  clarke_sign_row *row;

  if (status != CLARKE_OK)
    return status;
  row = b->net->matrix[b->net->n_matrices - 1].row;
  for (size_t i = 0; i < pairs; i++) {
    const clarke_sign_row x = b->form[2 * i], y = b->form[2 * i + 1];

    row[3 * i] = plus(&x, &y, -1);
    row[3 * i + 1] = y;
    row[3 * i + 2] = negative(&y);
    b->form[i] = (clarke_sign_row){3, {3 * i, 3 * i + 1, 3 * i + 2}, {1, 1, -1}};
  }
  b->n = pairs;
  return CLARKE_OK;
}

/* A layer of the forms themselves. */
static clarke_status
outer(building *b, clarke_error *err)
{
  clarke_status status = add_matrix(b->net, b->n, width_before(b->net), err);

  if (status != CLARKE_OK)
    return status;
  memcpy(b->net->matrix[b->net->n_matrices - 1].row, b->form, b->n * sizeof *b->form);
  for (size_t i = 0; i < b->n; i++)
    b->form[i] = (clarke_sign_row){1, {i}, {1}};
  return CLARKE_OK;
}

/* min(a, b) = -max(-a, -b) */
static void
turn(building *b)
{
  for (size_t i = 0; i < b->n; i++)
    b->form[i] = negative(&b->form[i]);
}

/* Four forms: the literals in two pairs, neither of which is x, -x. The third is repeated. Of a, b and c two have one
 * sign or one has another variable, so one of three ways is good. */
static void
pair_literals(clarke_sign_row form[4], const int32_t clause[3])
{
  const int32_t a = clause[0], b = clause[1], c = clause[2];
  const int32_t first = a != -b || a != -c ? a : b, second = a != -b ? b : c;
  const int32_t third = a != -b ? c : a != -c ? b : a;

  form[0] = literal_form(first);
  form[1] = literal_form(second);
  form[2] = form[3] = literal_form(third);
}

static clarke_status
build(building *b, const clarke_three *t, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t c = 0; c < t->n_clauses; c++)
    pair_literals(b->form + 4 * c, t->clause[c]);
  b->n = 4 * t->n_clauses;
  for (size_t k = 0; k < 2 && status == CLARKE_OK; k++)
    status = maxima(b, err);
  if (status == CLARKE_OK)
    status = outer(b, err);
  turn(b);
  while (status == CLARKE_OK && b->n > 1)
    status = maxima(b, err);
  turn(b);
  return status == CLARKE_OK ? outer(b, err) : status;
}

clarke_status
clarke_sign_network_make(clarke_sign_network *net, const clarke_three *t, clarke_error *err)
{
  const size_t entries = t->n_variables + 13 * t->n_clauses; /* 6 n + 3 n + n + less than 3 n */
  building b = {net, 0, NULL};
  clarke_status status = CLARKE_OK;

  CLARKE_VERIFY_CHECK(clarke_three_is_valid(t));
  if (entries > clarke_limit_of(CLARKE_LIMIT_INSTRUCTIONS))
    return clarke_limit_fail(err, CLARKE_LIMIT_INSTRUCTIONS, "a network of %zu inputs and entries of layers", entries);
  b.form = malloc(4 * t->n_clauses * sizeof *b.form);
  net->n_inputs = t->n_variables;
  net->matrix = calloc(64 + 4, sizeof *net->matrix); /* log2 of a size_t, and four */
  if (b.form == NULL || net->matrix == NULL)
    status = clarke_no_memory(err);
  if (status == CLARKE_OK)
    status = build(&b, t, err);
  free(b.form);
  CLARKE_VERIFY_CHECK(status != CLARKE_OK || clarke_sign_network_is_valid(net));
  return status;
}
