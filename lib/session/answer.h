/* Answers behind clarke.h. */
#ifndef CLARKE_SESSION_ANSWER_H
#define CLARKE_SESSION_ANSWER_H

#include "session/handles.h"

/* An answer without content; NULL when out of memory. */
clarke_answer *clarke_answer_new(bool of_network);

#endif
