/* A recorded step, node by node: every recorded output against the exact operator on its recorded inputs, every recorded
 * gradient against the exact derivative on the recorded gradients of those who read it (docs/certify.md). Each has the bound
 * of rounding.h on one node alone, so that nothing piles up from layer to layer.
 *
 * What was recorded of a node takes the place of what was computed, exactly; a recorded subnormal counts as off by itself, for
 * it may have been read as zero. Where something was not recorded its bound goes on. */
#ifndef CLARKE_TRACE_CERTIFY_H
#define CLARKE_TRACE_CERTIFY_H

#include "trace/certify/certificate.h"
#include "trace/bound/rounding_backward.h"
#include "network/derive/slopes.h"
#include "format/run.h"
#include "format/tensors.h"

typedef struct {
  /* asked: all outlive it */
  const clarke_graph *g;
  clarke_constants *constants; /* made, or begun: then the exact pass makes them */
  const clarke_tensor *x;
  const clarke_profile *profile;
  const clarke_loss *loss;
  mpq_srcptr scale;       /* what the loss was multiplied by */
  clarke_rounding by;
  clarke_tensors *trace; /* float32 ones may be packed, when doubles may decide */
  clarke_tensors *gradients; /* likewise */
  const char *trace_file, *gradients_file; /* in messages */
  bool sieved;             /* may doubles decide (sieve.h)? */
  bool branched;           /* are the branches asked for that the record took? Else certificates are all that doubles find */
  const clarke_run_statistics *statistics; /* that the step brought up to date: n_statistics */
  size_t n_statistics;
  bool has_loss;          /* the loss that was recorded, without the factor on it */
  double recorded_loss;
  const char *log_softmax; /* the node between the network's output and the loss; NULL: there is none */
  /* found */
  bool by_doubles;        /* doubles decided all: of what follows the certificates are made, and where they are asked for the branches */
  clarke_forward pass;    /* along the record */
  clarke_slopes slopes;   /* AD's there */
  uint32_t **winner;      /* by doubles, by step, of MAX: the first of the largest of each window, a feature of the operand */
  double **recorded;      /* by value: features x samples, row-major; NULL: not recorded */
  size_t n, capacity;
  clarke_certificate *certificate; /* outputs in order, gradients from the loss back, parameters */
  bool loss_shown;        /* by doubles: the loss that was recorded follows from outputs that were not, which it is the sum of */
  /* at work */
  clarke_roundoff rounded;
  clarke_roundback back;
  clarke_matrix *grad;    /* by value; of constants in their own entries */
  bool *seen;             /* by tensor of the trace */
  bool by_loss;           /* of some output nothing but the loss was recorded behind it */
  bool *partial;          /* by value: of a constant, does not all that was made of it join its gradient? */
} clarke_certify;

void clarke_certify_init(clarke_certify *c);
void clarke_certify_clear(clarke_certify *c);

/* Fills what is found. A tensor of another shape than its node's is an error. */
clarke_status clarke_certify_run(clarke_certify *c, clarke_error *err);

/* The weakest answer of all; what is followed counts as within the bound. */
clarke_certainty clarke_certify_answer(const clarke_certify *c);

/* How many of the tensors were recorded: all but those that are followed. */
size_t clarke_certify_recorded(const clarke_certify *c);

/* --- one file each --- */

/* certify_forward.c: the input; constants that are rearranged; the recorded outputs, in `recorded`, where they are not yet. */
clarke_status clarke_certify_begin(clarke_certify *c, clarke_error *err);
clarke_status clarke_certify_constants(clarke_certify *c, clarke_error *err);
clarke_status clarke_certify_collect(clarke_certify *c, clarke_error *err);
/* certify_backward.c: the loss's gradient in the network's output, alone: and nothing is to be handed on. */
clarke_status clarke_certify_seed(clarke_certify *c, bool alone, clarke_error *err);
/* certify_judge.c: a value's gradient m, beside its record, which takes its place: *error (malloc) is what that is off by, NULL where there is
 * none. A parameter's, whose sum is s: m stays as it is. conv: does a convolution with a kernel of several entries read it? */
clarke_status clarke_certify_gradient(double **error, clarke_certify *c, size_t v, const char *op, clarke_matrix *m,
                                      clarke_error *err);
clarke_status clarke_certify_parameter(clarke_certify *c, size_t q, const clarke_matrix *m, const clarke_rounding_sum *s, bool conv,
                                       clarke_error *err);

/* certify_forward.c: outputs of activations, and of constants that are rearranged. */
clarke_status clarke_certify_forward(clarke_certify *c, clarke_error *err);
/* certify_backward.c */
clarke_status clarke_certify_backward(clarke_certify *c, clarke_error *err);
/* certify_constants.c: gradients of constants that were moved or cast, those first that were made last, each by what was recorded
 * behind it. Has the trace the gradient of one that another is made of? */
clarke_status clarke_certify_constants_back(clarke_certify *c, clarke_error *err);
bool clarke_certify_has_chain(const clarke_certify *c);
/* A gradient joins the whole (no rows: it is 0) of `count` entries: its entry f is the whole's entry map[f] (NULL: f). */
clarke_status clarke_certify_join(clarke_matrix *whole, size_t count, const clarke_matrix *part, const size_t *map, clarke_error *err);
/* certify_loss.c: the log-softmax that the loss begins with, both ways. */
clarke_status clarke_certify_log_softmax(clarke_certify *c, clarke_error *err);
/* certify_statistics.c: running statistics of normalizations, behind the forward pass. x: NULL, or by value recorded numbers of what is
 * normalized, features x samples; then doubles decide, or *open is set. */
clarke_status clarke_certify_statistics(bool *open, clarke_certify *c, const float *const *x, clarke_error *err);
/* Buffers that the step changed, or of which it has one number alone, and that no update tells. */
clarke_status clarke_certify_untold(clarke_certify *c, clarke_error *err);
/* Is the buffer a mean, a variance or a count of some update? */
bool clarke_certify_is_told(const clarke_certify *c, const char *buffer);
/* The BatchNormalization of that name, which normalizes over the batch: all samples together, or in a single run. NULL: there is none,
 * or there are several. */
const clarke_step *clarke_certify_normalization(const clarke_certify *c, const char *node);
/* certify_windows.c: is each entry of the value known, without any error? */
bool clarke_certify_is_known(const clarke_certify *c, size_t v);
/* certify_windows.c: the entry of a window that is the first of the largest: a feature of the operand, which was recorded, or is known. */
size_t clarke_certify_winner(const clarke_certify *c, const clarke_step *s, size_t e);
/* certify_windows.c: recorded winners. Slopes go along them where they are in their windows. */
clarke_status clarke_certify_windows(clarke_certify *c, clarke_error *err);

/* --- certify_recorded.c: what was recorded, and what is judged by it --- */

/* A new certificate at the end; NULL when out of memory. */
clarke_certificate *clarke_certify_add(clarke_certify *c, clarke_part part, const char *name, const char *op, clarke_error *err);

/* The trace's tensor PART/NAME, noted as seen; NULL: there is none. It may be packed while the sieve is at work. */
clarke_tensor *clarke_certify_find(clarke_certify *c, const char *part, const char *name);
/* Is it there? It is not noted as seen. */
bool clarke_certify_has(const clarke_certify *c, const char *part, const char *name);
/* Is that decoded, if it is there, from now on. */
clarke_status clarke_certify_unpack(clarke_certify *c, const char *part, const char *name, clarke_error *err);

/* Judges a tensor of the trace by the matrix, which is given its numbers afterwards; error (malloc) is what each is off by
 * then, row-major. conv: of a convolution with a kernel of several entries. */
clarke_status clarke_certify_replace(double **error, clarke_certify *c, clarke_certificate *to, const clarke_tensor *t,
                                     clarke_matrix *m, const double *bound, bool conv, clarke_error *err);

/* Is the step the division of a mean over everything, which is written as a sum of parts, and of which nothing was recorded? */
bool clarke_certify_is_loss(clarke_certify *c, size_t step);

/* Is the value, of which no output was recorded, made of entries of others that are only moved? Nothing is computed there, so
 * that what reads it is compared with the records it comes from. */
bool clarke_certify_is_passed_on(const clarke_certify *c, size_t value);

/* Was the output recorded? */
bool clarke_certify_is_recorded(const clarke_certify *c, size_t v);

/* Is the value made by a convolution whose kernel has several entries? Does one read it, or a constant that was made of it? */
bool clarke_certify_made_by_conv(const clarke_graph *g, size_t value);
bool clarke_certify_read_by_conv(const clarke_graph *g, size_t value);

/* --- certify_follow.c: values of which nothing was recorded --- */

/* Does a window or a function with a domain read the value, or what is made of it, before something was recorded? quotients: 1 / x counts, whose
 * bound is infinite wherever the enclosure and the error of x reach 0. */
clarke_status clarke_certify_meets_place(bool *meets, const clarke_certify *c, size_t v, bool quotients, clarke_error *err);
/* Before a step with kinks: of an enclosed argument that was not recorded and whose side its enclosure does not tell no bound is known. */
void clarke_certify_doubt_sides(clarke_certify *c, size_t step);
/* Where nothing but the loss was recorded behind some output: is the loss what follows from the outputs? They are told not to be, if not. */
clarke_status clarke_certify_loss(clarke_certify *c, clarke_error *err);
/* Was something recorded of what is made of the value, or its sum; is a gradient judged that its own gradient goes on to? */
clarke_status clarke_certify_leads_on(bool *leads, clarke_certify *c, size_t v, clarke_error *err);
clarke_status clarke_certify_leads_back(bool *leads, const clarke_certify *c, size_t v, clarke_error *err);
/* The answer for an output or a gradient without a record, each of whose entries is off by `bound` at most. It is followed when a record
 * is reached from there and all bounds are finite (bound NULL: they are): they are part of that record's bound. Else nothing can be said. */
clarke_status clarke_certify_follow(clarke_certify *c, clarke_certificate *made, size_t v, const double *bound, size_t entries,
                                    clarke_error *err);

#endif
