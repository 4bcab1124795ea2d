/* The operator table: to add an operator is to add one file here and its name to the list in
 * meson.build. A file says, for each operator it holds, the name in ONNX, how a node
 * lowers to steps (attributes, shape rule, value; its derivative follows from the steps' kinds),
 * and D^AD at each kink under each known profile. The Clarke set at a kink of a pointwise
 * function of one variable is the interval between the slopes on its sides, so it needs no
 * saying.
 *
 * Some operators are called in programs only (program/code.h): order statistics but maxima.
 * They have no `lower`, and in a file their names are not supported. */
#ifndef CLARKE_OP_OPERATOR_H
#define CLARKE_OP_OPERATOR_H

#include "op/step.h"

/* The domain of operators that ONNX does not have: the function that another one has, with proxies of its own. */
#define CLARKE_DOMAIN "clarke"

/* ONNX Runtime's. */
#define CLARKE_DOMAIN_OF_RUNTIME "com.microsoft"

/* QONNX's. Files may have older names of it. */
#define CLARKE_DOMAIN_OF_QONNX "qonnx.custom_op.general"

/* ONNX's domain of machine learning. */
#define CLARKE_DOMAIN_OF_LEARNING "ai.onnx.ml"

/* No index map is longer: a small file must not ask for unbounded memory. */
#define CLARKE_MAX_MAP (((size_t)1 << 26) - 1)

/* What a node of the operator may have from an operator set on, until the next form's. */
typedef struct {
  int64_t since; /* 0: no such form */
  size_t min_in, max_in, max_out;
  const char *attributes; /* "name:t ...", t as i (int), b (int, 0 or 1), f (float), s (string), S (words), I (ints); NULL: none */
} clarke_form;

#define CLARKE_MAX_FORMS 3

typedef struct {
  clarke_graph *graph;
  const clarke_op *op;
  const clarke_form *form; /* the operator's, of the opset */
  const clarke_model_node *node;
  size_t place; /* of the node in the file */
  int64_t opset;
  size_t n_in;
  size_t *in; /* values; CLARKE_NONE for an omitted optional input */
  const char *of; /* of a node within another one: that one's operator; else NULL */
  bool others;    /* an output behind the first is read by some node, or is the model's */
  size_t *out; /* of an operator with several outputs: their values; CLARKE_NONE: the last value is the first */
} clarke_lowering;

/* How programs call a pointwise operator: NAME(x, constants...). */
typedef struct {
  const char *name;              /* relu6 */
  const char *constants;         /* of the operator's pieces, "0 6", or their defaults */
  size_t n_required, n_optional; /* how many of them a call gives, or may leave out */
} clarke_spelling;

#define CLARKE_MAX_SPELLINGS 4

/* The profiles that are columns of the table. What a newer version's column does not say is as in the version before it
 * (profile.c). */
typedef enum {
  CLARKE_PYTORCH_2_13, CLARKE_PYTORCH_2_14, CLARKE_JAX_0_10, CLARKE_TENSORFLOW_2,
  CLARKE_N_PROFILES,
} clarke_known_profile;

/* What an operator takes of activations whose batch axis is not the first: nothing; any, its output has the same axes; any. */
typedef enum { CLARKE_BATCH_FIRST, CLARKE_BATCH_KEPT, CLARKE_BATCH_ANY } clarke_batch_rule;

struct clarke_op {
  const char *name; /* as ONNX and profiles have it */
  clarke_form forms[CLARKE_MAX_FORMS]; /* by `since`; outputs after the first may be named, not read */
  clarke_status (*lower)(clarke_lowering *low, clarke_error *err); /* NULL: in programs only */
  clarke_batch_rule batch;
  bool takes_negated; /* may an input be a negated constant? */
  bool may_omit;      /* may its first output have no name, where others have? */
  bool takes_odd;     /* may a constant among the inputs hold infinite numbers, or NaN? */
  bool multiplies;    /* is it a convolution or a matrix product, whose multiply-adds are what counters of them count (lib/cost)? */
  const char *domain; /* of the name; NULL: ONNX's own */
  size_t n_kinks;
  /* By profile: a rational, "left" or "right"; NULL where no rule is known. */
  const char *proxy[CLARKE_N_PROFILES][CLARKE_MAX_KINKS];
  /* For programs: pieces fills kinks and coefficients (all zero to begin with, n_kinks set to the
   * operator's) from the spelling's constants, and says what is wrong with them, or NULL. */
  clarke_spelling spelling[CLARKE_MAX_SPELLINGS];
  const char *(*pieces)(clarke_pieces *pieces, mpq_t *constant);
  /* An order statistic has a tie rule by profile: "first", "last", "stable" or "mean"; NULL: not known. */
  bool order;
  bool first_alone; /* of one that is made of many comparisons: they make a derivative of a sort by the rule `first` alone */
  const char *tie[CLARKE_N_PROFILES];
  const char *hint; /* of a statistic whose rule a file does not tell: which functions have which; else NULL */
};

/* The operator that programs call by this name, with the spelling; NULL when there is none. */
const clarke_op *clarke_operator_spelled(const char *name, const clarke_spelling **spelling);

/* NULL when there is none; all of them in turn (NULL past the end). */
const clarke_op *clarke_operator_find(const char *name);
const clarke_op *clarke_operator_at(size_t i);

#endif
