/* One question about a network, from files' bytes to the answer: read, ask, then gradient, JSON or proof of what was found.
 * A session owns all that it holds; the request is only read from. */
#ifndef CLARKE_SESSION_AUDIT_H
#define CLARKE_SESSION_AUDIT_H

#include "exact/decimal.h"
#include "network/derive/zeros.h"
#include "network/replay/nearest.h"
#include "proof/write.h"
#include "format/file.h"
#include "format/tensors.h"

#include <jansson.h>

typedef struct {
  const char *model_path, *batch_path;
  const clarke_file *model, *batch;
  const char *params_path; /* a later checkpoint, or NULL: the model's own weights */
  const clarke_file *params;
  const char *params_key;  /* of a dictionary with several state dicts, the one; NULL: by the usual names */
  const char *profile;
  const char *profile_text; /* its lines, in place of a name; or NULL */
  const char *loss; /* NULL: by what y is */
  const char *wrt;  /* names with commas between; NULL: all */
  const char *output; /* the one that is asked about; NULL: the model has one */
  bool whole;       /* no axis of the model's has samples: each is a whole input where it declares 1, else all are one */
  bool exact, ranks;
  size_t nearest;   /* so many of each layer that come nearest to a kink; 0: none */
  bool margins;     /* where nothing is touched one of each layer, or a bound, as if nearest were 1 */
  bool touched;     /* all touches are to be listed: refuse more than the limit */
  bool provable;    /* refuse what no proof can speak of */
  size_t threads;   /* of the filter */
  bool recorded;    /* the files of a recorded step: only its branches are to be noted */
  size_t n_branches;
  char *const *branch;
} clarke_audit_request;

/* A direction along which entries of AD's gradient that are 0 at w are not. The wrt parameters' entries are numbered through, from 0;
 * entry i moves by ((i + 1) multiplier mod 101 - 50) 2^-step, and w' is what then is nearest in doubles. AD's gradient is not 0 there, nor at
 * w + t (w' - w) for all t > 0 small enough. */
#define CLARKE_MOVED_MODULUS 101
typedef struct {
  bool known;
  unsigned multiplier;
  int step;
  size_t *along; /* by parameter: so many entries; NULL: nothing was asked */
} clarke_moved;

/* Sets *n from a text, a whole number from 1 on; false when it is none. */
#define CLARKE_MOST_THREADS 256
bool clarke_threads_parse(size_t *n, const char *text);
/* The same of --nearest: from 1 on. */
bool clarke_count_parse(size_t *n, const char *text);

typedef struct {
  clarke_named_file model, batch_file, params;
  clarke_graph graph;
  clarke_profile profile;
  clarke_tensors batch;
  clarke_tensor with_masks;   /* x with masks of Dropout nodes behind each sample's entries, if the batch has such */
  const clarke_tensor *x, *y; /* of batch; x is with_masks where that is there */
  bool batch_stored;          /* can clarke-check read the batch, */
  bool external;              /* has the model data in other files, */
  bool own_loss;              /* a loss of its own (loss.kind), */
  char *log_softmax;          /* which begins with that node (NULL: it does not, or is no mean over the batch alone), */
  bool loss_by_y;             /* was no loss asked for, */
  bool params_stored;         /* and can clarke-check read the checkpoint? */
  bool whole, together;       /* is each sample a whole input; are all of them one? */
  char *output;               /* that was chosen, or NULL */
  size_t n_left_out;
  char **left_out;            /* the model's, which it does not need */
  char **wrt;
  size_t n_wrt;
  clarke_replay replay;
  clarke_margins margins;
  const char *stopped;    /* NULL, or why the work was told to stop before its end */
  bool replayed;          /* touches are known, and the question was asked */
  bool near_known;        /* whether nearest was found */
  clarke_nearest nearest;
  bool list_touched;
  bool zeros_asked;       /* clarke_audit_find_zeros: */
  clarke_zeros zeros, near_zeros; /* of AD's gradient; whatever sides touched kinks take, where there are such */
  clarke_moved moved;     /* where some of these are not 0 */
  clarke_loss loss;
  clarke_question question;
  clarke_audit audit;
  bool exact;       /* it was asked without floating point */
  bool bounded;     /* the gradient was asked for, and not computed exactly: */
  double within;    /* no entry is farther from AD's exact one */
  bool valued;      /* the loss's value was asked for */
  char *loss_value; /* exact, or a decimal with a bound */
  bool loss_exact;
  double loss_near, loss_off; /* a double near it, and what it is off by at most */
  size_t n_notes;
  char **notes; /* notes.h */
} clarke_audit_session;

void clarke_audit_session_init(clarke_audit_session *s);
void clarke_audit_session_clear(clarke_audit_session *s);

/* Reads all but the checkpoint: can the question be asked? */
clarke_status clarke_audit_session_read(clarke_audit_session *s, const clarke_audit_request *r, clarke_error *err);
/* Reads the checkpoint, if any, and answers. Once, of a session that was read. Work that is told to stop (base/stop.h) is no
 * error: s->stopped tells, the verdict is undecided unless it was proved before, and what was found is there. */
clarke_status clarke_audit_session_ask(clarke_audit_session *s, const clarke_audit_request *r, clarke_error *err);

/* Is of every argument known whether it is at a kink, and of every window whether it is tied? */
bool clarke_audit_touches_known(const clarke_audit_session *s);

/* How many arguments of kinks and windows an answered session has; and how many are known to be at no kink, and not tied. */
size_t clarke_audit_asked(const clarke_audit_session *s);
size_t clarke_audit_decided(const clarke_audit_session *s);

/* audit_zeros.c. For an answered session: which entries of AD's gradient are 0 because a factor of each path is, and why.
 * Not known (no error) where the work is stopped, or s->zeros.known says so. whole: nobody asks but for parameters of which all entries
 * are 0; a direction is looked for on their behalf alone. */
clarke_status clarke_audit_find_zeros(clarke_audit_session *s, bool whole, clarke_error *err);

/* The zeros of a parameter that was asked about: */
typedef struct {
  size_t entries;
  clarke_zero_counts ad; /* AD's entries that are 0, and why */
  size_t near;           /* of these, 0 in each limit of gradients at weights nearby; */
  size_t stays;          /* of these, 0 at all weights nearby: what makes them 0 does not change there */
  size_t along;          /* of AD's, not 0 along the direction s->moved */
} clarke_zero_summary;
clarke_zero_summary clarke_audit_zeros_of(const clarke_audit_session *s, size_t parameter);
/* "dead units 6, losers of windows 2": the causes of so many entries, most first; true when there is one. */
bool clarke_zero_causes(char *text, size_t size, const clarke_zero_counts *counts);
/* NULL when out of memory; null where they are not known. */
json_t *clarke_zeros_json(const clarke_audit_session *s);
/* The direction, as its three numbers; null where none is known. */
json_t *clarke_moved_json(const clarke_audit_session *s);

/* audit_moved.c. For a session whose zeros were found, a direction along which as many as possible of the `wanted` that may change do, of
 * parameters that are `asked` for. None is looked for where `wanted` is 0, in large networks, nor in those with functions that are not
 * analytic where they are defined, or not defined everywhere. */
clarke_status clarke_moved_find(clarke_audit_session *s, const bool *asked, size_t wanted, clarke_error *err);
void clarke_moved_clear(clarke_moved *m);

/* Could the checker read what an answered session did, and does the profile know what a proof states? Else an error says
 * what not. */
clarke_status clarke_audit_session_provable(const clarke_audit_session *s, clarke_error *err);
/* Write the proof of the zone, and of the verdict, that an answered session decided; what cannot have a proof is an error. */
clarke_status clarke_audit_session_prove_zone(const clarke_audit_session *s, const char *path, clarke_error *err);
clarke_status clarke_audit_session_prove(const clarke_audit_session *s, const char *path, clarke_error *err);

/* audit_lists.c: touches and nearest ones, one at a time, as a report has them. Texts are the caller's to free. */
typedef struct {
  const clarke_step *step;
  size_t neuron, sample;
  /* The number at which the kink lies; of a window the tied entries' value (one that is not exact: NULL). */
  char *argument;
  size_t n_sides;   /* of a kink 2; of a window its options */
  char **slope;     /* of a kink, on its left and right; of a window NULL */
  const size_t *option; /* of a window: the tied entries' numbers in the layer's input */
  char *ad;         /* the number that AD takes for the slope; of a window the entry's number, or "mean" */
} clarke_touch_text;

/* Touch number `touch` in words; *t is cleared by the caller, on errors too. */
clarke_status clarke_touch_describe(clarke_touch_text *t, const clarke_audit_session *s, size_t touch, clarke_error *err);
void clarke_touch_text_clear(clarke_touch_text *t);

typedef struct {
  const clarke_step *step;
  bool window;
  char *kink;       /* of a window NULL */
  char *distance;   /* exactly, or NULL: then only what it is at least is known */
  char at_least[CLARKE_DECIMAL_ROOM]; /* of the distance; */
  char *ulp;        /* a power of 2 */
  char ulps[CLARKE_DECIMAL_ROOM];     /* the distance is at least so many */
  bool at_least_exact, ulps_exact;    /* nothing was lost in decimals */
} clarke_near_text;

/* The i-th of the nearest kinks in words; *t is cleared by the caller, on errors too. */
clarke_status clarke_near_describe(clarke_near_text *t, const clarke_audit_session *s, size_t i, clarke_error *err);
void clarke_near_text_clear(clarke_near_text *t);

/* audit_json.c: the answer as one object (docs/tutorial.md); NULL when out of memory. */
json_t *clarke_audit_json(const clarke_audit_session *s);

#endif
