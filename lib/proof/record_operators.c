/* Which rules of "Recorded steps" a node falls under (record_operators.h). */
#include "proof/record_operators.h"

#include <string.h>

/* Operators that "Recorded steps" has rules for: of plain sums, windows and selections. */
static const char *const covered[] = {
  "Abs", "Add", "AveragePool", "Clamp", "Clip", "Concat", "Conv", "ConvTranspose", "Expand", "Flatten", "Gather", "Gemm",
  "GlobalAveragePool", "GlobalMaxPool", "Identity", "LeakyRelu", "Lift", "MatMul", "MaxPool", "Mul", "Neg", "Pad", "ReduceMean",
  "ReduceSum", "Relu", "Reshape", "Slice", "Squeeze", "Sub", "Tile", "Transpose", "Unsqueeze"};
/* And of composed nodes, whose numbers are enclosed. */
static const char *const composed[] = {
  "BatchNormalization", "Celu", "Div", "Elu", "Erf", "Exp", "Gelu", "GroupNormalization", "HardSigmoid", "HardSwish", "Huber",
  "InstanceNormalization", "LayerNormalization", "Log", "LogSoftmax", "Mish", "PRelu", "Pow", "Reciprocal", "ReduceL2",
  "ReduceSumSquare", "Selu", "Sigmoid", "Softmax", "Softplus", "Sqrt", "Swish", "Tanh"};
/* What of these multiplies or adds parameters as they are. */
static const char *const weighs[] = {"BatchNormalization", "GroupNormalization", "InstanceNormalization", "LayerNormalization", "PRelu"};
/* What moves entries and computes none. (Neg moves a constant's: a sum of one term else.) */
static const char *const moves[] = {"Cast", "Dropout", "Expand", "Flatten", "Gather", "Identity", "Reshape", "Resize", "Slice",
                                    "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze"};
/* Windows, which have no rule where what they pool was not recorded. */
static const char *const pools[] = {"GlobalMaxPool", "MaxPool"};
/* Those with kinks or windows. */
static const char *const kinks[] = {"Abs", "Clamp", "Clip", "GlobalMaxPool", "HardSigmoid", "HardSwish", "Huber", "LeakyRelu",
                                    "MaxPool", "PRelu", "Relu"};

#define IS_AMONG(op, list) is_among(op, list, sizeof list / sizeof *list)

static bool
is_among(const char *op, const char *const *list, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (strcmp(list[i], op) == 0)
      return true;
  return false;
}

/* An attribute is missing, or a number from -1 to 1; exactly: 1. */
static bool
is_small(const clarke_model_node *node, const char *name, bool exactly)
{
  const clarke_attr *a = clarke_model_attr(node, name);

  return a == NULL || (a->type == CLARKE_ATTR_FLOAT && (exactly ? a->f == 1 : a->f >= -1 && a->f <= 1));
}

static bool
is_plain(const clarke_model_node *node)
{
  return IS_AMONG(node->op_type, covered) && is_small(node, "alpha", strcmp(node->op_type, "Gemm") == 0)
         && is_small(node, "beta", true);
}

clarke_record_operator
clarke_record_operator_of(const clarke_model_node *node)
{
  const char *op = node->op_type;
  const bool plain = is_plain(node);

  return (clarke_record_operator){
    .plain = plain,
    .composed = !plain && (IS_AMONG(op, composed) || IS_AMONG(op, covered)),
    .weighs = IS_AMONG(op, weighs),
    .moves = IS_AMONG(op, moves),
    .pools = IS_AMONG(op, pools),
    .kinks = IS_AMONG(op, kinks),
  };
}
