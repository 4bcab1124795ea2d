/* One run of clarke derive: a program or a network and a point in, a report out. */
#ifndef CLARKE_TOOLS_DERIVE_REPORT_H
#define CLARKE_TOOLS_DERIVE_REPORT_H

#include "ci.h"
#include "session/derive.h"
#include "summary.h"
#include "watch.h"

typedef struct {
  clarke_derive_request ask; /* its file is read when the command runs */
  const char *proof, *plot, *sweep;
  const char **at; /* the values of --at, in their order */
  const char **direction; /* those of --direction */
  size_t n_directions;
  clarke_ci ci;
  clarke_watch_limits watch;
  bool json, print, verbose;
} clarke_derive_command;

/* The whole command; *exit_status is that of the answer (command.h), and 0 when the answer is not about one point. */
clarke_status clarke_derive_answer(int *exit_status, const clarke_derive_command *command, clarke_error *err);

/* derive_direction.c: derivatives along directions in place of the report; *exit_status: 0 AD's are these, 1 they are not, 3. */
clarke_status clarke_derive_along(int *exit_status, const clarke_derive_session *s, const clarke_derive_command *c, clarke_error *err);

/* derive_summary.c. proof: the one that was written, or NULL. The caller clears it, on errors too. */
clarke_status clarke_derive_summary(clarke_summary *summary, const clarke_derive_session *s, const clarke_derivation *d,
                                    const clarke_derive_text *t, const char *proof, clarke_error *err);

/* derive_text.c: what comes after the summary. */
void clarke_derive_print_text(const clarke_derivation *d, const clarke_derive_text *t);

/* derive_sweep.c: from + i step, i < n, in place of one entry of the point. */
typedef struct {
  size_t input, entry;
  mpq_t from, step;
  size_t n;
} clarke_derive_range;

void clarke_derive_range_init(clarke_derive_range *r);
void clarke_derive_range_clear(clarke_derive_range *r);
/* Reads the other inputs, and prints the table (and draws the figure asked for). */
clarke_status clarke_derive_sweep(clarke_derive_session *s, const clarke_derive_command *command, clarke_error *err);

/* derive_figure.c: draws over the range; NULL: 2 to either side of the point, in the only input of wrt. */
clarke_status clarke_derive_figure(clarke_derive_session *s, const char *path, const clarke_derive_range *range,
                                   clarke_error *err);

/* "(1, 2)", of several outputs "((1, 2), (3, 4))", of one number "1", to a stream. */
void clarke_vector_print(FILE *out, const clarke_vectors *v, size_t row,
                         const clarke_derive_text *t);

#endif
