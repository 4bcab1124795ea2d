/* Sums whose order is known: the recorded tree of a tensor's sums (format/summation.h) is followed with the recorded numbers, in the
 * arithmetic of IEEE 754. Where every entry comes out bit for bit, the tree explains the tensor; else it explains nothing, and the
 * tensor keeps the answer that it had.
 *
 * What is a sum of products, and which is its k-th:
 *   output     of a product with a constant: entry (b, o, r) is the sum over k of W[o,k] x[b,k,r]. With a bias, that is leaf K.
 *   gradient   in the input of such a product: the sum over o of W[o,k] g[b,o,r]. In that of a convolution, over o and then the
 *              kernel's taps, those that no window meets it with being zeros.
 *   output     of a sum or a mean over some axes: the sum of its entries; of a mean divided by their number.
 *   output     of a product of two activations: entry (b, i, j) is the sum over k of a[b,i,k] c[b,k,j]. Where it was not recorded, and a
 *              sum adds something to it, that is leaf K of the sum's output.
 *   gradient   in a and in c: the sum over j of g[b,i,j] c[b,k,j], and that over i of a[b,i,k] g[b,i,j].
 *   gradient   in what a sum reads several times, for it is smaller: the sum of those in the sum's entries.
 *   output     of a sum or mean over axes of products of entries that were not recorded, as a dot product is: of these products. So of
 *              squares of differences, each rounded, and of likelihoods by their weights: losses.
 *   gradient   in a factor of such products that is read several times: the sum of g times the other factor.
 *   gradient   in the constant: the sum of g[b,o,r] x[b,k,r] over samples, then b, then r.
 *              In a transposed convolution's, of x[b,k,i] g[b,o,r] over samples, then b, then the places i of the input, r being the output
 *              that the tap takes i to, if there is one.
 *   parameter  a bias, or a constant that is the parameter itself: the same of its gradient; of a bias the sum of g alone.
 *   gradient   in what several steps read, activation or constant: the sums above, one after another.
 * For a tensor of half precision the factors are cast to its type, and the sum is rounded to it at the end. */
#ifndef CLARKE_TRACE_SUMMATION_H
#define CLARKE_TRACE_SUMMATION_H

#include "format/summation.h"
#include "trace/certify/certify.h"

/* How sums of products are multiplied as they are added up. */
typedef struct {
  clarke_summation_form form; /* SUM or FUSED; of the others nothing is left to do */
  double alpha;               /* a number of the type */
  size_t addend;              /* the leaf that is not multiplied; CLARKE_NONE: there is none */
} clarke_summation_factor;

/* The sum of p[k] q[k], in the tree's order, each operation rounded to nearest in the type. All are numbers of that type. With a factor
 * (else NULL) each sum that the addend is not in is multiplied by alpha when it is added to one that the addend is in; without an addend
 * the last sum is. So is, rounded, one that the addend is fused with. NaN: a product is fused with a sum that the addend is in, so that there
 * is none to multiply. */
double clarke_summation_replay(const clarke_summation_tree *t, clarke_dtype type, const clarke_summation_factor *by, const double *p,
                               const double *q);

/* Raises the certificates of tensors that their trees explain to CLARKE_BY_TREE, after clarke_certify_run. A tensor that was refuted
 * stays so. Of the others the certificate says why not. `file`: of the trees, in messages. A tree that is none is an error. */
clarke_status clarke_summation_explain(clarke_certify *c, const clarke_summations *s, const char *file, clarke_error *err);

/* --- summation_operands.c --- */

/* Where a tensor's sums have their products from. */
typedef struct clarke_sum_operands {
  enum { CLARKE_SUM_OF_PRODUCT, CLARKE_SUM_OF_INPUT, CLARKE_SUM_OF_WEIGHT, CLARKE_SUM_OF_TURNED_WEIGHT, CLARKE_SUM_OF_BIAS,
         CLARKE_SUM_OF_CONTRACTION, CLARKE_SUM_OF_COPIES, CLARKE_SUM_OF_TERMS, CLARKE_SUM_OF_MOVED, CLARKE_SUM_OF_RELU,
         CLARKE_SUM_OF_PARTS } kind;
  const clarke_certify *c;
  const clarke_step *product, *sum; /* the DENSE step, or PRODUCT; of a bias's gradient the SUM step that adds it */
  size_t leaves;
  double alpha, beta;     /* what the products, or their sum, and what is added to them are multiplied by */
  double divisor;         /* of a mean: what the sum is divided by, in its own type; else 1 */
  const double *x;        /* numbers of the product's input: through the map, row-major (feature, sample), */
  const size_t *map;      /* CLARKE_NONE: 0; NULL: as they are */
  const double *gradient; /* of its output: (sample, feature) */
  size_t features;        /* of that */
  const double *weight;
  double *own, *made;     /* freed by clear: of the network's input; of terms that follow from what was recorded, */
  clarke_dtype type;      /* each rounded to this type, the tensor's */
  size_t taps;            /* of a gradient in a convolution's input: of its kernel; else 1 */
  size_t *start, *reader; /* and which entries of the patches are its entry f: reader[start[f]] .. reader[start[f + 1]]; freed by clear */
  size_t *entry, places;  /* of a transposed convolution: which entry of the weight as the graph has it is the parameter's, freed by clear;
                           * how many places a plane of its input has */
  const clarke_operand *added; /* what is added to the products, as the last leaf: the SUM's operand, or NULL; */
  size_t addend;               /* the value that it is, before it is multiplied by beta, */
  const double *addends;       /* and its numbers, features x samples; of a constant its entries */
  /* of a PRODUCT: */
  size_t side, count;       /* which operand's gradient it is, 2: the output's entries; how many features the tensor has (so of
                             * copies, too: reader[f * leaves] and on are entry f's), */
  const double *numbers[2]; /* the recorded numbers of the operands' values, features x samples; of a constant (of terms alone) its
                             * entries */
  const clarke_operand *term[2]; /* of TERMS: the operands of what multiplies the entries; of COPIES the second, where their gradients
                                  * are multiplied, or NULL */
  struct clarke_sum_operands *part; /* of PARTS: their leaves follow one another. Freed by clear, with what is in them */
  size_t n_parts;
  /* of MOVED: place[f] is the entry of the gradient that goes back to entry f, or CLARKE_NONE */
  size_t *laid[2], *place;  /* entry l as it is laid out is entry laid[side][l] of them, or 0; and back. Freed by clear */
} clarke_sum_operands;

/* NULL in *why: found. Otherwise why there are none that are known. */
clarke_status clarke_sum_operands_find(clarke_sum_operands *o, const char **why, clarke_certify *c, clarke_part part,
                                       const char *name, clarke_error *err);
void clarke_sum_operands_clear(clarke_sum_operands *o);

/* summation_factors.c: the factors of entry k's products: p and q have room for all leaves. */
void clarke_sum_operands_take(double *p, double *q, const clarke_sum_operands *o, size_t k);

/* --- summation_turned.c: of the gradient in a transposed convolution's weight, turned round as the graph has it --- */

/* For the weight's parameter: o has the product, its input through the map and the gradient behind it, where they were
 * recorded. */
clarke_status clarke_sum_turned_find(clarke_sum_operands *o, const char **why, clarke_error *err);
/* The factors of the products of the parameter's entry k. */
void clarke_sum_turned_take(double *p, double *q, const clarke_sum_operands *o, size_t k);

/* --- summation_contraction.c --- */

/* For the PRODUCT step's output `value`, or the gradient in the value of one of its operands; o->c is set, and, of the latter,
 * o->gradient, where it was recorded. */
clarke_status clarke_sum_contraction_find(clarke_sum_operands *o, const char **why, const clarke_step *s, size_t value, clarke_error *err);
/* The factors of feature f's products. */
void clarke_sum_contraction_take(double *p, double *q, const clarke_sum_operands *o, size_t f, size_t sample);

/* --- summation_terms.c --- */

/* A DENSE step of ones adds up the entries of a value: were these not recorded, and are they products of entries? Then o is
 * told so, and *why is NULL, or says what was not recorded either. */
bool clarke_sum_terms_find(clarke_sum_operands *o, const char **why, size_t value);
void clarke_sum_terms_take(double *p, double *q, const clarke_sum_operands *o, size_t f, size_t sample);
/* Does a step that reads the value multiply its entries by numbers that are known? And that number for its entry f; 1:
 * it does not. */
bool clarke_sum_copies_factor(clarke_sum_operands *o, const clarke_step *s, size_t value);
double clarke_sum_copy_times(const clarke_sum_operands *o, size_t f, size_t sample);

/* --- summation_parts.c --- */

/* The parts of the gradient in an activation that several steps read, in their order; or in a parameter, whose constant
 * several read (their order), and then its rearrangements, each of whose gradients was recorded (one leaf each). Added
 * up they are its sums. */
clarke_status clarke_sum_parts_find(clarke_sum_operands *o, const char **why, size_t value, const char *parameter, clarke_error *err);
void clarke_sum_parts_take(double *p, double *q, const clarke_sum_operands *o, size_t k);
/* Is the value that parameter's constant, which a gradient is asked in, or a rearrangement of it, and is it read? */
bool clarke_sum_is_parameter(const clarke_graph *g, size_t value, const char *name);

/* How often a step reads a value. */
size_t clarke_sum_reads(const clarke_step *s, size_t value);

/* summation_operands.c: what one of the steps that read a value adds to its gradient. */
clarke_status clarke_sum_of_reader(clarke_sum_operands *o, const char **why, size_t value, const clarke_step *s, clarke_error *err);

/* --- summation_added.c --- */

/* alpha times a product, and beta times the other operand, if there is one, which a SCALE may have between it and the SUM. */
typedef struct {
  const clarke_step *product;
  const clarke_operand *other, *between;
  double alpha, beta;
} clarke_added;

/* Is the step's output that of a product that was not recorded, and that nothing else reads? */
bool clarke_sum_added(clarke_added *a, const clarke_certify *c, const clarke_step *s);
/* For that step's output: what is added, and the factors. *why stays where it was found. */
void clarke_sum_added_set(clarke_sum_operands *o, const char **why, const clarke_added *a);
/* The last leaf of feature f, where something is added. */
void clarke_sum_added_take(double *p, double *q, const clarke_sum_operands *o, size_t f, size_t sample);
/* The value whose gradient times *factor is that in the value; CLARKE_NONE: not one SUM without a map, or SCALE by a number, alone
 * reads it, or there would be two factors. */
size_t clarke_sum_added_behind(double *factor, const clarke_certify *c, size_t value);

/* The numbers of a value as it was recorded, features x samples; NULL: it was not, or out of memory. */
const double *clarke_sum_numbers(clarke_sum_operands *o, size_t value);
/* The constant whose entries a value has, as they are; the value itself, if there is none. */
size_t clarke_sum_lifted(const clarke_graph *g, size_t value);
/* The one step that reads a value; NULL: none does, or several do. */
const clarke_step *clarke_sum_only_reader(const clarke_graph *g, size_t value);

#endif
