/* One run of clarke audit: files in, report out. */
#ifndef CLARKE_TOOLS_AUDIT_REPORT_H
#define CLARKE_TOOLS_AUDIT_REPORT_H

#include "check_needs.h"
#include "ci.h"
#include "session/certify.h"
#include "summary.h"
#include "watch.h"

#include <limits.h>

typedef struct {
  clarke_audit_request ask; /* its files are read when the command runs */
  const char *proof, *zone_proof, *gradient;
  size_t n_params;
  const char **params; /* checkpoints */
  bool json, verbose, theorems;
  const char *run;   /* a run folder in place of model, batch and checkpoints */
  size_t step;       /* of it; CLARKE_NONE: the first */
  bool serve;        /* run folders come on standard input */
  bool all_steps;    /* all of it, */
  const char *lines; /* a line each in this file; NULL: in none */
  const char *like;  /* the name of a network in a library, of which model_path is a checkpoint; NULL: the file has the graph */
  const char *keep;  /* the folder to record its step in; NULL: one that is removed */
  bool train;        /* it is in training mode */
  clarke_ci ci;
  clarke_watch_limits watch;
} clarke_audit_command;

/* audit_several.c. The whole command: *exit_status is that of the answer (command.h), of several the worst. */
clarke_status clarke_audit_answer(int *exit_status, const clarke_audit_command *command, clarke_error *err);

/* audit_one.c: asks about one checkpoint, or the model's own weights (NULL), and writes what was asked for. The session was
 * read, and is asked once. needs: of a proof that was written; else nothing. */
clarke_status clarke_audit_one(clarke_check_needs *needs, clarke_audit_session *s, const clarke_audit_command *command, const char *params,
                               clarke_error *err);

/* The proof that was asked for and written under that name; NULL: none was, or its name was made of a checkpoint's. */
const char *clarke_audit_proof_written(const clarke_audit_session *s, const clarke_audit_command *command);

/* The gradient and the proof that were asked for. */
clarke_status clarke_audit_write(clarke_check_needs *needs, clarke_audit_session *s, const clarke_audit_command *command, const char *params,
                                 clarke_error *err);

/* audit_run.c: of a recorded step. */
clarke_status clarke_audit_run_folder(int *exit_status, const clarke_audit_command *command, clarke_error *err);
/* Asks, and writes nothing. ask: the command's, of whose files the record has the bytes. The caller clears the answer, on errors too. */
clarke_status clarke_audit_ask_step(clarke_certified *answer, const clarke_audit_command *command, clarke_audit_request *ask, clarke_error *err);
int clarke_audit_step_status(const clarke_certified *c);
/* NULL when out of memory. */
json_t *clarke_audit_step_json(const clarke_certified *c, const clarke_summary *summary, const clarke_check_needs *needs,
                               const clarke_audit_command *command);

/* A step that left the reals, recorded in folder. */
clarke_status clarke_audit_outside_json(json_t **answer, const clarke_run_description *run, const char *folder, clarke_error *err);

/* audit_steps.c: of all recorded steps of a folder. */
clarke_status clarke_audit_steps(int *exit_status, const clarke_audit_command *command, clarke_error *err);

/* audit_serve.c: of one run folder after the other, as standard input has them. */
clarke_status clarke_audit_serve(int *exit_status, const clarke_audit_command *command, clarke_error *err);

/* audit_like.c: the folders that --like made: the run's, and one around it. Empty: none. */
typedef struct {
  char above[PATH_MAX], run[PATH_MAX + sizeof "/run"];
} clarke_audit_like;

/* Records a step of the checkpoint, and makes the command one about its folder. at: zero before; leave it after, on errors too. */
clarke_status clarke_audit_like_record(clarke_audit_command *command, clarke_audit_like *at, clarke_error *err);
void clarke_audit_like_leave(const clarke_audit_like *at);

/* audit_text.c: what comes after the summary, as the command asks for it: --theorems with systems and ranks, -v with gradients that are
 * 0. record: whose step it is, or NULL. */
clarke_status clarke_audit_print_text(const clarke_audit_session *s, const clarke_record *record, const clarke_audit_command *command,
                                      clarke_error *err);

/* audit_zeros.c: entries of the gradient that are 0: a table, and sentences of parameters all of whose entries are. */
void clarke_audit_print_zeros(const clarke_audit_session *s, const clarke_record *record);
void clarke_audit_put_zeros(FILE *to, const clarke_audit_session *s);

/* audit_summary.c: a sentence, where the profile has surrogates and the network such operators. */
void clarke_audit_put_surrogates(FILE *to, const clarke_graph *g);

/* audit_summary.c: of an answered session; ran: of a recorded step, whose audit it is, or NULL. proof: the one that was written,
 * or NULL. The caller clears it, on errors too. */
clarke_status clarke_audit_summary(clarke_summary *summary, const clarke_audit_session *s, const clarke_certified *ran, const char *proof,
                                   clarke_error *err);
/* "net.onnx on 3 samples, ..." */
void clarke_audit_put_question(FILE *to, const clarke_audit_session *s);

/* audit_pictures.c, audit_separator.c: in an answer, if they are wanted (--html, or -v) and there is something to draw, "pictures": what
 * touched kinks see of the minibatch; and "separator": the vector of a verdict that AD's output lies outside (docs/report.md). */
void clarke_audit_set_pictures(json_t **answer, const clarke_audit_session *s, bool wanted);
void clarke_audit_set_separator(json_t **answer, const clarke_audit_session *s, bool wanted);
bool clarke_audit_draws(const clarke_audit_command *command);

/* audit_lists.c: what was asked for, and found. */
clarke_status clarke_audit_print_nearest(const clarke_audit_session *s, clarke_error *err);
clarke_status clarke_audit_print_touched(const clarke_audit_session *s, clarke_error *err);
/* "1/64", "> 1.23457e-05" of a longer one, ">= 1.23457e-05" of a bound. */
void clarke_audit_distance(char *text, size_t size, const clarke_near_text *t);

#endif
