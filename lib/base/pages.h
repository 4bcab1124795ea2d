/* Large pages. A new page costs the kernel about as much time as reading it thrice; of an array of hundreds of megabytes that
 * is a good part of all that is done with it. */
#ifndef CLARKE_BASE_PAGES_H
#define CLARKE_BASE_PAGES_H

#include <stddef.h>

/* Asks the kernel for large pages under an array (of malloc, calloc, realloc) that is about to be filled. A wish: it may be
 * refused, and nothing but time depends on it. Small arrays, and NULL, are left alone. */
void clarke_pages_wish(void *array, size_t bytes);

#endif
