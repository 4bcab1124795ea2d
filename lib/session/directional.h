/* What derive --direction asks: derivatives along directions, as read, found and told (program/directional.h). */
#ifndef CLARKE_SESSION_DIRECTIONAL_H
#define CLARKE_SESSION_DIRECTIONAL_H

#include "program/directional.h"
#include "session/derive.h"

typedef struct {
  size_t n;                  /* directions */
  mpq_t **line;              /* each with an entry for each of wrt */
  clarke_directional found;
  clarke_derive_text text;   /* the touched kinks alone */
  bool convex;               /* the output is proved to be (program/convex.h) */
  mpq_t *subgradient;        /* where it is, and the directions determine one: what has these derivatives, an entry for each of wrt; else NULL */
} clarke_directional_answer;

void clarke_directional_answer_init(clarke_directional_answer *a);
void clarke_directional_answer_clear(clarke_directional_answer *a);

/* One direction: NAME=V,V,...,NAME=V..., inputs that are not named being 0; or V,V,..., an entry for each of wrt. In d, of
 * clarke_code_wrt_count zeros. */
clarke_status clarke_directional_parse(mpq_t *d, const clarke_code *p, const char *text, clarke_error *err);

/* Answers for n directions, as texts, of a session that was read, with its point. */
clarke_status clarke_directional_ask(clarke_directional_answer *a, const clarke_derive_session *s, const char *const *text, size_t n,
                                   clarke_error *err);

/* The answer as one object; NULL when out of memory. */
json_t *clarke_directional_json(const clarke_directional_answer *a, const clarke_derive_session *s);

/* Where a touched kink is left to, in words (malloc). */
char *clarke_turn_text(const clarke_directional_answer *a, size_t touched);

/* Writes the proof of an answer, as clarke_proof_write does. */
clarke_status clarke_directional_prove(const clarke_directional_answer *a, const clarke_derive_session *s, const char *path,
                                     clarke_error *err);

#endif
