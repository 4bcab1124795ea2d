/* Constants that are computed when the network is built: of 64-bit integers, shapes; of float32, scales. */
#ifndef CLARKE_KERNEL_INTEGERS_H
#define CLARKE_KERNEL_INTEGERS_H

#include "builder.h"

bool of_integers(const builder *b); /* are all inputs such constants? */
void lower_whole(builder *b);       /* Add, Sub, Mul, Div, Mod, Equal, Where of them */
void lower_listed(builder *b);      /* Concat of lists of them */
void lower_shape(builder *b);
void lower_filled(builder *b); /* ConstantOfShape */
void lower_cast(builder *b);

bool of_floats(const builder *b); /* are all inputs constants of float32 that are no parameters? */
void lower_floats(builder *b);    /* Sqrt, Div of them; Cast to float32 */

#endif
