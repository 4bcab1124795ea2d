/* Operators: what a node may be, and what makes its steps. They are handed to what reads a network, so that it links those
 * alone that it is handed. */
#ifndef CLARKE_ONNX_OPERATORS_H
#define CLARKE_ONNX_OPERATORS_H

#include "check/files/onnx.h"
#include "check/kernel/steps.h"

struct builder;

typedef void (*lowering)(struct builder *b);

/* A form of an operator: what a node of it may have from operator set `since` on, until the next form's. An attribute is
 * NAME:T, T its type: an integer i, integers I, a float f, floats F, a string s, words S, a tensor t. */
typedef struct {
  const char *name;
  lowering lower;
  uint64_t since;
  size_t least, most, outputs, kinks; /* inputs; outputs at most; kinks */
  const char *attributes;
} operator_form;

/* What holds of all nodes of one lowering. */
enum {
  TAKES_NEGATED = 1 << 0,      /* its inputs may be negated constants; */
  TAKES_ODD = 1 << 1,          /* or infinite, or NaN: it moves entries; */
  TAKES_EXCLUDED = 1 << 2,     /* or minus infinity, of activations; */
  TAKES_UNDEFINED = 1 << 3,    /* or NaN, of such */
  COMPARES = 1 << 4,           /* all these, where it compares */
  KEEPS_BATCH = 1 << 5,        /* the batch may be on any axis, and is there in its output */
  PLACES_BATCH = 1 << 6,       /* or on any, and it says where it is then */
  LIFTS_FIRST = 1 << 7,        /* of constants it makes an activation, its first input being one; */
  LIFTS_UNCOMPUTED = 1 << 8,   /* the same, but where it is computed; */
  LIFTS_ALONE = 1 << 9,        /* the same, where all are constants that are not computed */
  COMPUTES_INTEGERS = 1 << 10, /* constants of integers are computed; */
  COMPUTES_FLOATS = 1 << 11,   /* of floats that are no parameters; */
  LISTS = 1 << 12,             /* both, as a list */
  KEEPS_FLOATS = 1 << 13,      /* floats that are no parameters stay constants; */
  KEEPS_MASK = 1 << 14,        /* those with minus infinity do */
  OMITS_OUTPUTS = 1 << 15,     /* the first of its outputs may be left out */
  OF_TRAINING = 1 << 16,       /* it is of the domain of optimizers, */
  OF_QONNX = 1 << 17,          /* of QONNX's, */
  OF_RUNTIME = 1 << 18,        /* of ONNX Runtime's, */
  OF_LEARNING = 1 << 19,       /* of ai.onnx.ml */
  COMPUTES_POWERS = 1 << 20    /* powers of floats that are no parameters are computed */
};

typedef struct {
  lowering lower;
  unsigned traits;
} operator_rule;

typedef struct {
  const operator_form *forms;
  size_t n_forms;
  const operator_rule *rules; /* lowerings that are not here have no traits */
  size_t n_rules;
} operator_table;

/* Numbers other than floats that parameters or inputs are: constants that nodes compute when the network is built, integers and truth
 * values of activations. */
typedef struct {
  bool (*of_integers)(
      const struct builder *b); /* are all inputs constants of integers, or of floats that are no parameters? */
  bool (*of_floats)(const struct builder *b);
  bool (*of_power)(const struct builder *b); /* is it a power of these that is computed? */
  bool (*is_float)(const graph_value *v);    /* is it such a constant? */
  void (*integers)(struct builder *b);       /* make the node of such */
  void (*floats)(struct builder *b);
  void (*check_held)(const struct builder *b); /* may the operator take what its inputs hold? */
  void (*keep_held)(struct builder *b);        /* what is moved holds the same */
  bool (*adds)(const struct builder *b);       /* is it a sum of integers of activations? */
  void (*sum)(struct builder *b);              /* makes it */
} number_rules;

#define N_TABLES 2

/* What knows operators, and formats of parameters. What is NULL the reader does not have, and refuses. */
typedef struct operator_set {
  const operator_table *tables[N_TABLES]; /* no operator is in two */
  const number_rules *numbers;
  bool (*flow)(struct builder *b);     /* makes a node that holds graphs, if it is one */
  bool (*composed)(struct builder *b); /* makes a node of others, if it is to be made so; its inputs are there */
  void (*types)(model *m);             /* do the values' types fit? */
  /* Constants that nodes compute when the model is read become its initializers. */
  void (*fold)(model *m);
  tensor *(*parameters)(bytes file, size_t *n, name_index *names); /* reads files of parameters */
  const struct smooth_rules *smooth;                               /* of steps that they make */
  void (*near)(struct point *p);                                   /* what is near its values (near.h) */
  void (*rough)(struct point *p, bool *open);                      /* of such steps what doubles tell (near_rough.h) */
} operator_set;

#endif
