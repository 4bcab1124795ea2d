/* A node: its operator's form, what holds of several operators, and then the form's lowering. */
#include "check/onnx/lower.h"
#include "check/base/allocate.h"

#include <stdlib.h>
#include <string.h>

static bool
has_kinks(const operator_table *t, size_t f)
{
  bool again = f > 0 && strcmp(t->forms[f].name, t->forms[f - 1].name) == 0;
  return !again && t->forms[f].kinks > 0;
}

static int
by_name(const void *a, const void *b)
{
  const kinked_operator *x = a, *y = b;
  return strcmp(x->name, y->name);
}

kinked_operator *
operators_with_kinks(const operator_set *of, size_t *n)
{
  kinked_operator *all = NULL;
  *n = 0;
  for (size_t i = 0; i < N_TABLES && of->tables[i] != NULL; i++)
    for (size_t f = 0; f < of->tables[i]->n_forms; f++)
      if (has_kinks(of->tables[i], f)) {
        all = grow(all, *n, sizeof *all);
        all[(*n)++] = (kinked_operator){of->tables[i]->forms[f].name, of->tables[i]->forms[f].kinks};
      }
  if (*n > 0)
    qsort(all, *n, sizeof *all, by_name);
  return all;
}

static const char *const own_operators[] = {"Clamp",         "Huber",     "Lift",          "SharedMax",
                                            "SharedMaximum", "SharedMin", "SharedMinimum", "Sorted"};

static unsigned
traits_of(const operator_set *of, lowering lower)
{
  for (size_t i = 0; i < N_TABLES && of->tables[i] != NULL; i++)
    for (size_t k = 0; k < of->tables[i]->n_rules; k++)
      if (of->tables[i]->rules[k].lower == lower)
        return of->tables[i]->rules[k].traits;
  return 0;
}

/* Is the node of the domain of its operator? */
static void
check_domain(const builder *b, unsigned traits)
{
  bool own = false;
  for (size_t i = 0; i < sizeof own_operators / sizeof *own_operators; i++)
    own = own || strcmp(b->node->op, own_operators[i]) == 0;
  need(b->node->own == own && b->node->training == ((traits & OF_TRAINING) != 0)
           && b->node->qonnx == ((traits & OF_QONNX) != 0) && b->node->runtime == ((traits & OF_RUNTIME) != 0)
           && b->node->learning == ((traits & OF_LEARNING) != 0),
       "the operator is of another domain");
}

/* The node's form: of its operator's the last that is not newer than the model. */
static const operator_form *
find_form(const builder *b)
{
  const operator_set *of = b->operators;
  const operator_form *found = NULL;
  bool known = false;
  for (size_t i = 0; i < N_TABLES && of->tables[i] != NULL; i++)
    for (size_t f = 0; f < of->tables[i]->n_forms; f++) {
      const operator_form *form = &of->tables[i]->forms[f];
      bool same = strcmp(form->name, b->node->op) == 0;
      known = known || same;
      found = same && form->since <= b->opset ? form : found;
    }
  expect(known || of->tables[N_TABLES - 1] != NULL, "node %zu '%s': this checker has no %s", b->place, b->node->name,
         b->op);
  need(found != NULL, "the operator is not supported, or newer than the model's operator set");
  check_domain(b, traits_of(of, found->lower));
  return found;
}

/* A flag (b) is 0 or 1: of another number some readers of ONNX take that it is set, and others that it is not. */
static void
check_attributes(const builder *b, const char *known)
{
  for (size_t i = 0; i < b->node->n_attributes; i++) {
    const tensor *t = &b->node->attributes[i];
    char type = t->text != NULL ? 's' : t->of_tensor ? 't' : t->real ? 'f' : 'i';
    size_t length = strlen(t->name);
    const char *at = known;
    type = (char)(!t->of_tensor && t->rank > 0 ? type - 'a' + 'A' : type);
    while (at != NULL
           && (strncmp(at, t->name, length) != 0 || at[length] != ':'
               || (at[length + 1] != type && (type != 'i' || at[length + 1] != 'b')))) {
      at = strchr(at, ' ');
      at = at != NULL ? at + 1 : NULL;
    }
    need(at != NULL && length > 0,
         "an attribute is not supported in the model's operator set, or not of the right type");
    need(at[length + 1] != 'b' || mpq_sgn(t->value) == 0 || mpq_cmp_ui(t->value, 1, 1) == 0,
         "an attribute that is 0 or 1 in ONNX is another number");
  }
}

/* Negated constants are for some operators alone. */
static void
check_signs(const builder *b, unsigned traits)
{
  for (size_t i = 0; i < b->node->n_in; i++)
    need((traits & TAKES_NEGATED) != 0 || !b->in[i].negated,
         "an input is a negated constant, which this operator does not take");
}

/* Is input i a number that changes nothing: a bound of Clip that is none; minus infinity where the largest is taken of activations and
 * scalars, infinity where the least is? */
static bool
is_neutral(const builder *b, size_t i)
{
  const value *v = &b->in[i];
  bool clips = strcmp(b->op, "Clip") == 0 || strcmp(b->op, "Clamp") == 0, most = strcmp(b->op, "Max") == 0,
       moves = false;
  for (size_t k = 0; k < b->node->n_in; k++)
    moves = moves || (b->in[k].name != NULL && b->in[k].constant == NULL);
  bool scalar = v->constant != NULL && v->count == 1 && (clips ? i > 0 : v->rank == 0);
  if (!scalar || !(clips || (moves && (most || strcmp(b->op, "Min") == 0))))
    return false;
  return odd_entry(v, 0) == (most || (clips && i == 1) ? '-' : '+');
}

/* Such inputs are left out: a Clip's bounds, and of the others they are no inputs. */
static void
leave_out_neutral(builder *b)
{
  bool clips = strncmp(b->op, "Cl", 2) == 0;
  size_t n = 0, all = b->node->n_in, kept = 0;
  for (size_t i = 0; i < all; i++)
    n += is_neutral(b, i);
  if (n == 0)
    return;
  node *left = allocate(1, sizeof *left);
  *left = *b->node;
  left->in = allocate(all, sizeof *left->in);
  bool *out = allocate(all, sizeof *out);
  for (size_t i = 0; i < all; i++)
    out[i] = is_neutral(b, i);
  for (size_t i = 0; i < all; i++) {
    if (out[i])
      b->in[i].constant->number = true;
    if (out[i] && !clips)
      continue;
    left->in[kept] = b->node->in[i];
    b->in[kept++] = out[i] ? (value){0} : b->in[i];
  }
  for (size_t i = kept; i < all; i++)
    b->in[i] = (value){0};
  left->n_in = kept;
  b->node = left;
}

/* What is infinite or NaN is for what moves entries, Where, and an Add of a mask, whose entries are for a Softmax. */
static void
check_masks(const builder *b, unsigned traits)
{
  bool adds = strcmp(b->op, "Add") == 0, moves = strcmp(b->op, "Identity") == 0;
  bool compares = (traits & COMPARES) != 0 && strchr("EGL", b->op[0]) != NULL;
  bool odd = (traits & TAKES_ODD) != 0 || adds || compares;
  bool undefined = (traits & TAKES_UNDEFINED) != 0 || moves;
  bool excluded = (traits & TAKES_EXCLUDED) != 0 || moves || adds || compares || strcmp(b->op, "Softmax") == 0
                  || strcmp(b->op, "ReduceMax") == 0 || strcmp(b->op, "SharedMax") == 0;
  for (size_t i = 0; i < b->node->n_in; i++) {
    need(odd || !is_odd(&b->in[i]) || is_neutral(b, i),
         "an input holds an infinite number or NaN, which this operator does not take");
    need(!b->in[i].undefined || undefined,
         "an input has entries that are NaN, of lines that were minus infinity throughout before a Softmax");
    need(b->in[i].excluded == NULL || excluded, "an input has entries that are minus infinity");
  }
}

/* The batch may be on any axis of what some operators take, whose output has the same axes; or of others, which say where it
 * is then. The rest have it first. */
static void
check_batch(const builder *b, unsigned traits)
{
  bool any = (traits & (KEEPS_BATCH | PLACES_BATCH)) != 0;
  for (size_t i = 0; i < b->node->n_in; i++)
    need(any || b->in[i].name == NULL || !is_batch(b, &b->in[i]) || (b->in[i].at == 0 && b->in[i].inner == 0),
         "an input has the batch on another axis than the first, or merged with others");
}

/* Are all inputs constants of floats that are no parameters, such that the operator is computed of them? */
static bool
is_of_floats(const builder *b, unsigned traits)
{
  const number_rules *rules = b->operators->numbers;
  return (traits & COMPUTES_POWERS) != 0 ? rules->of_power(b) : rules->of_floats(b);
}

/* Or of integers? */
static bool
is_computed(const builder *b, unsigned traits)
{
  const number_rules *rules = b->operators->numbers;
  return rules != NULL && (rules->of_integers(b) || is_of_floats(b, traits));
}

/* Is it a mask, which stays a constant as it is padded? */
static bool
stays_mask(const builder *b)
{
  const value *x = &b->in[0];
  return b->operators->numbers != NULL && b->operators->numbers->is_float(x)
         && (is_odd(x) || (b->in[2].name != NULL && is_odd(&b->in[2])));
}

/* Does the operator make an activation even of constants alone? Some do, but for what is computed of integers, or of
 * floats that are no parameters. Some take one in any case, and their others may be computed. */
static bool
lifts(const builder *b, unsigned traits)
{
  const number_rules *rules = b->operators->numbers;
  bool alone = true,
       computes = (traits & (COMPUTES_FLOATS | COMPUTES_POWERS | LISTS)) != 0 || strcmp(b->op, "Sqrt") == 0;
  bool first = (traits & LIFTS_FIRST) != 0 || strcmp(b->op, "Gemm") == 0
               || ((traits & LIFTS_UNCOMPUTED) != 0 && !is_computed(b, traits));
  for (size_t i = 0; i < b->node->n_in; i++)
    alone = alone && b->in[i].name != NULL && b->in[i].constant != NULL;
  need(rules != NULL || first || !alone || !computes, "this checker computes nothing of constants alone");
  bool computed = (computes && is_computed(b, traits))
                  || ((traits & KEEPS_FLOATS) != 0 && rules != NULL && rules->is_float(&b->in[0]));
  return (first && !((traits & KEEPS_MASK) != 0 && stays_mask(b)))
         || (alone && !computed && (traits & LIFTS_ALONE) != 0);
}

/* Constants that are computed when the network is built: of integers, or of floats that are no parameters; and sums of integers that
 * are activations. Is the node such a one? */
static bool
lower_computed(builder *b, unsigned traits)
{
  const number_rules *rules = b->operators->numbers;
  bool floats = (traits & (COMPUTES_FLOATS | COMPUTES_POWERS)) != 0 || strcmp(b->op, "Sqrt") == 0;
  if (rules == NULL)
    return false;
  if (rules->adds(b))
    rules->sum(b);
  else if ((traits & COMPUTES_INTEGERS) != 0 && rules->of_integers(b))
    rules->integers(b);
  else if (floats && is_of_floats(b, traits))
    rules->floats(b);
  else
    return false;
  return true;
}

/* Makes the node of others, or by its lowering. */
static void
lower_plainly(builder *b, const operator_form *form)
{
  if (b->operators->composed == NULL || !b->operators->composed(b))
    form->lower(b);
}

/* The node, whose inputs are found. */
static void
lower_form(builder *b, const operator_form *form)
{
  const number_rules *rules = b->operators->numbers;
  const unsigned traits = traits_of(b->operators, form->lower);
  bool added = strcmp(b->op, "Add") == 0;
  for (size_t i = 0; i < b->node->n_in; i++)
    added = added || b->in[i].added;
  check_attributes(b, form->attributes);
  check_signs(b, traits);
  check_masks(b, traits);
  leave_out_neutral(b);
  if (rules != NULL)
    rules->check_held(b);
  note_shared(b);
  if (lifts(b, traits))
    lift_constant(b);
  check_batch(b, traits);
  if (!lower_computed(b, traits))
    lower_plainly(b, form);
  if ((traits & KEEPS_BATCH) != 0) {
    b->out.at = b->in[0].at;
    b->out.inner = b->in[0].inner;
  }
  b->out.added = added && b->out.excluded != NULL;
  if (rules != NULL)
    rules->keep_held(b);
  b->shared = false;
  need(!is_batch(b, &b->out) || (b->out.rank > b->out.at && (b->out.inner > 0 || b->out.dims[b->out.at] == 1)),
       "samples would be mixed");
}

void
lower_within(builder *b)
{
  lower_form(b, find_form(b));
}

void
lower_node(builder *b)
{
  const node *n = b->node;
  b->op = n->op;
  if (b->operators->flow != NULL && b->operators->flow(b))
    return;
  need(n->n_bodies == 0, "it holds a graph");
  const operator_form *form = find_form(b);
  bool omits = (traits_of(b->operators, form->lower) & OMITS_OUTPUTS) != 0;
  need(n->n_in >= form->least && n->n_in <= form->most && n->n_out > 0 && n->n_out <= form->outputs
           && (*n->out[0] != '\0' || omits),
       "an unsupported number of inputs or outputs");
  b->in = allocate(n->n_in + MOST_OMITTED, sizeof *b->in);
  for (size_t i = 0; i < n->n_in; i++) {
    const value *v = *n->in[i] != '\0' ? find(b, n->in[i]) : NULL;
    need(v != NULL || (*n->in[i] == '\0' && i >= form->least), "an input is not computed before it");
    if (v != NULL)
      b->in[i] = *v;
  }
  lower_form(b, form);
  if (!n->promoted && *n->out[0] != '\0')
    define(b, n->out[0]);
}
