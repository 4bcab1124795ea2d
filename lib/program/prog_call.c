/* Calls: functions of one number, functions of a list of numbers, and proxies in braces. */
#include "program/prog_call.h"

#include "program/prog_expression.h"
#include "program/prog_name.h"
#include "program/prog_order.h"
#include "program/prog_proxy.h"
#include "program/prog_value.h"
#include "program/prog_vector.h"
#include "exact/literal.h"

#include <stdlib.h>
#include <string.h>

typedef enum {
  LIST_SUM, LIST_MEAN, LIST_ORDER, LIST_KTH, LIST_MEDIAN, LIST_SORT, LIST_NORM1, LIST_NORM2,
  LIST_NORMINF, LIST_DOT,
} list_kind;

/* op: whose tie rule or proxy holds. lowest: the rank is the last one, not the first. */
typedef struct {
  const char *name;
  list_kind kind;
  const char *op;
  bool lowest;
} list_function;

static const list_function list_functions[] = {
  { "sum", LIST_SUM, NULL, false },          { "mean", LIST_MEAN, NULL, false },
  { "max", LIST_ORDER, "Max", false },       { "min", LIST_ORDER, "Min", true },
  { "maxpool", LIST_ORDER, "MaxPool", false }, { "kth", LIST_KTH, "Kth", false },
  { "median", LIST_MEDIAN, "Median", false }, { "sort", LIST_SORT, "Sort", false },
  { "norm1", LIST_NORM1, "Abs", false },     { "norm2", LIST_NORM2, NULL, false },
  { "normpool", LIST_NORM2, NULL, false },   { "norminf", LIST_NORMINF, "Max", false },
  { "dot", LIST_DOT, NULL, false },
};

static const struct {
  const char *name;
  clarke_analytic function;
} analytic_functions[] = {
  { "exp", CLARKE_FN_EXP },   { "log", CLARKE_FN_LOG },         { "sqrt", CLARKE_FN_SQRT },
  { "sin", CLARKE_FN_SIN },   { "cos", CLARKE_FN_COS },         { "tanh", CLARKE_FN_TANH },
  { "sigmoid", CLARKE_FN_SIGMOID }, { "erf", CLARKE_FN_ERF },       { "atan", CLARKE_FN_ATAN },
};

#define N_LIST (sizeof list_functions / sizeof list_functions[0])
#define N_ANALYTIC (sizeof analytic_functions / sizeof analytic_functions[0])
#define MAX_CONSTANTS 8

const char *
clarke_prog_function_name(size_t i)
{
  const clarke_op *op;

  if (i < N_LIST)
    return list_functions[i].name;
  i -= N_LIST;
  if (i < N_ANALYTIC)
    return analytic_functions[i].name;
  i -= N_ANALYTIC;
  for (size_t k = 0; (op = clarke_operator_at(k)) != NULL; k++)
    for (size_t s = 0; s < CLARKE_MAX_SPELLINGS && op->spelling[s].name != NULL; s++)
      if (i-- == 0)
        return op->spelling[s].name;
  return NULL;
}

static uint32_t
following(const prog_lowering *low, uint32_t node)
{
  return clarke_prog_node_at(low, node)->next;
}

/* --- functions of one number ----------------------------------------------------------------------- */

/* The instruction of each entry of v, constants made instructions. */
static clarke_status
solid_entries(size_t **in, prog_lowering *low, const prog_value *v, size_t at)
{
  clarke_status status = CLARKE_OK;

  *in = calloc(v->n + 1, sizeof **in);
  if (*in == NULL)
    return clarke_fail(low->err, CLARKE_ENOMEM, "%s: out of memory", low->g->file);
  for (size_t i = 0; status == CLARKE_OK && i < v->n; i++)
    status = clarke_prog_solid(&(*in)[i], low, clarke_prog_entry(v, i), at);
  return status;
}

static clarke_status
wrong_count(prog_lowering *low, const prog_call *c, const char *takes)
{
  return clarke_prog_fail(low->g, c->at, low->err, "%s takes %s, but %zu %s given", c->name, takes,
                          c->n, c->n == 1 ? "is" : "are");
}

/* A pointwise operator with its constants and proxy; or an analytic function, which has none of these. */
typedef struct {
  const clarke_op *op; /* NULL: analytic */
  clarke_analytic analytic;
  size_t n;
  mpq_t constant[MAX_CONSTANTS];
  clarke_override proxy;
} pointwise;

static void
pointwise_init(pointwise *f, const clarke_op *op)
{
  memset(f, 0, sizeof *f);
  f->op = op;
  for (size_t k = 0; k < MAX_CONSTANTS; k++)
    mpq_init(f->constant[k]);
  mpq_init(f->proxy.value);
}

static void
pointwise_clear(pointwise *f)
{
  for (size_t k = 0; k < MAX_CONSTANTS; k++)
    mpq_clear(f->constant[k]);
  mpq_clear(f->proxy.value);
}

/* The table's constants, "0 6"; false when the table is wrong. */
static bool
table_constants(pointwise *f, const char *list)
{
  while (list != NULL && *list != '\0') {
    char text[32];
    const size_t length = strcspn(list, " ");

    if (length >= sizeof text || f->n == MAX_CONSTANTS)
      return false;
    memcpy(text, list, length);
    text[length] = '\0';
    if (!clarke_literal_parse(f->constant[f->n++], text))
      return false;
    list += length + strspn(list + length, " ");
  }
  return true;
}

/* Constants from the table, then from the call's arguments after the first. */
static clarke_status
find_constants(pointwise *f, prog_lowering *low, const prog_call *c, const clarke_spelling *spelling)
{
  const size_t most = spelling->n_required + spelling->n_optional;
  char takes[80];
  uint32_t argument = c->first;
  clarke_status status = CLARKE_OK;

  if (!table_constants(f, spelling->constants) || most > MAX_CONSTANTS)
    return clarke_fail(low->err, CLARKE_EINTERNAL, "constants of %s", c->name);
  if (most > f->n)
    f->n = most;
  if (c->n < 1 + spelling->n_required || c->n > 1 + most) {
    snprintf(takes, sizeof takes, most == spelling->n_required ? "%zu argument%s"
             : "%zu argument%s and up to %zu more", 1 + spelling->n_required,
             spelling->n_required == 0 ? "" : "s", spelling->n_optional);
    return wrong_count(low, c, takes);
  }
  for (size_t k = 0; status == CLARKE_OK && k + 1 < c->n; k++) {
    argument = following(low, argument);
    status = clarke_prog_constant_of(f->constant[k], low, argument, "a parameter");
  }
  return status;
}

/* f of each of the instructions: into v. */
static clarke_status
apply_pointwise(prog_value *v, prog_lowering *low, pointwise *f, const size_t *in, const prog_call *c)
{
  clarke_error err = { .text = "" };
  clarke_status status = clarke_prog_room(low, v->n, v->n, c->at);
  size_t number;

  clarke_code_new_group(low->p);
  for (size_t i = 0; status == CLARKE_OK && i < v->n; i++) {
    for (size_t k = 0; status == CLARKE_OK && k < f->n; k++)
      status = clarke_prog_charge(low, f->constant[k], c->at);
    if (status == CLARKE_OK)
      status = clarke_prog_add_status(
        low, f->op != NULL ? clarke_code_add_pointwise(low->p, &number, f->op, in[i], f->n, f->constant, &err)
                           : clarke_code_add_analytic(low->p, &number, f->analytic, in[i], &err), &err, c->at);
    if (status != CLARKE_OK)
      break;
    clarke_prog_set(v, i, clarke_prog_added(low, c->at));
    status = clarke_prog_put_proxy(low, &f->proxy, c->at);
  }
  return status;
}

/* f of each entry of the call's first argument. */
static clarke_status
apply_to_first(prog_value *v, prog_lowering *low, pointwise *f, const prog_call *c)
{
  prog_value argument = { 0 };
  size_t *in = NULL;
  clarke_status status = clarke_prog_value_of(&argument, low, c->first);

  if (status == CLARKE_OK)
    status = solid_entries(&in, low, &argument, c->at);
  if (status == CLARKE_OK)
    status = clarke_prog_result(v, low, argument.vector, argument.n, c->at);
  if (status == CLARKE_OK)
    status = apply_pointwise(v, low, f, in, c);
  free(in);
  clarke_prog_value_clear(&argument);
  return status;
}

static clarke_status
call_analytic(prog_value *v, prog_lowering *low, const prog_call *c, clarke_analytic analytic)
{
  pointwise f;
  clarke_status status = clarke_prog_no_braces(low, c);

  if (status == CLARKE_OK && c->n != 1)
    status = wrong_count(low, c, "one argument");
  pointwise_init(&f, NULL);
  f.analytic = analytic;
  if (status == CLARKE_OK)
    status = apply_to_first(v, low, &f, c);
  pointwise_clear(&f);
  return status;
}

static clarke_status
call_pointwise(prog_value *v, prog_lowering *low, const prog_call *c, const clarke_op *op,
               const clarke_spelling *spelling)
{
  pointwise f;
  clarke_status status;

  pointwise_init(&f, op);
  status = find_constants(&f, low, c, spelling);
  if (status == CLARKE_OK)
    status = clarke_prog_kink_proxy(&f.proxy, low, c);
  if (status == CLARKE_OK)
    status = apply_to_first(v, low, &f, c);
  pointwise_clear(&f);
  return status;
}

/* --- functions of a list of numbers ----------------------------------------------------------------- */

/* The absolute value of each entry: list and in become theirs. The braces of norm1 are abs's. */
static clarke_status
absolute(prog_value *list, size_t *in, prog_lowering *low, const prog_call *c, bool braces)
{
  const clarke_spelling *spelling;
  const clarke_op *op = clarke_operator_spelled("abs", &spelling);
  prog_value result = { 0 };
  pointwise f;
  clarke_status status;

  if (op == NULL)
    return clarke_fail(low->err, CLARKE_EINTERNAL, "no operator for %s", c->name);
  pointwise_init(&f, op);
  status = braces ? clarke_prog_kink_proxy(&f.proxy, low, c) : CLARKE_OK;
  if (status == CLARKE_OK)
    status = clarke_prog_result(&result, low, true, list->n, c->at);
  if (status == CLARKE_OK)
    status = apply_pointwise(&result, low, &f, in, c);
  for (size_t i = 0; status == CLARKE_OK && i < result.n; i++)
    in[i] = result.entry[i].index;
  clarke_prog_value_clear(list);
  *list = result;
  pointwise_clear(&f);
  return status;
}

/* The sum of the instructions; a mean divides it by their number. */
static clarke_status
sum_of(prog_value *v, prog_lowering *low, const prog_call *c, const size_t *in, size_t n, bool mean)
{
  prog_value sum = { .n = 1 }, count = { .n = 1 };
  clarke_status status;

  clarke_code_new_group(low->p);
  status = clarke_prog_sum(&sum.one, low, in, n, c->at);
  if (status != CLARKE_OK || !mean) {
    *v = sum;
    return status;
  }
  mpq_set_ui(low->coef[0], n, 1);
  status = clarke_prog_new_constant(&count.one, low, low->coef[0], c->at);
  return status == CLARKE_OK ? clarke_prog_apply(v, low, '/', &sum, &count, c->at) : status;
}

static clarke_status
norm_of(prog_value *v, prog_lowering *low, const prog_call *c, const size_t *in, size_t n)
{
  clarke_error err = { .text = "" };
  size_t number;
  clarke_status status = clarke_prog_room(low, 1, n, c->at);

  if (status != CLARKE_OK)
    return status;
  clarke_code_new_group(low->p);
  status = clarke_code_add(low->p, &number, CLARKE_DO_NORM, n, in, &err);
  *v = (prog_value){ .n = 1 };
  if (status == CLARKE_OK)
    v->one = clarke_prog_added(low, c->at);
  return clarke_prog_add_status(low, status, &err, c->at);
}

/* kth(k, ...): k, from 1 to n. */
static clarke_status
rank_of(size_t *rank, prog_lowering *low, const prog_call *c, size_t n)
{
  const size_t at = clarke_prog_node_at(low, c->first)->at;
  clarke_status status;
  mpq_t k;

  mpq_init(k);
  status = clarke_prog_constant_of(k, low, c->first, "the rank of kth");
  if (status == CLARKE_OK
      && (mpz_cmp_ui(mpq_denref(k), 1) != 0 || mpz_cmp_ui(mpq_numref(k), 1) < 0
          || mpz_cmp_ui(mpq_numref(k), n) > 0))
    status = clarke_prog_fail(low->g, at, low->err, "the rank of kth is not an integer from 1 to %zu",
                              n);
  if (status == CLARKE_OK)
    *rank = mpz_get_ui(mpq_numref(k));
  mpq_clear(k);
  return status;
}

static clarke_status
of_list(prog_value *v, prog_lowering *low, const prog_call *c, const list_function *f,
        prog_value *list, size_t *in)
{
  const clarke_op *op = f->op != NULL ? clarke_operator_find(f->op) : NULL;
  size_t rank = f->lowest ? list->n : 1;
  clarke_status status = CLARKE_OK;

  switch (f->kind) {
  case LIST_SUM:
  case LIST_MEAN:
    return sum_of(v, low, c, in, list->n, f->kind == LIST_MEAN);
  case LIST_NORM1:
    status = absolute(list, in, low, c, true);
    return status == CLARKE_OK ? sum_of(v, low, c, in, list->n, false) : status;
  case LIST_NORM2:
    return norm_of(v, low, c, in, list->n);
  case LIST_NORMINF:
    status = absolute(list, in, low, c, false);
    break;
  case LIST_KTH:
    status = rank_of(&rank, low, c, list->n);
    break;
  case LIST_MEDIAN:
    rank = list->n - (list->n - 1) / 2;
    break;
  case LIST_SORT:
    rank = 0;
    break;
  default:
    break;
  }
  return status == CLARKE_OK ? clarke_prog_order(v, low, c, op, rank, list, in) : status;
}

/* Sums and means of constants alone are constants. */
static bool
all_constant(const prog_value *list)
{
  for (size_t i = 0; i < list->n; i++)
    if (!clarke_prog_entry(list, i).constant)
      return false;
  return true;
}

static clarke_status
constant_sum(prog_value *v, prog_lowering *low, const prog_call *c, const prog_value *list, bool mean)
{
  mpq_t sum;
  clarke_status status = CLARKE_OK;

  mpq_init(sum);
  for (size_t i = 0; status == CLARKE_OK && i < list->n; i++) {
    mpq_add(sum, sum, *clarke_prog_constant(low, clarke_prog_entry(list, i)));
    status = clarke_prog_charge(low, sum, c->at);
  }
  mpq_set_ui(low->coef[0], mean ? list->n : 1, 1);
  mpq_div(sum, sum, low->coef[0]);
  *v = (prog_value){ .n = 1 };
  if (status == CLARKE_OK)
    status = clarke_prog_new_constant(&v->one, low, sum, c->at);
  mpq_clear(sum);
  return status;
}

static clarke_status
dot(prog_value *v, prog_lowering *low, const prog_call *c)
{
  prog_value a = { 0 }, b = { 0 }, product = { 0 };
  size_t *in = NULL;
  clarke_status status;

  if (c->n != 2)
    return wrong_count(low, c, "two vectors");
  status = clarke_prog_value_of(&a, low, c->first);
  if (status == CLARKE_OK)
    status = clarke_prog_value_of(&b, low, following(low, c->first));
  if (status == CLARKE_OK)
    status = clarke_prog_apply(&product, low, '*', &a, &b, c->at);
  if (status == CLARKE_OK && all_constant(&product))
    status = constant_sum(v, low, c, &product, false);
  else if (status == CLARKE_OK) {
    status = solid_entries(&in, low, &product, c->at);
    if (status == CLARKE_OK)
      status = sum_of(v, low, c, in, product.n, false);
  }
  free(in);
  clarke_prog_value_clear(&a);
  clarke_prog_value_clear(&b);
  clarke_prog_value_clear(&product);
  return status;
}

static clarke_status
call_list(prog_value *v, prog_lowering *low, const prog_call *c, const list_function *f)
{
  const bool linear = f->kind == LIST_SUM || f->kind == LIST_MEAN;
  prog_value list = { 0 };
  size_t *in = NULL;
  clarke_status status = f->op == NULL ? clarke_prog_no_braces(low, c) : CLARKE_OK;

  if (status == CLARKE_OK && c->n < (f->kind == LIST_KTH ? 2 : 1))
    status = wrong_count(low, c, f->kind == LIST_KTH ? "a rank and one or more arguments"
                                                     : "one or more arguments");
  if (status != CLARKE_OK || f->kind == LIST_DOT)
    return status == CLARKE_OK ? dot(v, low, c) : status;
  status = clarke_prog_join(&list, low, f->kind == LIST_KTH ? following(low, c->first) : c->first);
  if (status == CLARKE_OK && linear && all_constant(&list)) {
    status = constant_sum(v, low, c, &list, f->kind == LIST_MEAN);
  } else if (status == CLARKE_OK) {
    status = solid_entries(&in, low, &list, c->at);
    if (status == CLARKE_OK)
      status = of_list(v, low, c, f, &list, in);
  }
  free(in);
  clarke_prog_value_clear(&list);
  return status;
}

/* --- which function --------------------------------------------------------------------------------- */

static clarke_status
call_named(prog_value *v, prog_lowering *low, const prog_call *c)
{
  const clarke_spelling *spelling;
  const clarke_op *op;

  for (size_t k = 0; k < N_LIST; k++)
    if (strcmp(list_functions[k].name, c->name) == 0)
      return call_list(v, low, c, &list_functions[k]);
  for (size_t k = 0; k < N_ANALYTIC; k++)
    if (strcmp(analytic_functions[k].name, c->name) == 0)
      return call_analytic(v, low, c, analytic_functions[k].function);
  op = clarke_operator_spelled(c->name, &spelling);
  return op != NULL ? call_pointwise(v, low, c, op, spelling)
                    : clarke_prog_unknown(low, c->node, true);
}

clarke_status
clarke_prog_call(prog_value *v, prog_lowering *low, uint32_t node)
{
  const clarke_prog_node *n = clarke_prog_node_at(low, node);
  prog_call c = { .node = node, .first = n->first, .at = n->at };
  char name[32] = "";

  /* A longer name is no function's: it stays empty, and unknown. */
  if (n->length < sizeof name)
    memcpy(name, low->g->text + n->start, n->length);
  c.name = name;
  if (c.first != 0 && clarke_prog_node_at(low, c.first)->kind == CLARKE_PROG_PROXY) {
    c.proxy = c.first;
    c.first = following(low, c.first);
  }
  for (uint32_t argument = c.first; argument != 0; argument = following(low, argument))
    c.n++;
  return call_named(v, low, &c);
}
