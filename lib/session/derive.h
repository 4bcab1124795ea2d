/* One question about a program, or a small network as one, at a point: read, then ask, and what was found as text, JSON or a
 * proof. A session owns all that it holds. */
#ifndef CLARKE_SESSION_DERIVE_H
#define CLARKE_SESSION_DERIVE_H

#include "program/derive.h"
#include "program/prog.h"
#include "program/rounded.h"
#include "proof/write_regions.h"
#include "format/file.h"

#include <jansson.h>
#include <stdio.h>

#define CLARKE_FORMATS 4 /* of floating point: clarke_ieee */

typedef struct {
  const char *path;        /* its ending says what it is: .prog or .onnx */
  const clarke_file *file;
  const char *profile;
  const char *wrt;         /* names with commas between, of a network also params (all parameters); NULL: all inputs, of a network
                            * its input */
  const char *output;      /* of a network the one that is asked about; NULL: it has one */
  const char *const *at;   /* NAME=V,... once for each input, or FILE.npz; of a network one, also V,... and FILE.npy */
  size_t n_at;
  bool format[CLARKE_FORMATS]; /* replays in floating point */
} clarke_derive_request;

/* What was read. */
typedef struct {
  bool network;
  char sha256[65];
  clarke_prog prog;   /* a program's text, read */
  clarke_graph graph; /* a network */
  clarke_code program;
  clarke_code held; /* with respect to some inputs, or a network's parameters: the same, with the rest held at the point */
  bool is_held;     /* it is made */
  clarke_profile profile;
  bool all_parameters; /* of a network: --wrt params */
  char *output;        /* of a network: that was chosen, or NULL */
  char **wrt;
  size_t n_wrt;
  size_t n_at;
  mpq_t *at;   /* all entries of all inputs */
  bool *given; /* by input */
  bool format[CLARKE_FORMATS];
  clarke_forms forms;         /* of what was asked about by its cones, and their tree */
  clarke_regions_proof cones;
} clarke_derive_session;

void clarke_derive_session_init(clarke_derive_session *s);
void clarke_derive_session_clear(clarke_derive_session *s);

/* Reads program or network; of a network the point, too. */
clarke_status clarke_derive_session_read(clarke_derive_session *s, const clarke_derive_request *r, clarke_error *err);

/* derive_point.c: a program's point. All inputs must be given but number `without` (CLARKE_NONE: all), which must not and
 * stays 0. */
clarke_status clarke_derive_point(clarke_derive_session *s, const char *const *at, size_t n_at, size_t without, clarke_error *err);

/* derive_cones.c: asks about the point, once. Of what is piecewise linear in wrt the patterns are those of its cones, but of a program
 * of few kinks; of all else those of the tree. d keeps references to what s holds. */
clarke_status clarke_derive_ask(clarke_derivation *d, clarke_derive_session *s, clarke_error *err);

/* `held`, a copy with wrt marked, is held at the point, for its cones; where it cannot be, the tree is asked. */
clarke_status clarke_derive_hold(clarke_derive_session *s, mpq_t *at, clarke_error *err);

/* Writes the proof of what was asked and decided. */
clarke_status clarke_derive_prove(const clarke_derive_session *s, const clarke_derivation *d, const char *path, clarke_error *err);

/* derive_network.c: reads the network, the array of --at, and unrolls. */
clarke_status clarke_derive_network(clarke_derive_session *s, const clarke_derive_request *r, clarke_error *err);

/* --- what was found, as text ------------------------------------------------------------------------- */

/* n rows of dim numbers as text. When not known there are none. */
typedef struct {
  bool known;
  size_t n, dim;
  char **text;
} clarke_vectors;

/* A touched kink as a person recognises it. slope: of a pointwise function on its sides, of a tie
 * the tied arguments' indices, of a branch its arms. proxy: what AD multiplies by, of a tie for
 * each tied argument, of a branch the arm taken. */
typedef struct {
  char *node, *argument;
  bool several; /* the proxies make a vector */
  size_t line, column;
  size_t n_slopes, n_proxies;
  char **slope, **proxy;
} clarke_touched_text;

/* The answer in one floating-point format. */
typedef struct {
  bool asked;
  clarke_vectors value, ad;
  clarke_truth agrees; /* is AD's output the exact one? UNKNOWN: that one is not rational */
} clarke_float_text;

/* Everything that is printed, as text. A vector is a gradient: of several outputs, their rows one
 * after another. */
typedef struct {
  bool rows;        /* a vector is a list of n_outputs rows of width numbers */
  size_t n_outputs, width;
  clarke_vectors value, ad;
  clarke_vectors bouligand, clarke;
  clarke_vectors realized; /* what is proved of the Bouligand set when it is not known wholly */
  clarke_vectors conservative, selection, associated, least;
  size_t n_touched;
  clarke_touched_text *touched;
  clarke_float_text rounded[CLARKE_FORMATS];
} clarke_derive_text;

/* derive_rows.c */
void clarke_derive_text_init(clarke_derive_text *t);
void clarke_derive_text_clear(clarke_derive_text *t);
clarke_status clarke_derive_text_fill(clarke_derive_text *t, const clarke_derive_session *s,
                                      const clarke_derivation *d, clarke_error *err);

/* derive_touched.c */
clarke_status clarke_derive_touched(clarke_derive_text *t, const clarke_derive_session *s, const clarke_execution *e,
                                    const clarke_profile *profile, clarke_error *err);
void clarke_touched_text_clear(clarke_touched_text *t);

/* derive_float.c: the replays in floating point that were asked for. */
clarke_status clarke_derive_floats(clarke_derive_text *t, const clarke_derive_session *s,
                                   const clarke_derivation *d, clarke_error *err);

/* derive_json.c: the answer as one object; NULL when out of memory. */
json_t *clarke_derive_json(const clarke_derive_session *s, const clarke_derivation *d, const clarke_derive_text *t);

/* One row of a sweep, a compact line, after which others follow but for the last. Where the program has no answer d
 * is NULL and why says so. */
clarke_status clarke_derive_row_json(FILE *out, const char *at, const clarke_derivation *d, const clarke_derive_text *t,
                                     const char *why, bool last, clarke_error *err);

#endif
