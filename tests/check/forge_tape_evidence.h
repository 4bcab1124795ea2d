/* Evidence about drawn tapes, drawn: right, near to it, and at random. */
#ifndef CLARKE_TESTS_CHECK_FORGE_TAPE_EVIDENCE_H
#define CLARKE_TESTS_CHECK_FORGE_TAPE_EVIDENCE_H

#include "forge_tape_truth.h"

enum { MOST_TEXT = 1 << 15 };

/* A touched kink or window as the kernel has it: which spot it is, and of a window which option each tied term is. */
typedef struct {
  size_t spot, options, option[TAPE_WIDTH];
} site;

/* A tape, the truth about it, and its touched kinks; and the evidence that is written about it. */
typedef struct {
  plain_tape tape;
  truth truth;
  size_t n;
  site site[MOST_SPOTS];
  uint64_t *state;
  char text[MOST_TEXT];
  size_t length;
  double v[TAPE_WEIGHTS]; /* of a tree: along which its leaves are to be separated; all 0: they say nothing */
} scene;

/* What the evidence is by the rule, told in plain numbers: it holds, or not; or that is not told. */
typedef answer (*forger)(scene *s);

typedef enum { RULE_REALIZE, RULE_REFUTE, RULE_AD, RULE_MIX, RULE_HULL, RULE_COMPENSATION, RULE_SIMPLICES, RULE_BALANCE, RULE_SEPARATOR, RULE_BOUND, RULES } rule;

/* Writes evidence of that rule behind the text. */
answer forge_evidence(scene *s, rule r);
void say(scene *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void say_number(scene *s, double x); /* as proofs write it */

#endif
