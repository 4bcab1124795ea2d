/* clarke patterns MODEL --at POINT --wrt ...: the patterns around a point where what varies multiplies, as parameters of several layers
 * do. */
#ifndef CLARKE_TOOLS_PATTERNS_AROUND_H
#define CLARKE_TOOLS_PATTERNS_AROUND_H

#include "patterns_regions.h"
#include "session/regions.h"

/* f is not piecewise linear in what varies, which err says: is it polynomial on pieces, and only its patterns around the point are
 * asked for? Else that is an error. */
clarke_status clarke_around_may_ask(const clarke_regions_command *c, const clarke_region_function *f, clarke_error *err);

/* Prints the answer. f: held at the point, which has all entries. *complete: every pattern is realized or refuted. */
clarke_status clarke_around_answer(bool *complete, const clarke_regions_command *c, const clarke_region_function *f, mpq_t *point,
                                   clarke_error *err);

#endif
