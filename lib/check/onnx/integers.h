/* Constants that are computed when the network is built: of integers and truth values, shapes, places and masks; of float32,
 * scales. The integers of a single run's input are such. */
#ifndef CLARKE_KERNEL_INTEGERS_H
#define CLARKE_KERNEL_INTEGERS_H

#include "check/onnx/builder.h"

/* The integers or truth values that v has: of a constant, or of the input of a single run. NULL: it has none. */
const tensor *numbers_of(const builder *b, const value *v);

bool of_integers(const builder *b);   /* are all inputs such integers, of one type? */
void lower_whole(builder *b);         /* arithmetic, comparisons and logic of them */
void lower_running(builder *b);       /* CumSum */
void lower_where(builder *b);         /* of all: constants and activations */
void lower_listed(builder *b);        /* Concat of lists of them */
void lower_shape(builder *b);         /* Shape */
void lower_size(builder *b);          /* Size */
void lower_range(builder *b);         /* Range */
void lower_whole_product(builder *b); /* ReduceProd */
void lower_filled(builder *b);        /* ConstantOfShape */
void lower_cast(builder *b);          /* Cast */
void lower_cast_like(builder *b);     /* CastLike */

/* The node's output, a constant of zeros of that type. */
rational *put_whole(builder *b, size_t type, size_t rank, const size_t *dims);
bool is_float(const value *v);    /* a constant of float32 that is no parameter? */
bool of_floats(const builder *b); /* are all inputs constants of float32 that are no parameters? */
/* Is it a Pow of them by 1/2, -1/2, or by one number that is 1 or 2? Others are powers of an activation. */
bool of_power(const builder *b);
void lower_floats(builder *b); /* arithmetic, Sqrt, Where of them; Cast to float32 */

#endif
