/* Workers, threads that follow the sign vectors of one arrangement, each into what lies inside it; private to lib/region.
 *
 * The caller enumerates the arrangement, and tells the regions found, sign vector by sign vector in the order of the tree. So what
 * is told, and its order, does not depend on the number of threads. */
#ifndef CLARKE_REGION_WORKERS_H
#define CLARKE_REGION_WORKERS_H

#include "region/regions_inside.h"

/* As clarke_sign_vectors of the level's rows, each sign vector being followed by one of l->threads threads. Without any that can be
 * begun the caller does all. */
clarke_status clarke_workers_enumerate(clarke_sign_tree *tree, clarke_region_level *l, const clarke_witness *start, clarke_error *err);

#endif
