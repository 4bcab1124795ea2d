/* The lines of a proof, and the account of what is verified. */
#ifndef CLARKE_KERNEL_LINES_H
#define CLARKE_KERNEL_LINES_H

#include "check/base/bytes.h"
#include "check/base/value.h"

void lines_begin(bytes proof); /* which must end with its hash */

/* ---- A line of that keyword, if it is the next, or else a failure */

bool line_is(const char *keyword);                      /* false: another line is next */
void next_line(const char *keyword);                    /* begins it */
void known_line(const char *keyword, const char *word); /* `KEYWORD WORD` with a word that is known */
void last_line(void);                                   /* `end`, with nothing behind it */

extern const char safe[]; /* the characters that stand for themselves in names */

/* ---- Words of the line: any, a rational, a number, a decoded name; a file by `NAME HASH` */

const char *next_word(void);                              /* which must be there */
bool more_words(void);                                    /* is one left in the line? */
bool word_is(const char *word);                           /* is it the next one? */
void unread_word(const char *word);                       /* the last one is the next again */
void next_rational(rational *q);                          /* in lowest terms */
size_t next_number(void);                                 /* a whole one, at least 0 */
char *next_name(void);                                    /* a copy */
bytes next_file(const char *folder, const char *what);    /* of that folder, with that hash; what: for messages */
bytes sibling_file(const char *folder, const char *name); /* of that base name, whatever its hash */
void refuse_links(void);                                  /* from here on no file may be a symbolic link */

/* ---- The account: the statement in words */

extern FILE *account;
void account_begin(void);       /* opens it */
const char *account_text(void); /* what was written on it */
/* In the one way that proofs write it: no two names alike, and nothing but ASCII. */
void write_name(FILE *to, const char *name);
void state_name(const char *name);                 /* the same, on account; of an empty one "(no name)" */
void state_shape(const size_t *dims, size_t rank); /* (2, 3); an axis of 0 is one that is not declared */
void state_profile(char *name);                    /* frees it */

#endif
