/* The table of operators, and what holds of several. */
#include "check/onnx/network.h"
#include "check/base/allocate.h"
#include "check/files/dequantize.h"
#include "check/files/tensor_files.h"
#include "check/onnx/builder.h"
#include "check/onnx/along.h"
#include "check/onnx/attention.h"
#include "check/onnx/causal.h"
#include "check/onnx/convolution.h"
#include "check/onnx/deform.h"
#include "check/onnx/dropout.h"
#include "check/onnx/einsum.h"
#include "check/onnx/extremum.h"
#include "check/onnx/flow.h"
#include "check/onnx/grid.h"
#include "check/onnx/integers.h"
#include "check/onnx/jump.h"
#include "check/onnx/lift.h"
#include "check/onnx/linear.h"
#include "check/onnx/loss.h"
#include "check/onnx/normalization.h"
#include "check/onnx/optimizer.h"
#include "check/onnx/piecewise.h"
#include "check/onnx/pointwise.h"
#include "check/onnx/qlinear.h"
#include "check/onnx/quant.h"
#include "check/onnx/quantize.h"
#include "check/onnx/quantized_lstm.h"
#include "check/onnx/recurrent.h"
#include "check/onnx/resize.h"
#include "check/onnx/scatter.h"
#include "check/onnx/shape.h"
#include "check/onnx/sorted.h"
#include "check/onnx/stated.h"
#include "check/onnx/surrogate.h"
#include "check/onnx/tail.h"
#include "check/onnx/take.h"
#include "check/rough/near_rough.h"
#include "check/smooth/smooth_steps.h"

#include <string.h>

#define ATTENTION                                                                                                      \
  "is_causal:b kv_num_heads:i q_num_heads:i qk_matmul_output_mode:i scale:f softcap:f softmax_precision:i"

/* A form of an operator: what a node of it may have from operator set `since` on, until the next form's. An attribute is
 * NAME:T, T its type: an integer i, integers I, a float f, floats F, a string s, words S, a tensor t. */
static const struct {
  const char *name;
  void (*lower)(builder *b);
  uint64_t since;
  size_t least, most, outputs, kinks; /* inputs; outputs at most; kinks */
  const char *attributes;
} operators[] = {
    /* sorted */
    {"Abs", lower_relu, 7, 1, 1, 1, 1, ""},
    {"Acos", lower_angle, 7, 1, 1, 1, 0, ""},
    {"Acosh", lower_stated_function, 9, 1, 1, 1, 0, ""},
    {"Adagrad", lower_adagrad, 1, 5, 1024, 1024, 0, "decay_factor:f epsilon:f norm_coefficient:f"},
    {"Adam", lower_adam, 1, 6, 1024, 1024, 0, "alpha:f beta:f epsilon:f norm_coefficient:f norm_coefficient_post:f"},
    {"Add", lower_arithmetic, 7, 2, 2, 1, 0, ""},
    {"AffineGrid", lower_affine_grid, 20, 2, 2, 1, 0, "align_corners:b"},
    {"And", lower_whole, 7, 2, 2, 1, 0, ""},
    {"Asin", lower_angle, 7, 1, 1, 1, 0, ""},
    {"Asinh", lower_stated_function, 9, 1, 1, 1, 0, ""},
    {"Atan", lower_function, 7, 1, 1, 1, 0, ""},
    {"Atanh", lower_stated_function, 9, 1, 1, 1, 0, ""},
    {"Attention", lower_attention, 23, 3, 6, 4, 0, ATTENTION},
    {"Attention", lower_attention, 24, 3, 7, 4, 0, ATTENTION},
    {"Attention", lower_attention, 25, 3, 7, 4, 0, ATTENTION " left_window_size:i right_window_size:i"},
    {"AveragePool", lower_pool, 7, 1, 1, 1, 0, "auto_pad:s count_include_pad:b kernel_shape:I pads:I strides:I"},
    {"AveragePool", lower_pool, 10, 1, 1, 1, 0,
     "auto_pad:s ceil_mode:b count_include_pad:b kernel_shape:I pads:I strides:I"},
    {"AveragePool", lower_pool, 19, 1, 1, 1, 0,
     "auto_pad:s ceil_mode:b count_include_pad:b dilations:I kernel_shape:I pads:I strides:I"},
    {"BatchNormalization", lower_batch, 7, 5, 5, 5, 0, "epsilon:f momentum:f spatial:b"},
    {"BatchNormalization", lower_batch, 9, 5, 5, 5, 0, "epsilon:f momentum:f"},
    {"BatchNormalization", lower_batch, 14, 5, 5, 3, 0, "epsilon:f momentum:f training_mode:b"},
    {"BipolarQuant", lower_bipolar, 7, 2, 2, 1, 0, ""},
    {"Cast", lower_cast, 7, 1, 1, 1, 0, "to:i"},
    {"Cast", lower_cast, 19, 1, 1, 1, 0, "saturate:i to:i"},
    {"Cast", lower_cast, 24, 1, 1, 1, 0, "round_mode:s saturate:i to:i"},
    {"CastLike", lower_cast_like, 15, 2, 2, 1, 0, ""},
    {"CastLike", lower_cast_like, 19, 2, 2, 1, 0, "saturate:i"},
    {"CastLike", lower_cast_like, 24, 2, 2, 1, 0, "round_mode:s saturate:i"},
    {"CausalConvWithState", lower_causal, 27, 2, 4, 2, 0, "activation:s"},
    {"Ceil", lower_rounded, 7, 1, 1, 1, 0, ""},
    {"Celu", lower_elu, 12, 1, 1, 1, 0, "alpha:f"},
    {"CenterCropPad", lower_center, 18, 2, 2, 1, 0, "axes:I"},
    {"Clamp", lower_clip, 7, 1, 3, 1, 2, ""},
    {"Clip", lower_clip, 7, 1, 1, 1, 2, "max:f min:f"},
    {"Clip", lower_clip, 11, 1, 3, 1, 2, ""},
    {"Col2Im", lower_fold, 18, 3, 3, 1, 0, "dilations:I pads:I strides:I"},
    {"Compress", lower_compress, 9, 2, 2, 1, 0, "axis:i"},
    {"Concat", lower_concat, 7, 1, 1024, 1, 0, "axis:i"},
    {"Constant", lower_constant, 7, 0, 0, 1, 0, "value:t"},
    {"Constant", lower_constant, 12, 0, 0, 1, 0, "value:t value_float:f value_floats:F value_int:i value_ints:I"},
    {"ConstantOfShape", lower_filled, 9, 1, 1, 1, 0, "value:t"},
    {"Conv", lower_convolution, 7, 2, 3, 1, 0, "auto_pad:s dilations:I group:i kernel_shape:I pads:I strides:I"},
    {"ConvInteger", lower_integer_convolution, 10, 2, 4, 1, 0,
     "auto_pad:s dilations:I group:i kernel_shape:I pads:I strides:I"},
    {"ConvTranspose", lower_convolution, 7, 2, 3, 1, 0,
     "auto_pad:s dilations:I group:i kernel_shape:I output_padding:I output_shape:I pads:I strides:I"},
    {"Cos", lower_function, 7, 1, 1, 1, 0, ""},
    {"Cosh", lower_stated_function, 9, 1, 1, 1, 0, ""},
    {"CumProd", lower_running_product, 26, 2, 2, 1, 0, "exclusive:b reverse:b"},
    {"CumSum", lower_running, 11, 2, 2, 1, 0, "exclusive:b reverse:b"},
    {"DeformConv", lower_deform, 19, 3, 5, 1, 0, "dilations:I group:i kernel_shape:I offset_group:i pads:I strides:I"},
    {"DepthToSpace", lower_blocks, 7, 1, 1, 1, 0, "blocksize:i"},
    {"DepthToSpace", lower_blocks, 11, 1, 1, 1, 0, "blocksize:i mode:s"},
    {"DequantizeLinear", lower_dequantize, 10, 2, 3, 1, 0, ""},
    {"DequantizeLinear", lower_dequantize, 13, 2, 3, 1, 0, "axis:i"},
    {"DequantizeLinear", lower_dequantize, 21, 2, 3, 1, 0, "axis:i block_size:i output_dtype:i"},
    {"Div", lower_arithmetic, 7, 2, 2, 1, 0, ""},
    {"Dropout", lower_dropout, 7, 1, 1, 2, 0, "ratio:f"},
    {"Dropout", lower_dropout, 12, 1, 3, 2, 0, "seed:i"},
    {"DynamicQuantizeLinear", lower_dynamic, 11, 1, 1, 3, 0, ""},
    {"DynamicQuantizeLSTM", lower_quantized_lstm, 7, 3, 12, 3, 0,
     "activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i input_forget:b"},
    {"Einsum", lower_einsum, 12, 1, 1024, 1, 0, "equation:s"},
    {"Elu", lower_elu, 7, 1, 1, 1, 1, "alpha:f"},
    {"Equal", lower_whole, 7, 2, 2, 1, 0, ""},
    {"Erf", lower_function, 9, 1, 1, 1, 0, ""},
    {"Exp", lower_function, 7, 1, 1, 1, 0, ""},
    {"Expand", lower_repeat, 8, 2, 2, 1, 0, ""},
    {"Flatten", lower_flatten, 7, 1, 1, 1, 0, "axis:i"},
    {"Floor", lower_rounded, 7, 1, 1, 1, 0, ""},
    {"GRU", lower_gru, 7, 3, 6, 2, 0,
     "activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i linear_before_reset:b"},
    {"GRU", lower_gru, 14, 3, 6, 2, 0,
     "activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i layout:b "
     "linear_before_reset:b"},
    {"Gather", lower_gather, 7, 2, 2, 1, 0, "axis:i"},
    {"GatherElements", lower_gather_elements, 11, 2, 2, 1, 0, "axis:i"},
    {"GatherND", lower_gather_rows, 11, 2, 2, 1, 0, ""},
    {"GatherND", lower_gather_rows, 12, 2, 2, 1, 0, "batch_dims:i"},
    {"Gelu", lower_gate, 20, 1, 1, 1, 0, "approximate:s"},
    {"Gemm", lower_product, 7, 3, 3, 1, 0, "alpha:f beta:f transA:b transB:b"},
    {"Gemm", lower_product, 11, 2, 3, 1, 0, "alpha:f beta:f transA:b transB:b"},
    {"GlobalAveragePool", lower_mean, 7, 1, 1, 1, 0, ""},
    {"GlobalLpPool", lower_norm, 7, 1, 1, 1, 0, "p:i"},
    {"GlobalMaxPool", lower_global_maximum, 7, 1, 1, 1, 0, ""},
    {"Greater", lower_whole, 7, 2, 2, 1, 0, ""},
    {"GreaterOrEqual", lower_whole, 12, 2, 2, 1, 0, ""},
    {"GridSample", lower_grid, 16, 2, 2, 1, 1, "align_corners:b mode:s padding_mode:s"},
    {"GroupNormalization", lower_groups, 18, 3, 3, 1, 0, "epsilon:f num_groups:i"},
    {"GroupNormalization", lower_groups, 21, 3, 3, 1, 0, "epsilon:f num_groups:i stash_type:i"},
    {"HardSigmoid", lower_hard, 7, 1, 1, 1, 2, "alpha:f beta:f"},
    {"HardSwish", lower_hard, 14, 1, 1, 1, 2, ""},
    {"Hardmax", lower_hardmax, 7, 1, 1, 1, 0, "axis:i"},
    {"Huber", lower_huber, 7, 2, 2, 1, 0, ""},
    {"Identity", lower_identity, 7, 1, 1, 1, 0, ""},
    {"InstanceNormalization", lower_groups, 7, 3, 3, 1, 0, "epsilon:f"},
    {"LRN", lower_responses, 7, 1, 1, 1, 0, "alpha:f beta:f bias:f size:i"},
    {"LSTM", lower_lstm, 7, 3, 8, 3, 0,
     "activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i input_forget:b"},
    {"LSTM", lower_lstm, 14, 3, 8, 3, 0,
     "activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i input_forget:b layout:b"},
    {"LayerNormalization", lower_layer, 17, 2, 3, 3, 0, "axis:i epsilon:f stash_type:i"},
    {"LeakyRelu", lower_relu, 7, 1, 1, 1, 1, "alpha:f"},
    {"Less", lower_whole, 7, 2, 2, 1, 0, ""},
    {"LessOrEqual", lower_whole, 12, 2, 2, 1, 0, ""},
    {"Lift", lower_lift, 7, 1, 1, 1, 0, ""},
    {"LinearAttention", lower_linear_attention, 27, 3, 6, 2, 0,
     "chunk_size:i kv_num_heads:i q_num_heads:i scale:f update_rule:s"},
    {"Log", lower_function, 7, 1, 1, 1, 0, ""},
    {"LogSoftmax", lower_softmax, 7, 1, 1, 1, 0, "axis:i"},
    {"LpNormalization", lower_by_norm, 7, 1, 1, 1, 0, "axis:i p:i"},
    {"LpPool", lower_norm, 7, 1, 1, 1, 0, "auto_pad:s kernel_shape:I p:i pads:I strides:I"},
    {"LpPool", lower_norm, 18, 1, 1, 1, 0, "auto_pad:s ceil_mode:b dilations:I kernel_shape:I p:i pads:I strides:I"},
    {"MatMul", lower_product, 7, 2, 2, 1, 0, ""},
    {"MatMulInteger", lower_integer_product, 10, 2, 4, 1, 0, ""},
    {"Max", lower_larger, 8, 1, 1024, 1, 0, ""},
    {"MaxPool", lower_pool, 7, 1, 1, 1, 0, "auto_pad:s kernel_shape:I pads:I strides:I"},
    {"MaxPool", lower_pool, 8, 1, 1, 2, 0, "auto_pad:s kernel_shape:I pads:I storage_order:b strides:I"},
    {"MaxPool", lower_pool, 10, 1, 1, 2, 0,
     "auto_pad:s ceil_mode:b dilations:I kernel_shape:I pads:I storage_order:b strides:I"},
    {"Mean", lower_sum, 8, 1, 1024, 1, 0, ""},
    {"Min", lower_larger, 8, 1, 1024, 1, 0, ""},
    {"Mish", lower_gate, 18, 1, 1, 1, 0, ""},
    {"Mod", lower_whole, 10, 2, 2, 1, 0, "fmod:i"},
    {"Momentum", lower_momentum, 1, 5, 1024, 1024, 0, "alpha:f beta:f mode:s norm_coefficient:f"},
    {"Mul", lower_arithmetic, 7, 2, 2, 1, 0, ""},
    {"Neg", lower_negation, 7, 1, 1, 1, 0, ""},
    {"NegativeLogLikelihoodLoss", lower_loss, 12, 2, 3, 1, 0, "ignore_index:i reduction:s"},
    {"Not", lower_whole, 7, 1, 1, 1, 0, ""},
    {"OneHot", lower_one_hot, 9, 3, 3, 1, 0, "axis:i"},
    {"Or", lower_whole, 7, 2, 2, 1, 0, ""},
    {"PRelu", lower_relu, 7, 2, 2, 1, 1, ""},
    {"Pad", lower_pad, 7, 1, 1, 1, 0, "mode:s pads:I value:f"},
    {"Pad", lower_pad, 11, 2, 3, 1, 0, "mode:s"},
    {"Pad", lower_pad, 18, 2, 4, 1, 0, "mode:s"},
    {"Pow", lower_power, 7, 2, 2, 1, 0, ""},
    {"QLinearConv", lower_integer_convolution, 10, 8, 9, 1, 0,
     "auto_pad:s dilations:I group:i kernel_shape:I pads:I strides:I"},
    {"QLinearMatMul", lower_integer_product, 10, 8, 8, 1, 0, ""},
    {"Quant", lower_quant, 7, 4, 4, 1, 0, "narrow:b rounding_mode:s signed:b"},
    {"QuantizeLinear", lower_quantize, 10, 2, 3, 1, 0, ""},
    {"QuantizeLinear", lower_quantize, 13, 2, 3, 1, 0, "axis:i saturate:b"},
    {"QuantizeLinear", lower_quantize, 21, 2, 3, 1, 0, "axis:i block_size:i output_dtype:i precision:i saturate:b"},
    {"RMSNormalization", lower_root_mean, 23, 2, 2, 1, 0, "axis:i epsilon:f stash_type:i"},
    {"RNN", lower_rnn, 7, 3, 6, 2, 0,
     "activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i"},
    {"RNN", lower_rnn, 14, 3, 6, 2, 0,
     "activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i layout:b"},
    {"Range", lower_range, 11, 3, 3, 1, 0, ""},
    {"Reciprocal", lower_function, 7, 1, 1, 1, 0, ""},
    {"ReduceL1", lower_sizes, 7, 1, 1, 1, 0, "axes:I keepdims:b"},
    {"ReduceL1", lower_sizes, 18, 1, 2, 1, 0, "keepdims:b noop_with_empty_axes:b"},
    {"ReduceL2", lower_mean, 7, 1, 1, 1, 0, "axes:I keepdims:b"},
    {"ReduceL2", lower_mean, 18, 1, 2, 1, 0, "keepdims:b noop_with_empty_axes:b"},
    {"ReduceLogSum", lower_mean, 7, 1, 1, 1, 0, "axes:I keepdims:b"},
    {"ReduceLogSum", lower_mean, 18, 1, 2, 1, 0, "keepdims:b noop_with_empty_axes:b"},
    {"ReduceLogSumExp", lower_mean, 7, 1, 1, 1, 0, "axes:I keepdims:b"},
    {"ReduceLogSumExp", lower_mean, 18, 1, 2, 1, 0, "keepdims:b noop_with_empty_axes:b"},
    {"ReduceMax", lower_extremum, 7, 1, 1, 1, 0, "axes:I keepdims:b"},
    {"ReduceMax", lower_extremum, 18, 1, 2, 1, 0, "keepdims:b noop_with_empty_axes:b"},
    {"ReduceMean", lower_mean, 7, 1, 1, 1, 0, "axes:I keepdims:b"},
    {"ReduceMean", lower_mean, 18, 1, 2, 1, 0, "keepdims:b noop_with_empty_axes:b"},
    {"ReduceMin", lower_extremum, 7, 1, 1, 1, 0, "axes:I keepdims:b"},
    {"ReduceMin", lower_extremum, 18, 1, 2, 1, 0, "keepdims:b noop_with_empty_axes:b"},
    {"ReduceProd", lower_whole_product, 7, 1, 1, 1, 0, "axes:I keepdims:b"},
    {"ReduceProd", lower_whole_product, 18, 1, 2, 1, 0, "keepdims:b noop_with_empty_axes:b"},
    {"ReduceSum", lower_mean, 7, 1, 1, 1, 0, "axes:I keepdims:b"},
    {"ReduceSum", lower_mean, 13, 1, 2, 1, 0, "keepdims:b noop_with_empty_axes:b"},
    {"ReduceSumSquare", lower_mean, 7, 1, 1, 1, 0, "axes:I keepdims:b"},
    {"ReduceSumSquare", lower_mean, 18, 1, 2, 1, 0, "keepdims:b noop_with_empty_axes:b"},
    {"Relu", lower_relu, 7, 1, 1, 1, 1, ""},
    {"Reshape", lower_reshape, 7, 2, 2, 1, 0, ""},
    {"Reshape", lower_reshape, 14, 2, 2, 1, 0, "allowzero:b"},
    {"Resize", lower_resize, 11, 3, 4, 1, 0,
     "coordinate_transformation_mode:s cubic_coeff_a:f exclude_outside:b extrapolation_value:f mode:s nearest_mode:s"},
    {"Resize", lower_resize, 13, 1, 4, 1, 0,
     "coordinate_transformation_mode:s cubic_coeff_a:f exclude_outside:b extrapolation_value:f mode:s nearest_mode:s"},
    {"Resize", lower_resize, 18, 1, 4, 1, 0,
     "antialias:b axes:I coordinate_transformation_mode:s cubic_coeff_a:f exclude_outside:b extrapolation_value:f "
     "keep_aspect_ratio_policy:s mode:s nearest_mode:s"},
    {"RotaryEmbedding", lower_rotary, 23, 3, 4, 1, 0, "interleaved:b num_heads:i rotary_embedding_dim:i"},
    {"ReverseSequence", lower_reverse, 10, 2, 2, 1, 0, "batch_axis:i time_axis:i"},
    {"Round", lower_rounded, 11, 1, 1, 1, 0, ""},
    {"Scaler", lower_scaler, 7, 1, 1, 1, 0, "offset:F scale:F"},
    {"Scatter", lower_scatter, 9, 3, 3, 1, 0, "axis:i"},
    {"ScatterElements", lower_scatter, 11, 3, 3, 1, 0, "axis:i"},
    {"ScatterElements", lower_scatter, 16, 3, 3, 1, 0, "axis:i reduction:s"},
    {"ScatterND", lower_scatter, 11, 3, 3, 1, 0, ""},
    {"ScatterND", lower_scatter, 16, 3, 3, 1, 0, "reduction:s"},
    {"Selu", lower_elu, 7, 1, 1, 1, 1, "alpha:f gamma:f"},
    {"Shape", lower_shape, 7, 1, 1, 1, 0, ""},
    {"Shape", lower_shape, 15, 1, 1, 1, 0, "end:i start:i"},
    {"Shrink", lower_threshold, 9, 1, 1, 1, 0, "bias:f lambd:f"},
    {"Sigmoid", lower_sigmoid, 7, 1, 1, 1, 0, ""},
    {"Sign", lower_rounded, 9, 1, 1, 1, 0, ""},
    {"Sin", lower_function, 7, 1, 1, 1, 0, ""},
    {"Sinh", lower_stated_function, 9, 1, 1, 1, 0, ""},
    {"Size", lower_size, 7, 1, 1, 1, 0, ""},
    {"Slice", lower_slice, 7, 1, 1, 1, 0, "axes:I ends:I starts:I"},
    {"Slice", lower_slice, 10, 3, 5, 1, 0, ""},
    {"Softmax", lower_softmax, 7, 1, 1, 1, 0, "axis:i"},
    {"SoftmaxCrossEntropyLoss", lower_loss, 12, 2, 3, 2, 0, "ignore_index:i reduction:s"},
    {"Softplus", lower_function, 7, 1, 1, 1, 0, ""},
    {"Softsign", lower_stated_function, 7, 1, 1, 1, 0, ""},
    {"Sorted", lower_sorted, 7, 2, 2, 1, 0, "axis:i largest:b"},
    {"SpaceToDepth", lower_blocks, 7, 1, 1, 1, 0, "blocksize:i"},
    {"Split", lower_split, 7, 1, 1, 1024, 0, "axis:i split:I"},
    {"Split", lower_split, 13, 1, 2, 1024, 0, "axis:i"},
    {"Split", lower_split, 18, 1, 2, 1024, 0, "axis:i num_outputs:i"},
    {"Sqrt", lower_function, 7, 1, 1, 1, 0, ""},
    {"Squeeze", lower_squeeze, 7, 1, 1, 1, 0, "axes:I"},
    {"Squeeze", lower_squeeze, 13, 1, 2, 1, 0, ""},
    {"Sub", lower_arithmetic, 7, 2, 2, 1, 0, ""},
    {"Sum", lower_sum, 8, 1, 1024, 1, 0, ""},
    {"Surrogate", lower_surrogate, 7, 2, 2, 1, 2, "above:i passes:i"},
    {"SwiGLU", lower_stated_function, 28, 2, 2, 1, 0, "alpha:f"},
    {"Swish", lower_gate, 24, 1, 1, 1, 0, "alpha:f"},
    {"Tan", lower_angle, 7, 1, 1, 1, 0, ""},
    {"Tanh", lower_sigmoid, 7, 1, 1, 1, 0, ""},
    {"TensorScatter", lower_tensor_scatter, 24, 2, 3, 1, 0, "axis:i mode:s"},
    {"ThresholdedRelu", lower_threshold, 10, 1, 1, 1, 0, "alpha:f"},
    {"Tile", lower_repeat, 7, 2, 2, 1, 0, ""},
    {"TopK", lower_sorted, 7, 1, 1, 2, 0, "axis:i k:i"},
    {"TopK", lower_sorted, 10, 2, 2, 2, 0, "axis:i"},
    {"TopK", lower_sorted, 11, 2, 2, 2, 0, "axis:i largest:b sorted:b"},
    {"Transpose", lower_transpose, 7, 1, 1, 1, 0, "perm:I"},
    {"Trilu", lower_trilu, 14, 1, 2, 1, 0, "upper:b"},
    {"Unsqueeze", lower_squeeze, 7, 1, 1, 1, 0, "axes:I"},
    {"Unsqueeze", lower_squeeze, 13, 2, 2, 1, 0, ""},
    {"Where", lower_where, 9, 3, 3, 1, 0, ""},
};
#define N_FORMS (sizeof operators / sizeof *operators)

/* Those of the table's operators that have kinks. */
static const kinked_operator *
kinked_operators(size_t *n)
{
  kinked_operator *all = NULL;
  *n = 0;
  for (size_t f = 0; f < N_FORMS; f++) {
    bool again = f > 0 && strcmp(operators[f].name, operators[f - 1].name) == 0;
    if (again || operators[f].kinks == 0)
      continue;
    all = grow(all, *n, sizeof *all);
    all[(*n)++] = (kinked_operator){operators[f].name, operators[f].kinks};
  }
  return all;
}

static const char *const own_operators[] = {"Clamp", "Huber", "Lift", "Sorted"};

typedef void (*lowering)(builder *b);

static bool
is_among(lowering lower, const lowering *list, size_t n)
{
  bool known = false;
  for (size_t i = 0; i < n; i++)
    known = known || lower == list[i];
  return known;
}

#define AMONG(lower, ...)                                                                                              \
  is_among(lower, (const lowering[]){__VA_ARGS__}, sizeof((lowering[]){__VA_ARGS__}) / sizeof(lowering))

/* The node's form: of its operator's the last that is not newer than the model. */
static size_t
find_form(const builder *b)
{
  size_t found = NONE;
  for (size_t f = 0; f < N_FORMS; f++)
    if (strcmp(operators[f].name, b->node->op) == 0 && operators[f].since <= b->opset)
      found = f;
  need(found != NONE, "the operator is not supported, or newer than the model's operator set");
  bool own = false;
  for (size_t i = 0; i < sizeof own_operators / sizeof *own_operators; i++)
    own = own || strcmp(b->node->op, own_operators[i]) == 0;
  bool training = AMONG(operators[found].lower, lower_adagrad, lower_adam, lower_momentum);
  bool qonnx = AMONG(operators[found].lower, lower_quant, lower_bipolar);
  bool runtime = operators[found].lower == lower_quantized_lstm, learning = operators[found].lower == lower_scaler;
  need(b->node->own == own && b->node->training == training && b->node->qonnx == qonnx && b->node->runtime == runtime
           && b->node->learning == learning,
       "the operator is of another domain");
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

/* Negated constants are for these operators alone. */
static void
check_signs(const builder *b, lowering lower)
{
  bool known =
      AMONG(lower, lower_arithmetic, lower_product, lower_negation, lower_identity, lower_flatten, lower_reshape,
            lower_squeeze, lower_transpose, lower_lift, lower_gather, lower_repeat, lower_einsum);
  for (size_t i = 0; i < b->node->n_in; i++)
    need(known || !b->in[i].negated, "an input is a negated constant, which this operator does not take");
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
check_masks(const builder *b, lowering lower)
{
  bool known = AMONG(lower, lower_identity, lower_flatten, lower_reshape, lower_squeeze, lower_transpose, lower_repeat,
                     lower_where, lower_cast, lower_cast_like, lower_attention, lower_pad)
               || strcmp(b->op, "Add") == 0 || lower == lower_extremum
               || (lower == lower_whole && strchr("EGL", b->op[0]) != NULL);
  for (size_t i = 0; i < b->node->n_in; i++) {
    need(known || !is_odd(&b->in[i]) || is_neutral(b, i),
         "an input holds an infinite number or NaN, which this operator does not take");
    need(!b->in[i].undefined || AMONG(lower, lower_cast, lower_cast_like, lower_where)
             || strcmp(b->op, "Identity") == 0,
         "an input has entries that are NaN, of lines that were minus infinity throughout before a Softmax");
    need(b->in[i].excluded == NULL || lower == lower_where || strcmp(b->op, "Softmax") == 0 || strcmp(b->op, "Add") == 0
             || strcmp(b->op, "ReduceMax") == 0 || (lower == lower_whole && strchr("EGL", b->op[0]) != NULL)
             || AMONG(lower, lower_cast, lower_cast_like, lower_pad) || strcmp(b->op, "Identity") == 0,
         "an input has entries that are minus infinity");
  }
}

/* The batch may be on any axis of what these operators take, whose output has the same axes. */
static bool
keeps_batch(const builder *b, lowering lower)
{
  return AMONG(lower, lower_clip, lower_hard, lower_sigmoid, lower_function, lower_gate, lower_elu, lower_power,
               lower_softmax, lower_identity, lower_dropout, lower_negation, lower_pool, lower_convolution,
               lower_rounded, lower_surrogate)
         || (lower == lower_relu && b->op[0] != 'P');
}

/* Or of these, which say where it is then. Others have it first. */
static void
check_batch(const builder *b, lowering lower)
{
  bool any =
      keeps_batch(b, lower)
      || AMONG(lower, lower_arithmetic, lower_product, lower_flatten, lower_reshape, lower_squeeze, lower_transpose,
               lower_slice, lower_split, lower_gather, lower_gather_elements, lower_gather_rows, lower_larger,
               lower_repeat, lower_shape, lower_concat, lower_where, lower_cast, lower_cast_like, lower_sum, lower_lstm,
               lower_gru, lower_rnn, lower_sorted, lower_einsum, lower_whole, lower_scatter, lower_stated_function,
               lower_threshold, lower_angle, lower_running_product, lower_one_hot, lower_adagrad, lower_adam,
               lower_momentum, lower_running, lower_hardmax, lower_compress, lower_tensor_scatter, lower_quantize,
               lower_dequantize, lower_quant, lower_bipolar, lower_integer_convolution, lower_integer_product,
               lower_dynamic, lower_reverse, lower_scaler);
  for (size_t i = 0; i < b->node->n_in; i++)
    need(any || b->in[i].name == NULL || !is_batch(b, &b->in[i]) || (b->in[i].at == 0 && b->in[i].inner == 0),
         "an input has the batch on another axis than the first, or merged with others");
}

/* Does the operator make an activation even of constants alone? These do, but for what is computed of integers, or of
 * floats that are no parameters. Some take one in any case, and their others may be computed. */
static bool
lifts(const builder *b, lowering lower)
{
  bool alone = true,
       first = AMONG(lower, lower_batch, lower_layer, lower_groups, lower_root_mean, lower_convolution, lower_pool,
                     lower_relu, lower_clip, lower_hard, lower_huber, lower_gate, lower_elu, lower_softmax, lower_pad,
                     lower_resize, lower_grid, lower_lstm, lower_gru, lower_rnn, lower_sorted, lower_global_maximum,
                     lower_hardmax, lower_compress, lower_quantize, lower_quantized_lstm, lower_quant, lower_bipolar,
                     lower_dynamic, lower_deform, lower_reverse, lower_scaler)
               || strcmp(b->op, "Gemm") == 0 || (lower == lower_power && !of_power(b) && !of_integers(b));
  for (size_t i = 0; i < b->node->n_in; i++)
    alone = alone && b->in[i].name != NULL && b->in[i].constant != NULL;
  bool computes =
      lower == lower_arithmetic || lower == lower_power || lower == lower_concat || strcmp(b->op, "Sqrt") == 0;
  bool computed = computes && (of_integers(b) || (lower == lower_power ? of_power(b) : of_floats(b)));
  computed = computed || (lower == lower_extremum && is_float(&b->in[0]));
  const value *x = &b->in[0];
  bool mask = lower == lower_pad && is_float(x) && (is_odd(x) || (b->in[2].name != NULL && is_odd(&b->in[2])));
  return (first && !mask)
         || (alone && !computed
             && AMONG(lower, lower_arithmetic, lower_product, lower_function, lower_sigmoid, lower_power, lower_mean,
                      lower_extremum, lower_einsum, lower_concat, lower_sum, lower_rounded));
}

/* Constants that are computed when the network is built: of integers, or of floats that are no parameters. Is the node one? */
static bool
lower_computed(builder *b, lowering lower)
{
  bool arithmetic = lower == lower_arithmetic, root = strcmp(b->op, "Sqrt") == 0;
  if ((arithmetic || lower == lower_negation) && of_integers(b))
    lower_whole(b);
  else if (lower == lower_power ? of_power(b) : (arithmetic || root) && of_floats(b))
    lower_floats(b);
  else
    return false;
  return true;
}

/* The node, whose inputs are found. */
static void
lower_form(builder *b, size_t f)
{
  bool added = strcmp(b->op, "Add") == 0;
  for (size_t i = 0; i < b->node->n_in; i++)
    added = added || b->in[i].added;
  check_attributes(b, operators[f].attributes);
  check_signs(b, operators[f].lower);
  check_masks(b, operators[f].lower);
  leave_out_neutral(b);
  check_held(b);
  note_shared(b);
  if (lifts(b, operators[f].lower))
    lift_constant(b);
  check_batch(b, operators[f].lower);
  if (adds_integers(b))
    lower_integer_sum(b);
  else if (!lower_computed(b, operators[f].lower))
    operators[f].lower(b);
  if (keeps_batch(b, operators[f].lower)) {
    b->out.at = b->in[0].at;
    b->out.inner = b->in[0].inner;
  }
  b->out.added = added && b->out.excluded != NULL;
  keep_held(b);
  b->shared = false;
  need(!is_batch(b, &b->out) || (b->out.rank > b->out.at && (b->out.inner > 0 || b->out.dims[b->out.at] == 1)),
       "samples would be mixed");
}

static void
lower_within(builder *b)
{
  lower_form(b, find_form(b));
}

static void
lower_node(builder *b)
{
  const node *n = b->node;
  b->op = n->op;
  if (is_flow(n)) {
    lower_flow(b);
    return;
  }
  need(n->n_bodies == 0, "it holds a graph");
  size_t f = find_form(b);
  need(n->n_in >= operators[f].least && n->n_in <= operators[f].most && n->n_out > 0 && n->n_out <= operators[f].outputs
           && (*n->out[0] != '\0' || AMONG(operators[f].lower, lower_lstm, lower_gru, lower_rnn, lower_quantized_lstm)),
       "an unsupported number of inputs or outputs");
  b->in = allocate(n->n_in + MOST_OMITTED, sizeof *b->in);
  for (size_t i = 0; i < n->n_in; i++) {
    const value *v = *n->in[i] != '\0' ? find(b, n->in[i]) : NULL;
    need(v != NULL || (*n->in[i] == '\0' && i >= operators[f].least), "an input is not computed before it");
    if (v != NULL)
      b->in[i] = *v;
  }
  lower_form(b, f);
  if (!n->promoted && *n->out[0] != '\0')
    define(b, n->out[0]);
}

const operator_set onnx_operators = {lower_node,   lower_within,  kinked_operators, dequantize_weights,
                                     tensors_read, &smooth_steps, rough_places};
