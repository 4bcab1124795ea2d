/* What the handles of clarke.h are. */
#ifndef CLARKE_SESSION_HANDLES_H
#define CLARKE_SESSION_HANDLES_H

#include "clarke.h"
#include "session/audit.h"
#include "session/derive.h"

struct clarke_batch {
  char *path;
  clarke_file file;
};

struct clarke_network {
  char *path, *params_path; /* params_path NULL: the model's own weights */
  char *params_key;         /* the state dict's in that file; NULL: by the usual names */
  clarke_file file, params;
  char *profile, *loss, *wrt, *output; /* NULL: the defaults */
  bool exact, ranks, provable, touched, whole;
  size_t threads, nearest;
};

struct clarke_program {
  char *path;
  clarke_file file;
  char *profile, *wrt, *output;
};

struct clarke_answer {
  bool of_network;
  clarke_audit_session audit;   /* of a network */
  clarke_derive_session derive; /* of a program, with */
  clarke_derivation found;      /* what was found */
};

/* An answer without content; NULL when out of memory. */
clarke_answer *clarke_answer_new(bool of_network);

#endif
