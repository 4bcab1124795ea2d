/* A formula's three-literal clauses, and the model compared with their network, row by row. */
#include "check/formula/construction.h"
#include "check/base/allocate.h"

#include <stdlib.h>
#include <string.h>

/* What the forms before a matrix are: literals; entries of relu; of three entries r, s, t the form r + s - t. */
typedef enum { LITERALS, ENTRIES, MAXIMA } shape;

/* The matrices, as they are made, and what they are for. */
typedef struct {
  const three *formula;
  shape forms;
  size_t n_forms;
  int turned; /* -1 when all forms are multiplied by it, else 1 */
  int *row;
  const model *compared; /* whose matrices they must be */
  rational *values;      /* before the matrix at hand */
  size_t n_values;
} construction;

/* ---- Clauses of three literals */

static void
add_clause(three *t, int a, int b, int c)
{
  t->clause = grow(t->clause, t->n, sizeof *t->clause);
  memcpy(t->clause[t->n++], (int[3]){a, b, c}, sizeof *t->clause);
}

/* The literals left of a clause. */
static void
add_rewritten(three *t, const int *l, size_t n)
{
  if (n == 0) {
    add_clause(t, 1, 1, 1);
    add_clause(t, -1, -1, -1);
  } else if (n <= 3) {
    add_clause(t, l[0], l[n > 1], l[n - 1]);
  } else {
    int before = l[0];
    for (size_t i = 1; i + 2 < n; i++) {
      int link = (int)++t->n_variables;
      add_clause(t, before, l[i], link);
      before = -link;
    }
    add_clause(t, before, l[n - 2], l[n - 1]);
  }
}

void
three_make(three *t, const cnf *f)
{
  size_t *positive = allocate(f->n_variables + 1, sizeof *positive);
  size_t *negative = allocate(f->n_variables + 1, sizeof *negative); /* the last clause, from 1, that has it so */
  int *left = allocate(f->first[f->n], sizeof *left);
  *t = (three){f->n_variables > 0 ? f->n_variables : 1, 0, NULL};
  for (size_t c = 0; c < f->n; c++) {
    size_t n = 0;
    for (size_t i = f->first[c]; i < f->first[c + 1]; i++) {
      int l = f->literal[i];
      size_t *last = l > 0 ? &positive[l] : &negative[-l];
      if (*last != c + 1)
        left[n++] = l;
      *last = c + 1;
    }
    add_rewritten(t, left, n);
  }
  while (t->n == 0 || (t->n & (t->n - 1)) != 0)
    add_clause(t, 1, -1, -1);
  free(positive);
  free(negative);
  free(left);
}

/* ---- Forms: what they add to a row */

/* The literal that stands for form i. */
static int
literal_form(construction *net, size_t i)
{
  const int *l = net->formula->clause[i / 4];
  size_t apart = l[0] != -l[1] ? 0 : l[0] != -l[2] ? 1 : 2;
  static const size_t order[3][4] = {{0, 1, 2, 2}, {0, 2, 1, 1}, {1, 2, 0, 0}};
  return l[order[apart][i % 4]];
}

/* row += sign * form i */
static void
add_form(construction *net, size_t i, int sign)
{
  sign *= net->turned;
  if (net->forms == LITERALS) {
    int l = literal_form(net, i);
    net->row[abs(l) - 1] += l > 0 ? sign : -sign;
  } else if (net->forms == ENTRIES) {
    net->row[i] += sign;
  } else {
    net->row[3 * i] += sign;
    net->row[3 * i + 1] += sign;
    net->row[3 * i + 2] -= sign;
  }
}

/* ---- Matrices */

/* One more than layers of relu. */
static size_t
n_matrices(const three *t)
{
  size_t matrices = 4;
  for (size_t n = t->n; n > 1; n /= 2)
    matrices++;
  return matrices;
}

/* Adds row r of those that forms f, g have three by three: f - g, g, -g. */
static void
add_maxima_row(construction *net, size_t r)
{
  size_t f = r / 3 * 2, g = f + 1;
  if (r % 3 == 0)
    add_form(net, f, 1);
  add_form(net, g, r % 3 == 1 ? 1 : -1);
}

static void
set_row(construction *net, bool maxima, size_t r)
{
  maxima ? add_maxima_row(net, r) : add_form(net, r, 1);
}

/* The matrix is number k, with those rows, of maxima or of the forms. */
typedef void visitor(construction *net, size_t k, bool maxima, size_t rows, size_t columns);

/* Calls it for each matrix in turn, with a row of zeros, which it leaves so. */
static void
each_matrix(construction *net, visitor *visit)
{
  const three *t = net->formula;
  size_t matrices = n_matrices(t), columns = t->n_variables;
  net->forms = LITERALS;
  net->turned = 1;
  net->n_forms = 4 * t->n;
  for (size_t k = 0; k < matrices; k++) {
    bool maxima = k != 2 && net->n_forms > 1;
    size_t rows = maxima ? 3 * (net->n_forms / 2) : net->n_forms;
    net->row = allocate(columns, sizeof *net->row);
    visit(net, k, maxima, rows, columns);
    free(net->row);
    net->forms = maxima ? MAXIMA : ENTRIES;
    net->n_forms = maxima ? net->n_forms / 2 : net->n_forms;
    columns = rows;
    net->turned = (k == 2) != (k + 2 == matrices) ? -1 : 1;
  }
}

/* ---- The model's matrices */

static void
compare_matrix(construction *net, size_t k, bool maxima, size_t rows, size_t columns)
{
  const tensor *t = net->compared->tensors[k];
  RATIONAL(entry);
  require(t->type == FLOAT && t->rank == 2 && t->dims[0] == rows && t->dims[1] == columns,
          "initializer '%s' is not float32 of shape (%zu, %zu)", t->name, rows, columns);
  for (size_t r = 0; r < rows; r++) {
    set_row(net, maxima, r);
    for (size_t c = 0; c < columns; c++) {
      tensor_entry(&entry, t, r * columns + c);
      require(mpq_cmp_si(&entry, net->row[c], 1) == 0, "entry (%zu, %zu) of '%s' is not %d", r, c, t->name,
              net->row[c]);
      net->row[c] = 0;
    }
  }
}

/* ---- Its value at a point */

/* The values become those of the matrix's rows, with relu; of the last matrix without. */
static void
apply_matrix(construction *net, size_t k, bool maxima, size_t rows, size_t columns)
{
  rational *new = rationals(rows);
  for (size_t r = 0; r < rows; r++) {
    set_row(net, maxima, r);
    for (size_t c = 0; c < columns; c++) {
      if (net->row[c] != 0)
        (net->row[c] > 0 ? mpq_add : mpq_sub)(&new[r], &new[r], &net->values[c]);
      net->row[c] = 0;
    }
    if (k + 1 < n_matrices(net->formula) && mpq_sgn(&new[r]) < 0)
      mpq_set(&new[r], &zero);
  }
  rationals_free(net->values, net->n_values);
  net->values = new;
  net->n_values = rows;
}

void
construction_value(rational *f, const three *t, const rational *x)
{
  construction all = {.formula = t, .values = rationals(t->n_variables), .n_values = t->n_variables}, *net = &all;
  for (size_t v = 0; v < net->n_values; v++)
    mpq_set(&net->values[v], &x[v]);
  each_matrix(net, apply_matrix);
  mpq_set(f, net->values);
  rationals_free(net->values, net->n_values);
}

/* ---- Nodes */

static bool
only_transposes(const node *n)
{
  const tensor *a = n->attributes;
  return n->n_attributes == 1 && strcmp(a->name, "transB") == 0 && !a->real && a->text == NULL && !a->of_tensor
         && a->rank == 0 && mpq_cmp_ui(a->value, 1, 1) == 0;
}

static void
compare_nodes(const model *m)
{
  const char *before = m->inputs[0].name;
  for (size_t i = 0; i < m->n_nodes; i++) {
    const node *n = &m->nodes[i];
    bool gemm = i % 2 == 0;
    require(strcmp(n->op, gemm ? "Gemm" : "Relu") == 0 && !n->own && n->n_in == (gemm ? 2 : 1) && n->n_out == 1
                && strcmp(n->in[0], before) == 0,
            "node '%s' is not the %s that follows", n->name, gemm ? "Gemm" : "Relu");
    require(gemm ? only_transposes(n) && strcmp(n->in[1], m->tensors[i / 2]->name) == 0 : n->n_attributes == 0,
            "node '%s' has other attributes or another matrix", n->name);
    before = n->out[0];
  }
  require(strcmp(before, m->outputs[0].name) == 0, "the output is not that of the last node");
}

static void
compare_port(const port *p, size_t width)
{
  require(p->type == FLOAT && p->shaped && p->rank == 2 && p->dims[0] == 0 && p->dims[1] == width,
          "'%s' is not float32 of shape (N, %zu)", p->name, width);
}

size_t
construction_compare(const three *t, const model *m)
{
  size_t matrices = n_matrices(t);
  require(m->n_inputs == 1 && m->n_outputs == 1, "the model has not one input and one output");
  require(m->n_tensors == matrices && m->n_nodes == 2 * matrices - 1,
          "the model has not %zu matrices with relu between", matrices);
  require(m->opset >= 11, "operators of version %ju have no Gemm without a bias", (uintmax_t)m->opset);
  compare_port(&m->inputs[0], t->n_variables);
  compare_port(&m->outputs[0], 1);
  compare_nodes(m);
  construction all = {.formula = t, .compared = m}, *net = &all;
  each_matrix(net, compare_matrix);
  return matrices - 1;
}
