/* Types of values, from the inputs on: a table of the type constraints in ONNX's operator schemas. */
#include "check/files/types.h"
#include "check/base/allocate.h"

#include <string.h>

/* The operators, a space behind each, that have from set `since` on these types: a letter for each operand, the last for all
 * behind it. A, B, C: one type for all places of the letter; L INT64, N INT32, P one of these, F FLOAT, R any floats, Z BOOL; U UINT8; M what an
 * attribute says; Q the same, or C, or UINT8; D the same, or B; _ any. */
static const struct {
  uint64_t since;
  const char *in, *out, *operators;
} signatures[] = {
    {1, "RLA", "A", "Adagrad Adam Momentum "},
    {7, "A", "A",
     "Abs Acos Acosh Add Asin Asinh Atan Atanh AveragePool BatchNormalization CausalConvWithState "
     "Ceil Celu Clip Concat Conv ConvTranspose Cos Cosh DeformConv Det Div Dropout Einsum Elu Erf Exp "
     "Flatten Floor Gelu GlobalLpPool "
     "Gemm GlobalAveragePool GlobalMaxPool GroupNormalization HardSigmoid HardSwish Hardmax Identity "
     "InstanceNormalization LRN "
     "LeakyRelu Log LogSoftmax LpNormalization LpPool MatMul Max MeanVarianceNormalization Min Mish Mod Mul Neg PRelu "
     "Pad Pow Range Reciprocal "
     "ReduceL1 ReduceL2 ReduceMax "
     "DepthToSpace ReduceLogSum ReduceLogSumExp SpaceToDepth Mean ReduceMean ReduceMin ReduceProd ReduceSum "
     "ReduceSumSquare Relu Round Selu Shrink Sigmoid Sign Sin Sinh Slice Softmax "
     "Softplus Softsign Split "
     "Sqrt "
     "Squeeze "
     "Sub Sum SwiGLU Swish Tan Tanh ThresholdedRelu Transpose Unsqueeze Upsample "},
    {7, "A", "A_", "LayerNormalization "},
    {7, "A", "AL", "MaxPool "},
    {7, "A", "Z", "Equal Greater GreaterOrEqual Less LessOrEqual "},
    {7, "Z", "Z", "And Not Or "},
    {7, "AL", "A", "AffineGrid Expand GatherND Reshape ReverseSequence Tile Trilu "},
    {7, "AL", "AL", "TopK "},
    {7, "AP", "A", "CumProd CumSum Gather GatherElements "},
    {7, "AAAANA", "A", "GRU LSTM RNN "},
    {7, "APA", "A", "NegativeLogLikelihoodLoss Scatter ScatterElements SoftmaxCrossEntropyLoss "},
    {7, "ALA", "A", "ScatterND "},
    {9, "AZ", "A", "Compress "},
    {9, "AF", "A", "Upsample "},
    {10, "AAL", "A", "RoiAlign "},
    {17, "APL", "A", "DFT "},
    {17, "APAP", "A", "STFT "},
    {24, "AAL", "A", "TensorScatter "},
    {7, "ZA", "A", "Where "},
    {7, "A", "L", "ArgMax ArgMin "},
    {7, "_", "L", "Shape Size "},
    {7, "_", "M", "Cast Constant "},
    {7, "Z_", "_", "If "},
    {7, "LZ_", "_", "Loop "},
    {15, "_A", "A", "CastLike "},
    {7, "L", "M", "ConstantOfShape "},
    {10, "A", "AZ", "Dropout "},
    {10, "AB", "A", "Slice "},
    {11, "ALAP", "A", "Pad "},
    {10, "AF", "A", "Resize "},
    {11, "ARFL", "A", "Resize "},
    {12, "ARZ", "AZ", "Dropout "},
    {16, "AR", "A", "GridSample "},
    {18, "AP", "A", "CenterCropPad "},
    {18, "AL", "A", "Col2Im "},
    {12, "A_", "A", "Pow "},
    {13, "AL", "A", "ReduceSum Split Squeeze Unsqueeze "},
    {14, "AAABB", "ABB", "BatchNormalization "},
    {15, "ABBCC", "ACC", "BatchNormalization "},
    {10, "ABA", "D", "DequantizeLinear "},
    {10, "ABAB", "N", "ConvInteger MatMulInteger "},
    {11, "F", "UFU", "DynamicQuantizeLinear "},
    {10, "AFABFBFCN", "C", "QLinearConv "},
    {10, "ARABRBRC", "C", "QLinearMatMul "},
    {10, "_FC", "Q", "QuantizeLinear "},
    {19, "AAC", "Q", "QuantizeLinear "},
    {23, "_RC", "Q", "QuantizeLinear "},
    {23, "RA", "A", "RMSNormalization "},
    {23, "AAB_ABL", "AABA", "Attention "},
    {23, "AAAL", "A", "RotaryEmbedding "},
    {27, "AAABAA", "AB", "LinearAttention "},
    {7, "__A", "A", "OneHot "},
    {7, "_", "F", "Scaler "},
    {18, "AL", "A",
     "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSumSquare "},
};

static const char *const words[N_DTYPES] = {"",
                                            "FLOAT",
                                            "UINT8",
                                            "INT8",
                                            "UINT16",
                                            "INT16",
                                            "INT32",
                                            "INT64",
                                            "",
                                            "BOOL",
                                            "FLOAT16",
                                            "DOUBLE",
                                            "UINT32",
                                            "UINT64",
                                            "",
                                            "",
                                            "BFLOAT16",
                                            "FLOAT8E4M3FN",
                                            "FLOAT8E4M3FNUZ",
                                            "FLOAT8E5M2",
                                            "FLOAT8E5M2FNUZ",
                                            "UINT4",
                                            "INT4",
                                            "",
                                            "",
                                            "UINT2",
                                            "INT2"};

size_t
type_of(const value_types *v, const char *name)
{
  size_t i = name_find(&v->names, name);
  return i != NONE ? v->type[i] : 0;
}

void
types_set(value_types *v, const char *name, size_t type)
{
  if (*name == '\0' || !name_add(&v->names, name))
    return;
  v->type = grow(v->type, v->names.n - 1, sizeof *v->type);
  v->type[v->names.n - 1] = type;
}

void
types_change(value_types *v, const char *name, size_t type)
{
  size_t i = name_find(&v->names, name);
  if (i != NONE)
    v->type[i] = type;
}

static bool
lists(const char *operators, const char *op)
{
  size_t length = strlen(op);
  for (const char *at = operators; *at != '\0'; at = strchr(at, ' ') + 1)
    if (strncmp(at, op, length) == 0 && at[length] == ' ')
      return true;
  return false;
}

/* The last signature that is not newer; NONE for an operator that is not known. */
static size_t
signature_of(const typed_node *n)
{
  size_t found = NONE;
  for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++)
    if (signatures[i].since <= n->opset && lists(signatures[i].operators, n->op))
      found = i;
  return found;
}

static char
letter(const char *letters, size_t i)
{
  size_t n = strlen(letters);
  return letters[i < n ? i : n - 1];
}

static bool
takes(char of, size_t type)
{
  return of == 'L'   ? type == INT64
         : of == 'N' ? type == INT32
         : of == 'P' ? type == INT64 || type == INT32
         : of == 'F' ? type == FLOAT
         : of == 'R' ? dtypes[type].exponent > 0
         : of == 'Z' ? type == BOOL
                     : true;
}

/* Is what a letter for one type stands for an integer of 8 bits? */
static bool
takes_bytes(const char *op)
{
  return lists("ConvInteger MatMulInteger QLinearConv QLinearMatMul ", op);
}

/* Has ONNX the operator for floats of 8 bits? */
static bool
takes_float8(const char *op)
{
  return lists("Cast CastLike QuantizeLinear DequantizeLinear Identity Reshape Transpose Flatten Squeeze Unsqueeze "
               "Shape Size If Loop ",
               op);
}

/* bound: the type of each letter that stands for one, once it is known. */
static size_t
made_type(const typed_node *n, char of, const size_t *bound)
{
  if ((of == 'Q' || of == 'D') && n->made != 0)
    return n->made < N_DTYPES ? n->made : 0;
  if (of == 'Q')
    return bound[2] != 0 ? bound[2] : n->n_in > 2 && *n->in[2] != '\0' ? 0 : UINT8;
  if (of == 'D')
    return bound[1];
  if (of == 'U' || of == 'N')
    return of == 'U' ? UINT8 : INT32;
  return of == 'L'                ? INT64
         : of == 'F'              ? FLOAT
         : of == 'Z'              ? BOOL
         : of == 'M'              ? n->made
         : of >= 'A' && of <= 'C' ? bound[of - 'A']
                                  : 0;
}

void
types_follow(value_types *v, const typed_node *n)
{
  size_t bound[3] = {0}, s = signature_of(n);
  for (size_t i = 0; s != NONE && i < n->n_in; i++) {
    char of = letter(signatures[s].in, i);
    size_t type = type_of(v, n->in[i]), *one = of >= 'A' && of <= 'C' ? &bound[of - 'A'] : &type;
    bool byte = type == UINT8 || type == INT8, narrow = one != &type && takes_bytes(n->op);
    expect(type == 0 || (takes(of, type) && (byte || !narrow) && (!is_float8(type) || takes_float8(n->op))),
           "node %zu '%s' (%s): input '%s' is %s, which ONNX does not allow there", n->place, n->name, n->op, n->in[i],
           words[type]);
    *one = *one == 0 ? type : *one;
    expect(type == 0 || *one == type,
           "node %zu '%s' (%s): input '%s' is %s and one before it is %s; ONNX wants one type", n->place, n->name,
           n->op, n->in[i], words[type], words[*one]);
  }
  for (size_t i = 0; i < n->n_out; i++)
    types_set(v, n->out[i], s != NONE ? made_type(n, letter(signatures[s].out, i), bound) : 0);
}

void
types_compare(const value_types *v, const char *what, const char *name, size_t declared)
{
  size_t type = type_of(v, name);
  expect(type == 0 || declared == 0 || type == declared, "%s '%s' is declared as %s, and is %s", what, name,
         words[declared], words[type]);
}
