/* What an answer holds against what was asked about: the entries of a SARIF or JUnit file, and what --fail-on and --baseline
 * speak of.
 *
 * It is read off the object that --json prints, so that no two outputs can say different things. Each question that was asked
 * is an entry; one of which nothing is found has the rule CLARKE_RULE_NONE. */
#ifndef CLARKE_TOOLS_FINDINGS_H
#define CLARKE_TOOLS_FINDINGS_H

#include "base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
  CLARKE_RULE_NONE,
  CLARKE_RULE_NOT_IN_CLARKE,
  CLARKE_RULE_REFUTED,
  CLARKE_RULE_UNDECIDED,
  CLARKE_RULE_NOT_KNOWN,
  CLARKE_RULE_IN_CLARKE,
  CLARKE_RULE_TURNED,
  CLARKE_RULE_TOUCHED,
  CLARKE_RULE_NOT_ASKED, /* no finding: the question could not be asked */
  CLARKE_N_RULES,
} clarke_rule;

typedef struct {
  const char *name, *level; /* as SARIF has levels: error, warning, note */
  const char *summary;      /* a few words, with no full stop */
  const char *help;         /* what it means, and what to do: sentences */
} clarke_rule_words;

const clarke_rule_words *clarke_rule_told(clarke_rule rule);

typedef struct {
  clarke_rule rule;
  const char *question; /* "verdict", "gradient", "touched", or the part of a certificate; of the answer's memory, or static */
  const char *subject;  /* the checkpoint, of several; else NULL */
  const char *place;    /* the layer, node or tensor; NULL: all */
  const char *file;     /* in the folder `path`; NULL: path itself */
  size_t count;         /* of kinks or entries; 1 of an answer */
  size_t line, column;  /* of a program; 0: none */
  int status;           /* the exit status that it asks for by itself (command.h) */
  char *message;        /* a sentence */
  bool known;           /* by the baseline */
  bool replaced;        /* it is about a network with surrogates: the message is told where nothing is found, too */
} clarke_finding;

typedef struct {
  const char *command; /* "audit", ... */
  const char *path; /* the model or program, as it was named; of a run folder its graph; of tensor cores' results the folder */
  const char *batch, *checkpoint; /* files; NULL: there is none, or there are several */
  const json_t *asked;            /* what else tells the question from others: loss, point, inputs; read off the answer */
  const char *profile;            /* of the answer's memory; NULL: there is none */
  clarke_finding *finding;
  size_t n;
  size_t room; /* private */
  bool failed; /* out of memory: clarke_findings_read says so */
} clarke_findings;

/* `list` has command, path, batch and checkpoint, and is zeroed otherwise. answer outlives it. `own` is the status that the
 * command has without options: the worst status of a finding is made the same. */
clarke_status clarke_findings_read(clarke_findings *list, const json_t *answer, int own, clarke_error *err);

/* One entry: the question could not be asked. */
clarke_status clarke_findings_fail(clarke_findings *list, const char *why, int own, clarke_error *err);
void clarke_findings_clear(clarke_findings *list);

/* What tells a finding from others, over runs (malloc): rule, command, question, file, batch, checkpoint, place, profile, and
 * what else was asked. NULL: out of memory. */
char *clarke_finding_print(const clarke_findings *list, const clarke_finding *finding);

/* Where it lies, as a URI reference (malloc): file:///... of an absolute path. NULL: out of memory. */
char *clarke_finding_uri(const clarke_findings *list, const clarke_finding *finding);

/* FNV-1a of a text. */
uint64_t clarke_text_hash(const char *text);

#endif
