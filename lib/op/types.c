#include "op/types.h"
#include "exact/float8.h"

#include "op/operator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An operator has, from operator set `since` on, a letter for each input and each output, the last one for all that follow.
 * T, U, V: one type wherever the letter stands; l: int64; n: int32; i: one of the two; f: float32; r: any floats; b: bool;
 * a: as the node's attribute says; q: as output_dtype does, or V, else uint8; d: as output_dtype does, else U; u: uint8; '.': any. What is not here has one type, T, in all places. (The type constraints of
 * https://onnx.ai/onnx/operators.) */
typedef struct {
  const char *op;
  int64_t since;
  const char *in, *out;
} rule;

static const rule rules[] = {
  {"Adagrad", 1, "rlT", "T"},
  {"Adam", 1, "rlT", "T"},
  {"AffineGrid", 20, "Tl", "T"},
  {"And", 7, "b", "b"},
  {"ArgMax", 7, "T", "l"},
  {"ArgMin", 7, "T", "l"},
  {"Attention", 23, "TTU.TUl", "TTUT"},
  {"BatchNormalization", 14, "TTTUU", "TUU"},
  {"BatchNormalization", 15, "TUUVV", "TVV"},
  {"Cast", 7, ".", "a"},
  {"CastLike", 15, ".U", "U"},
  {"Compress", 9, "Tb", "T"},
  {"Constant", 7, ".", "a"},
  {"ConstantOfShape", 7, "l", "a"},
  {"CenterCropPad", 18, "Ti", "T"},
  {"Col2Im", 18, "Tll", "T"},
  {"CumProd", 26, "Ti", "T"},
  {"CumSum", 7, "Ti", "T"},
  {"ConvInteger", 10, "TUTU", "n"},
  {"DFT", 17, "Til", "T"},
  {"DequantizeLinear", 10, "TUT", "d"},
  {"Dropout", 10, "T", "Tb"},
  {"Dropout", 12, "Trb", "Tb"},
  {"DynamicQuantizeLinear", 11, "f", "ufu"},
  {"Equal", 7, "T", "b"},
  {"Expand", 7, "Tl", "T"},
  {"GRU", 7, "TTTTnT", "T"},
  {"Gather", 7, "Ti", "T"},
  {"GatherElements", 7, "Ti", "T"},
  {"GatherND", 7, "Tl", "T"},
  {"Greater", 7, "T", "b"},
  {"GreaterOrEqual", 7, "T", "b"},
  {"GridSample", 16, "Tr", "T"},
  {"If", 7, "b.", "."},
  {"LSTM", 7, "TTTTnT", "T"},
  {"LinearAttention", 27, "TTTUTT", "TU"},
  {"LayerNormalization", 7, "T", "T."},
  {"Less", 7, "T", "b"},
  {"LessOrEqual", 7, "T", "b"},
  {"Loop", 7, "lb.", "."},
  {"MatMulInteger", 10, "TUTU", "n"},
  {"MaxPool", 7, "T", "Tl"},
  {"Momentum", 1, "rlT", "T"},
  {"NegativeLogLikelihoodLoss", 7, "TiT", "T"},
  {"Not", 7, "b", "b"},
  {"OneHot", 9, "..T", "T"},
  {"Or", 7, "b", "b"},
  {"Pad", 11, "TlTi", "T"},
  {"Pow", 12, "T.", "T"},
  {"QLinearConv", 10, "TfTUfUfVn", "V"},
  {"QLinearMatMul", 10, "TrTUrUrV", "V"},
  {"QuantizeLinear", 10, ".fV", "q"},
  {"QuantizeLinear", 19, "TTV", "q"},
  {"QuantizeLinear", 23, ".rV", "q"},
  {"ReverseSequence", 10, "Tl", "T"},
  {"RMSNormalization", 23, "rU", "U"},
  {"RNN", 7, "TTTTnT", "T"},
  {"RotaryEmbedding", 23, "TTTl", "T"},
  {"RoiAlign", 10, "TTl", "T"},
  {"ReduceL1", 18, "Tl", "T"},
  {"ReduceL2", 18, "Tl", "T"},
  {"ReduceLogSum", 18, "Tl", "T"},
  {"ReduceLogSumExp", 18, "Tl", "T"},
  {"ReduceMax", 18, "Tl", "T"},
  {"ReduceMean", 18, "Tl", "T"},
  {"ReduceMin", 18, "Tl", "T"},
  {"ReduceProd", 18, "Tl", "T"},
  {"ReduceSum", 13, "Tl", "T"},
  {"ReduceSumSquare", 18, "Tl", "T"},
  {"Reshape", 7, "Tl", "T"},
  {"Resize", 10, "Tf", "T"},
  {"Resize", 11, "Trfl", "T"},
  {"STFT", 17, "TiTi", "T"},
  {"Scaler", 7, ".", "f"},
  {"Scatter", 9, "TiT", "T"},
  {"ScatterElements", 7, "TiT", "T"},
  {"ScatterND", 7, "TlT", "T"},
  {"Shape", 7, ".", "l"},
  {"Size", 7, ".", "l"},
  {"SoftmaxCrossEntropyLoss", 12, "TiT", "T"},
  {"Slice", 10, "TU", "T"},
  {"Split", 13, "Tl", "T"},
  {"Squeeze", 13, "Tl", "T"},
  {"TensorScatter", 24, "TTl", "T"},
  {"Tile", 7, "Tl", "T"},
  {"TopK", 7, "Tl", "Tl"},
  {"Trilu", 7, "Tl", "T"},
  {"Unsqueeze", 13, "Tl", "T"},
  {"Upsample", 9, "Tf", "T"},
  {"Where", 7, "bT", "T"},
};

static const rule one_type = {"", 7, "T", "T"};

#define UNKNOWN (-1)

/* A value of the file, and its type. */
typedef struct {
  const char *name;
  int type; /* a clarke_dtype, or UNKNOWN */
} typed;

typedef struct {
  clarke_model *m;
  typed *values; /* by name */
  size_t n;
  size_t place; /* of the model's node that is looked at */
} typing;

/* NULL: not even what takes one type alone, an operator that is not known. */
static const rule *
find_rule(const clarke_model_node *node, int64_t opset)
{
  const rule *found = NULL;
  const clarke_op *op = clarke_operator_find(node->op_type);

  if (node->domain[0] != '\0' && strcmp(node->domain, CLARKE_DOMAIN_OF_TRAINING) != 0 && strcmp(node->domain, CLARKE_DOMAIN_OF_LEARNING) != 0)
    return NULL;
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (strcmp(rules[i].op, node->op_type) == 0 && rules[i].since <= opset)
      found = &rules[i];
  return found != NULL || op == NULL || op->lower == NULL || op->domain != NULL ? found : &one_type;
}

static char
letter_at(const char *letters, size_t i)
{
  const size_t n = strlen(letters);

  return letters[i < n ? i : n - 1];
}

static int
compare(const void *a, const void *b)
{
  return strcmp(((const typed *)a)->name, ((const typed *)b)->name);
}

static typed *
find(const typing *t, const char *name)
{
  const typed key = {.name = name};

  return t->n > 0 && *name != '\0' ? bsearch(&key, t->values, t->n, sizeof key, compare) : NULL;
}

/* The types of ONNX by their numbers in attributes. */
#define CODES 27

static int
type_numbered(int64_t code)
{
  static const int type[CODES] = {UNKNOWN, CLARKE_F32, CLARKE_U8, CLARKE_I8, CLARKE_U16, CLARKE_I16, CLARKE_I32, CLARKE_I64, UNKNOWN,
                             CLARKE_BOOL, CLARKE_F16, CLARKE_F64, CLARKE_U32, CLARKE_U64, UNKNOWN, UNKNOWN, CLARKE_BF16,
                             CLARKE_F8_E4M3FN, CLARKE_F8_E4M3FNUZ, CLARKE_F8_E5M2, CLARKE_F8_E5M2FNUZ, CLARKE_U4, CLARKE_I4, UNKNOWN, UNKNOWN, CLARKE_U2, CLARKE_I2};

  return code > 0 && code < CODES ? type[code] : UNKNOWN;
}

static int64_t
number_of_type(int type)
{
  int64_t code = CODES;

  while (--code > 0 && type_numbered(code) != type)
    ;
  return type == UNKNOWN ? 0 : code;
}

/* What the node's attribute makes: Cast's `to`, a Constant's value; ConstantOfShape's, which is a float32 when it has none. */
static int
type_of_attribute(const clarke_model_node *node)
{
  const clarke_attr *to = clarke_model_attr(node, "to");

  if (to != NULL)
    return to->type == CLARKE_ATTR_INT ? type_numbered(to->i) : UNKNOWN;
  for (size_t i = 0; i < node->n_attr; i++)
    switch (node->attr[i].type) {
    case CLARKE_ATTR_TENSOR: return (int)node->attr[i].t.dtype;
    case CLARKE_ATTR_INT: case CLARKE_ATTR_INTS: return CLARKE_I64;
    case CLARKE_ATTR_FLOAT: case CLARKE_ATTR_FLOATS: return CLARKE_F32;
    default: return UNKNOWN;
    }
  return strcmp(node->op_type, "ConstantOfShape") == 0 ? CLARKE_F32 : UNKNOWN;
}

/* The type that the letter wants; NULL where it is one that a letter stands for, or any. */
static const char *
wanted(char letter, int type)
{
  switch (letter) {
  case 'l': return type != CLARKE_I64 ? "int64" : NULL;
  case 'n': return type != CLARKE_I32 ? "int32" : NULL;
  case 'i': return type != CLARKE_I64 && type != CLARKE_I32 ? "int64 or int32" : NULL;
  case 'r': return type > CLARKE_F64 ? "floats" : NULL;
  case 'f': return type != CLARKE_F32 ? "float32" : NULL;
  case 'b': return type != CLARKE_BOOL ? "bool" : NULL;
  default: return NULL;
  }
}

/* Does the operator take integers of 8 bits alone? */
static bool
takes_bytes(const char *op)
{
  return strncmp(op, "QLinear", 7) == 0 || strcmp(op, "ConvInteger") == 0 || strcmp(op, "MatMulInteger") == 0;
}

/* Does ONNX have the operator for floats of 8 bits? */
static bool
takes_float8(const char *op)
{
  char name[66];

  snprintf(name, sizeof name, " %.63s ", op);
  return strstr(" Cast CastLike QuantizeLinear DequantizeLinear Identity Reshape Transpose Flatten Squeeze Unsqueeze Shape Size If Loop ", name)
         != NULL;
}

static clarke_status
fail_at(const typing *t, const clarke_model_node *node, const char *why, clarke_error *err)
{
  return clarke_fail(err, CLARKE_EINPUT, "node %zu '%s' (%s): %s", t->place, node->name, node->op_type,
                     why);
}

/* first: of each letter the value that it was first met with. */
static clarke_status
check_input(const typing *t, const clarke_model_node *node, char letter, const typed *v, const typed **first, clarke_error *err)
{
  const char *name = clarke_dtype_name((clarke_dtype)v->type), *want = wanted(letter, v->type);
  const bool standing = letter >= 'T' && letter <= 'V';
  char why[512];

  if (standing && takes_bytes(node->op_type) && v->type != CLARKE_U8 && v->type != CLARKE_I8)
    want = "int8 or uint8";
  if (v->type != UNKNOWN && clarke_float8_is((clarke_dtype)v->type) && !takes_float8(node->op_type))
    want = "no floats of 8 bits";
  if (want != NULL) {
    snprintf(why, sizeof why, "input '%.100s' is %s; ONNX wants %s there. Cast it (a Cast node), or export the model anew",
             v->name, name, want);
    return fail_at(t, node, why, err);
  }
  if (!standing)
    return CLARKE_OK;
  if (first[letter - 'T'] == NULL)
    first[letter - 'T'] = v;
  if (first[letter - 'T']->type == v->type)
    return CLARKE_OK;
  snprintf(why, sizeof why, "input '%.100s' is %s and input '%.100s' is %s; ONNX wants one type there. Cast one of them "
           "(a Cast node), or export the model in one type", first[letter - 'T']->name,
           clarke_dtype_name((clarke_dtype)first[letter - 'T']->type), v->name, name);
  return fail_at(t, node, why, err);
}

static int
type_of_output(const clarke_model_node *node, char letter, const typed *const *first)
{
  const clarke_attr *named = strchr("qd", letter) != NULL ? clarke_model_attr(node, "output_dtype") : NULL;

  if (named != NULL && named->type == CLARKE_ATTR_INT && named->i != 0)
    return type_numbered(named->i);
  switch (letter) {
  case 'q': return first['V' - 'T'] != NULL ? first['V' - 'T']->type : node->n_in > 2 && *node->in[2] != '\0' ? UNKNOWN : CLARKE_U8;
  case 'd': return first['U' - 'T'] != NULL ? first['U' - 'T']->type : UNKNOWN;
  case 'u': return CLARKE_U8;
  case 'n': return CLARKE_I32;
  case 'a': return type_of_attribute(node);
  case 'l': return CLARKE_I64;
  case 'f': return CLARKE_F32;
  case 'b': return CLARKE_BOOL;
  case 'T': case 'U': case 'V': return first[letter - 'T'] != NULL ? first[letter - 'T']->type : UNKNOWN;
  default: return UNKNOWN;
  }
}

static clarke_status check_bodies(const typing *t, clarke_model_node *node, clarke_error *err);

static clarke_status
check_node(const typing *t, clarke_model_node *node, clarke_error *err)
{
  const rule *r = find_rule(node, t->m->opset);
  const typed *first[3] = {NULL, NULL, NULL};
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; r != NULL && i < node->n_in && status == CLARKE_OK; i++) {
    const typed *v = find(t, node->in[i]);

    if (v != NULL && v->type != UNKNOWN)
      status = check_input(t, node, letter_at(r->in, i), v, first, err);
  }
  for (size_t i = 0; r != NULL && i < node->n_out; i++)
    if (*node->out[i] != '\0')
      find(t, node->out[i])->type = type_of_output(node, letter_at(r->out, i), first);
  if (strcmp(node->op_type, "CastLike") == 0 && node->n_out == 1 && *node->out[0] != '\0')
    node->like = number_of_type(find(t, node->out[0])->type);
  return status == CLARKE_OK ? check_bodies(t, node, err) : status;
}

/* The types of a graph's inputs are declared, and those that are handed in; of its nodes they follow. */
static clarke_status
check_body(const typing *t, const clarke_model_node *node, const clarke_body *g, clarke_error *err)
{
  const bool loop = strcmp(node->op_type, "Loop") == 0;
  clarke_status status = CLARKE_OK;
  char why[512];

  for (size_t i = 0; i < g->n_inputs; i++) {
    const typed *given = i < node->own_in && (i > 1 || !loop) ? find(t, node->in[i]) : NULL;
    typed *own = find(t, g->inputs[i].name);
    const int known = given != NULL ? given->type : loop && i < 2 ? (i == 0 ? CLARKE_I64 : CLARKE_BOOL) : UNKNOWN;

    own->type = g->inputs[i].typed ? (int)g->inputs[i].dtype : known;
    if (known == UNKNOWN || own->type == known)
      continue;
    snprintf(why, sizeof why, "its graph's input '%.100s' is declared as %s, and is %s", own->name,
             clarke_dtype_name((clarke_dtype)own->type), clarke_dtype_name((clarke_dtype)known));
    return fail_at(t, node, why, err);
  }
  for (size_t i = 0; i < g->n_nodes && status == CLARKE_OK; i++)
    status = check_node(t, &g->nodes[i], err);
  for (size_t i = 0; i < g->n_outputs && status == CLARKE_OK; i++) {
    const typed *made = find(t, g->outputs[i].name);

    if (made == NULL || made->type == UNKNOWN || !g->outputs[i].typed || made->type == (int)g->outputs[i].dtype)
      continue;
    snprintf(why, sizeof why, "its graph's output '%.100s' is declared as %s, and is %s", made->name,
             clarke_dtype_name(g->outputs[i].dtype), clarke_dtype_name((clarke_dtype)made->type));
    return fail_at(t, node, why, err);
  }
  return status;
}

/* And those of the node's outputs: of a Loop behind what tells whether it goes on. */
static clarke_status
check_bodies(const typing *t, clarke_model_node *node, clarke_error *err)
{
  const size_t skip = strcmp(node->op_type, "Loop") == 0;
  clarke_status status = CLARKE_OK;

  for (size_t a = 0; a < node->n_attr && status == CLARKE_OK; a++) {
    const clarke_body *g = node->attr[a].g;

    if (g == NULL)
      continue;
    status = check_body(t, node, g, err);
    for (size_t k = 0; k < node->n_out && k + skip < g->n_outputs && status == CLARKE_OK; k++) {
      const typed *made = find(t, g->outputs[k + skip].name);

      if (*node->out[k] != '\0' && made != NULL)
        find(t, node->out[k])->type = made->type;
    }
  }
  return status;
}

static clarke_status
check_port(const typing *t, const char *what, const clarke_model_port *port, const char *remedy, clarke_error *err)
{
  const typed *v = find(t, port->name);

  if (v == NULL || v->type == UNKNOWN || !port->typed || v->type == (int)port->dtype)
    return CLARKE_OK;
  return clarke_fail(err, CLARKE_EINPUT, "%s '%s' is declared as %s, and is %s: %s", what, port->name,
                     clarke_dtype_name(port->dtype), clarke_dtype_name((clarke_dtype)v->type), remedy);
}

static clarke_status
check_ports(const typing *t, clarke_error *err)
{
  const clarke_model *m = t->m;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < m->n_declared && status == CLARKE_OK; i++)
    status = check_port(t, "value", &m->declared[i],
                        "take it out of the file's value_info or inputs, or declare what it is", err);
  for (size_t i = 0; i < m->n_outputs && status == CLARKE_OK; i++)
    status = check_port(t, "output", &m->outputs[i], "declare the type that it has, or cast it (a Cast node)", err);
  return status;
}

static size_t
count_within(const clarke_model_node *nodes, size_t n)
{
  size_t all = 0;

  for (size_t i = 0; i < n; i++) {
    all += nodes[i].n_out;
    for (size_t a = 0; a < nodes[i].n_attr; a++)
      if (nodes[i].attr[a].g != NULL)
        all += nodes[i].attr[a].g->n_inputs + count_within(nodes[i].attr[a].g->nodes, nodes[i].attr[a].g->n_nodes);
  }
  return all;
}

static void
collect_within(typing *t, const clarke_model_node *nodes, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < nodes[i].n_out; k++)
      if (*nodes[i].out[k] != '\0')
        t->values[t->n++] = (typed){nodes[i].out[k], UNKNOWN};
    for (size_t a = 0; a < nodes[i].n_attr; a++) {
      const clarke_body *g = nodes[i].attr[a].g;

      for (size_t k = 0; g != NULL && k < g->n_inputs; k++)
        t->values[t->n++] = (typed){g->inputs[k].name, UNKNOWN};
      if (g != NULL)
        collect_within(t, g->nodes, g->n_nodes);
    }
  }
}

/* All values, those that nodes make being not known yet. */
static void
collect(typing *t)
{
  const clarke_model *m = t->m;

  for (size_t i = 0; i < m->n_inputs; i++)
    t->values[t->n++] = (typed){m->inputs[i].name, (int)m->inputs[i].dtype};
  for (size_t i = 0; i < m->n_tensors; i++)
    t->values[t->n++] = (typed){m->tensors[i].name, (int)m->tensors[i].dtype};
  collect_within(t, m->nodes, m->n_nodes);
  if (t->n > 1)
    qsort(t->values, t->n, sizeof *t->values, compare);
}

clarke_status
clarke_types_check(clarke_model *m, clarke_error *err)
{
  typing t = {.m = m};
  size_t n = m->n_inputs + m->n_tensors + count_within(m->nodes, m->n_nodes);
  clarke_status status = CLARKE_OK;

  t.values = malloc((n + 1) * sizeof *t.values);
  if (t.values == NULL)
    return clarke_no_memory(err);
  collect(&t);
  for (size_t i = 0; i < m->n_nodes && status == CLARKE_OK; i++) {
    t.place = i;
    status = check_node(&t, &m->nodes[i], err);
  }
  if (status == CLARKE_OK)
    status = check_ports(&t, err);
  free(t.values);
  return status;
}
