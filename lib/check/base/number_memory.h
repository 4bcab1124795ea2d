/* The memory of GMP's numbers. Most live for a few operations, so blocks that are free are kept, by size, and handed out again: the C
 * library's own way takes a third of a check. */
#ifndef CLARKE_KERNEL_NUMBER_MEMORY_H
#define CLARKE_KERNEL_NUMBER_MEMORY_H

void number_memory_begin(
    void); /* from now on GMP's numbers are allocated here; where there is no more memory the check ends */
void number_memory_end(void); /* of a thread that ends: what it keeps is freed */

#endif
