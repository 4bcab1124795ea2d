/* The checker: all that `clarke-check` does, in C and GMP alone. It includes nothing from the rest
 * of the library and never searches: it reads a proof (docs/proof-format.md) line by line, reads
 * the files the statement names, evaluates the network (docs/operators.md), and checks each claim
 * where it stands. Values are rationals or, behind a transcendental operator, intervals of rationals,
 * computed when they are asked for; most of the pieces on which they lie are decided without, by
 * integers near them (near values, in convolution.c).
 * Convolutional networks add convolution.* and window.*, normalizations normalization.*. A proof may speak of a program
 * (docs/programs.md) instead; the files about programs, program*, come last.
 */
#ifndef CLARKE_KERNEL_H
#define CLARKE_KERNEL_H

#include "allocate.h"
#include "bytes.h"
#include "elementary.h"
#include "limit.h"
#include "parallel.h"
#include "sha256.h"

#define MAX_RANK 8
#define MAX_WINDOW 126 /* entries */
#define GUARD 128      /* bits of near values beyond those of intervals */

/* ---- tensors.c, onnx.c (with protobuf.c): files of numbers */

typedef struct {
  char *name;
  size_t type, rank, dims[MAX_RANK], count;
  bool real, initializer; /* of a floating-point type (else integers); of the model */
  /* What it is read as, one of three: a parameter, which steps hold and directions move; a number that was read
   * when the network was built, and so must not move (a bound of Clip, the value of Pad); a statistic of a
   * BatchNormalization. wrt: a parameter in wrt. */
  bool weight, number, statistic, wrt;
  rational *value;    /* row-major */
  char *text;         /* of an attribute that is a string */
  bool of_tensor;     /* an attribute that is a tensor */
  rational *move;     /* wrt: the direction at hand, in the network's */
  rational *gradient; /* wrt: what gradient() computed, in the network's */
} tensor;

/* Types of numbers, by their number in ONNX. */
enum { FLOAT = 1, INT64 = 7, BOOL = 9, DOUBLE = 11, UINT64 = 13, N_DTYPES = 17 };
typedef struct {
  const char *name[2];              /* in .npy; in safetensors */
  size_t width, exponent, fraction; /* in bytes, 0: not supported; bits, of a floating-point type */
  bool negative;                    /* has negative numbers */
  unsigned field;                   /* of TensorProto, beside raw_data */
} dtype;
extern const dtype dtypes[N_DTYPES];

/* Decodes raw little-endian data that must fit t's shape; every number must be finite. */
void tensor_fill(tensor *t, size_t type, bytes data);
/* Reads an .npy (one tensor, named x), a stored .npz or a safetensors file. */
tensor *tensors_read(bytes file, size_t *n);
/* Of a batch, an .npy or .npz: x, and y (the target) if it is there. */
const tensor *batch_read(bytes file, const tensor **target);

typedef struct {
  char *op, *name, **in, **out;
  size_t n_in, n_out, n_attributes;
  tensor *attributes; /* without values: a string, text */
} node;

typedef struct {
  char *name;
  bool shaped;
  size_t type, rank, *dims; /* 0: symbolic */
} port;

typedef struct {
  uint64_t opset;
  size_t n_nodes, n_tensors, n_inputs, n_outputs;
  node *nodes;
  tensor **tensors; /* initializers */
  port *inputs, *outputs;
} model;

void onnx_read(model *m, bytes file);

/* ---- network.c: the network as steps */

/* A factor, coef * weight: weight is entry `at` of w, or 1 when w is NULL. A source, x: feature `from`
 * of an earlier step's output; 1 when step is NONE; nothing, the whole term being left out, when
 * it is PADDING. A term is their product. */
typedef struct {
  const rational *coef;
  tensor *w;
  size_t at;
} factor;
typedef struct {
  size_t step, from;
} source;
typedef struct {
  factor by;
  source x;
} term;
#define PADDING (NONE - 1)

/* What a step computes, for each sample, feature f from its terms: term i < width has factor i of row
 * factor_row[f] and source i of row source_row[f]. The filters of a convolution are rows of
 * factors, the places where it is applied rows of sources.
 *   INPUT
 *   LINEAR     the sum of width terms; with `divide` by their weights
 *   PIECEWISE  piece[p][0] + piece[p][1] x + piece[p][2] x^2 on piece p, between at[p-1] and at[p],
 *              x being the term's; when it has a weight, that times x on piece 0
 *   SOFTMAX    of the lines of `length` features, `stride` apart; or its logarithm
 *   OVER_ROOT  the term's x divided by the square root of its weight + at[0]
 *   WINDOW     the largest x of width terms
 *   NORMALIZE  in such a line, which has all samples' if it `couples` (stride is then 1): the term's x less their mean,
 *              divided by the root of their variance + at[0] */
typedef enum { INPUT, LINEAR, PIECEWISE, SOFTMAX, OVER_ROOT, WINDOW, NORMALIZE } kind;

typedef struct {
  kind kind;
  const node *node;                                      /* NULL: the input */
  size_t place;                                          /* of the node */
  size_t n, width;                                       /* features; terms for each */
  size_t n_factors, n_sources, *factor_row, *source_row; /* how many of all rows; of each feature */
  factor *factors;
  source *sources;
  bool divide, log, copy, varies, couples; /* copy: of entries and zeros; varies: with the parameters in wrt */
  size_t length, stride;                   /* of lines, or 0 */
  size_t n_kinks, number[2];               /* number: of the kink in docs/operators.md */
  rational at[2], piece[3][3];
  interval *root;          /* of OVER_ROOT: what multiplies x, for each entry of the weight's tensor */
  integer *m, norm, slack; /* of near values, in convolution.c */
  unsigned long shift;
} step;

/* Where what is computed is more, or less, than ONNX and the stored numbers say. */
typedef enum { SIXTH, DEFAULTS, UNBOUNDED, MINIBATCH, N_READINGS } reading;
extern const char *const readings[N_READINGS]; /* in words */

typedef struct {
  bool read[N_READINGS];
  const port *input;
  bool batched; /* the model's tensors carry the batch as their first axis */
  /* together: samples in one run of the model, the length of that axis: batch; or 1, where the input declares 1 (or no
   * such axis) and each sample is a run of its own. */
  size_t batch, together, n_steps, n_tensors;
  size_t entries, products; /* what it has of LIMIT_ENTRIES, LIMIT_PRODUCTS */
  size_t apart; /* of entries [feature * batch + sample] that depend on each other, and are computed together:
                   batch, those of a sample; or 1, all, if a step couples the samples */
  step *steps;
  tensor **tensors; /* the model's */
  size_t n_wrt;     /* the parameters in wrt, end to end */
  rational *move, *gradient;
  size_t output, n_outputs, *map; /* a step; its feature for each of the output's */
  size_t rank, dims[MAX_RANK];    /* of the output for a batch of one */
} network;

void network_build(network *net, const model *m, const tensor *x);
/* Operator i of the table, sorted by name, and its number of kinks; NULL past the end. */
const char *network_operator(size_t i, size_t *kinks);

/* ---- evaluate.c: values, tangents, gradients; [step][feature * batch + sample] in all arrays. Values and
 * tangents are computed when they are asked for, and what they need with them. */

/* An entry of a step that is at a kink, or a window with n > 1 options. at: of a kink, its
 * argument's entry in step `from`; of a window, the first entry of each option; tied: how many entries
 * each option has; last: the option of the last. An array of slopes has for a kink its slope, for a
 * window what multiplies each option's derivative, from [slope]. */
typedef struct {
  size_t step, entry, kink, from, n, *at, *tied, last, slope;
  rational left, right; /* of a kink: the slopes on its sides */
} touch;

#define TOUCHED ((size_t)1 << 32)

/* The network at the stored weights. */
typedef struct {
  network *net;
  enum { LOSS_SUM, LOSS_MSE, LOSS_CE } loss;
  const tensor *x, *target;
  const interval ***y; /* outputs; NULL: not computed. Read by value_at */
  size_t **place;      /* of a PIECEWISE argument: its piece; of a window: the place of its first tied
                          entry; or TOUCHED + the touched kink's number (until all are known, + the piece left
                          of the kink, or that place) */
  size_t n_touched, n_slopes;
  touch *touched;
  size_t last_window;     /* of the WINDOW steps; 0: none, and these are not computed */
  uint8_t **degree;       /* with no sides given, as in cell */
  size_t **same, *n_same; /* read by same_as; how many numbers each sample (or all, coupled) has */
  bool **identified;      /* is same known, of the step and sample? */
} point;

void point_evaluate(point *p); /* finds the touched kinks */
const interval *value_at(const point *p, size_t s, size_t e);

/* A choice of sides and what follows from it. */
typedef struct {
  int *side;        /* of each touched kink: -1, 1, or 0 when none is given; an option + 1 */
  bool *flat;       /* its argument is constant: the side does not matter */
  rational *slope;  /* of all touched kinks and windows */
  uint8_t **degree; /* of each output in the parameters: 0 constant, 1 affine, 2 anything */
  size_t open;      /* the first touched kink with neither a side nor flat; or NONE */
} cell;

cell cell_new(const point *p);
/* Fills flat, slope, degree and open from side. In a tree an affine argument with derivative zero
 * is constant too. */
void cell_settle(cell *c, const point *p, bool tree);

/* Tangents of all outputs along the tensors' moves, under the slopes; both must stay as they are. */
typedef struct {
  const point *p;
  const rational *slope;
  interval ***x; /* as y; read by tangent_at */
} motion;

motion tangents(const point *p, const rational *slope);
const interval *tangent_at(const motion *d, size_t s, size_t e);
void tangents_free(motion *d);
void tangent_loss(interval *sum, const motion *d);
/* The gradient of the loss (k == NONE; when a is not 0 without that of samples in which no kink is touched), of the argument
 * of touched kink k, or of the difference of options a and b of touched window k, into the network's; one that is not
 * rational is a failure. Under a cell (or NULL), settled, of those slopes, nothing comes from what is constant. */
void gradient(const point *p, const rational *slope, const cell *c, size_t k, size_t a, size_t b);

/* ---- proof.c: checks the proof with its inputs in folder data (NULL: the proof's own), and
 * writes the statement when it holds. */
void clarke_check_proof(const char *path, const char *data);

/* ---- show.c: prints what was read of the model and the batch (NULL: none), which must fit it. */
void clarke_show(const char *model_path, const char *batch_path);

/* Reading lines: a word, a rational, a number, a decoded name; a line of that keyword, if it is the
 * next, or else a failure; a file by `NAME HASH`. */
extern char *words, *words_end; /* what is left of the line */
extern FILE *account;           /* the statement in words */
const char *next_word(void);
const char *kink(size_t k); /* for messages; valid until the next call */
void next_rational(rational *q);
size_t next_number(void);
char *next_name(void);
bytes next_file(const char *folder, const char *what);
bool line_is(const char *keyword);
void next_line(const char *keyword);
void last_line(void);

/* ---- program_proof.c: the lines of the statement from `program` on; the evidence (verdict is
 * a word of the three), and the statement written. */
void check_program(const char *folder, const char *verdict);

#endif
