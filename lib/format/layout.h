/* Where the parts of a ZIP archive lie. Readers find a directory in different ways (from the end, by its
 * stated place, by the members), and of two archives in one file each may read another. */
#ifndef CLARKE_FORMAT_LAYOUT_H
#define CLARKE_FORMAT_LAYOUT_H

#include "base/status.h"

#include <stddef.h>

/* Do the directory, where it is stated to be, and its end records end the file, without a comment? */
clarke_status clarke_layout_ends(const void *data, size_t size, clarke_error *err);

/* Besides: do the members, one after another in the directory's order, take all that is before it, with the
 * same names, methods, sizes and checksums in both places; without extra fields (but for the sizes, as
 * numpy.savez writes them), data descriptors, comments, encryption, or more than one volume? */
clarke_status clarke_layout_check(const void *data, size_t size, clarke_error *err);

#endif
