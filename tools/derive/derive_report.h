/* One run of clarke derive: a program or a network and a point in, a report out. */
#ifndef CLARKE_TOOLS_DERIVE_REPORT_H
#define CLARKE_TOOLS_DERIVE_REPORT_H

#include "program/prog.h"
#include "format/readers.h"
#include "program/rounded.h"
#include "program/derive.h"

typedef struct {
  const char *file, *profile, *wrt, *proof, *plot, *sweep;
  char **at; /* the values of --at, in their order */
  size_t n_at;
  bool json, print;
  bool format[4]; /* by clarke_ieee: asked for by --float */
} clarke_derive_request;

/* What was read. */
typedef struct {
  const clarke_derive_request *request;
  clarke_file source;
  bool network;
  clarke_prog prog;     /* a program's text, read */
  clarke_graph graph;   /* a network */
  clarke_program program;
  clarke_profile profile;
  char **wrt; /* the names of --wrt */
  size_t n_wrt;
  size_t n_at;
  mpq_t *at;   /* all entries of all inputs */
  bool *given; /* by input */
} clarke_derive_session;

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
  clarke_answer agrees; /* is AD's output the exact one? UNKNOWN: that one is not rational */
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
  clarke_float_text rounded[4];
} clarke_derive_text;

/* The whole command; *verdict is set when the answer is about one point, and *asked then. */
clarke_status clarke_derive_answer(clarke_verdict *verdict, bool *asked,
                                   const clarke_derive_request *request, clarke_error *err);

/* derive_point.c: fills s->at from the values of --at; all inputs must be given but number
 * `without` (CLARKE_NONE: all), which must not and stays 0. */
clarke_status clarke_derive_point(clarke_derive_session *s, size_t without, clarke_error *err);

/* derive_network.c: reads the ONNX file and the array of --at, and unrolls. */
clarke_status clarke_derive_network(clarke_derive_session *s, clarke_error *err);

/* derive_rows.c: the report's texts. */
void clarke_derive_text_init(clarke_derive_text *t);
void clarke_derive_text_clear(clarke_derive_text *t);
clarke_status clarke_derive_text_fill(clarke_derive_text *t, const clarke_derive_session *s,
                                      const clarke_derivation *d, clarke_error *err);
void clarke_vectors_clear(clarke_vectors *v);
/* Appends a row of n copied numbers. */
clarke_status clarke_vectors_add_numbers(clarke_vectors *v, const clarke_number *x, size_t n,
                                         clarke_error *err);

/* derive_touched.c */
clarke_status clarke_derive_touched(clarke_derive_text *t, const clarke_derive_session *s,
                                    const clarke_derivation *d, clarke_error *err);
void clarke_touched_text_clear(clarke_touched_text *t);

/* derive_float.c: the replays in floating point that were asked for. */
clarke_status clarke_derive_floats(clarke_derive_text *t, const clarke_derive_session *s,
                                   const clarke_derivation *d, clarke_error *err);

/* derive_text.c, derive_json.c */
void clarke_derive_print_text(const clarke_derive_session *s, const clarke_derivation *d,
                              const clarke_derive_text *t);
clarke_status clarke_derive_print_json(const clarke_derive_session *s, const clarke_derivation *d,
                                       const clarke_derive_text *t, clarke_error *err);

/* One row of a sweep, a compact line, after which others follow but for the last. Where the program has no answer d
 * is NULL and why says so. */
clarke_status clarke_derive_row_json(const char *at, const clarke_derivation *d, const clarke_derive_text *t,
                                     const char *why, bool last, clarke_error *err);

/* derive_sweep.c: from + i step, i < n, in place of one entry of the point. */
typedef struct {
  size_t input, entry;
  mpq_t from, step;
  size_t n;
} clarke_derive_range;


void clarke_derive_range_init(clarke_derive_range *r);
void clarke_derive_range_clear(clarke_derive_range *r);
/* [NAME=]A:B:STEP; without NAME, the one input that --at leaves out. */
clarke_status clarke_derive_range_parse(clarke_derive_range *r, const clarke_derive_session *s,
                                        const char *text, clarke_error *err);
/* Reads the other inputs, and prints the table (and draws the figure asked for). */
clarke_status clarke_derive_sweep(clarke_derive_session *s, clarke_error *err);

/* derive_figure.c: --plot over the range; NULL: 2 to either side of the point, in the only input of
 * wrt. */
clarke_status clarke_derive_figure(clarke_derive_session *s, const clarke_derive_range *range,
                                   clarke_error *err);

/* "(1, 2)", of several outputs "((1, 2), (3, 4))", of one number "1", to a stream. */
void clarke_vector_print(FILE *out, const clarke_vectors *v, size_t row,
                         const clarke_derive_text *t);

#endif
