/* Follows the refutation of another solver (format/clausal.h), so that its steps become ours, each with its hints.
 *
 * Nothing of the file is believed: a step is taken only if unit propagation shows that it follows. Of DRAT this is searched
 * for, forwards (Goldberg and Novikov, DATE 2003; Wetzler, Heule, Hunt, SAT 2014); LRAT's hints say it. The file speaks of
 * the formula's own clauses, the steps of those of three literals. Of a clause that was split all parts propagate. */
#ifndef CLARKE_SAT_FOLLOW_H
#define CLARKE_SAT_FOLLOW_H

#include "format/clausal.h"
#include "sat/solve.h"

/* t is the formula f in clauses of three literals. REFUTED, with the refutation as clarke_solve has it; or GIVEN_UP, after
 * `work` visits of clauses or told to stop. A step that does not follow is refused, with its place, and a file without the
 * empty clause. s must be initialized. */
clarke_status clarke_follow(clarke_solution *s, const clarke_three *t, const clarke_cnf *f, const clarke_clausal *p,
                            const char *file, size_t work, clarke_error *err);

#endif
