/* Who watches a command at work: signals, time and memory may stop it, and how far it is a bar tells on a terminal, lines elsewhere. */
#ifndef CLARKE_TOOLS_WATCH_H
#define CLARKE_TOOLS_WATCH_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct {
  const char *timeout, *memory; /* as they were given; NULL: none */
  double seconds;
  size_t bytes; /* of the process, in memory */
  bool quiet;   /* no lines of how far it is */
} clarke_watch_limits;

/* The options --timeout and --memory. */
#define CLARKE_OPTION_TIMEOUT 'T'
#define CLARKE_OPTION_MEMORY 'M'
#define CLARKE_OPTIONS_OF_WATCH                                                                                         \
  {"timeout", CLARKE_OPTION_TIMEOUT, "SECONDS", 0, "stop after so many seconds: undecided, with what is known", 0},     \
  {"memory", CLARKE_OPTION_MEMORY, "SIZE", 0, "stop when so many bytes of memory are used (K, M, G): undecided, too", 0}

/* Is it one of them? Then it has been taken. */
bool clarke_watch_take(int key, const char *arg, const struct argp_state *state, clarke_watch_limits *to);

/* How far work is: the stage (NULL: before the first), as base/stop.h has it, and seconds, of all and of the stage. */
typedef struct {
  const char *stage;
  size_t done, parts;
  double since, in_stage;
} clarke_watch_at;

/* How a line of that begins, and no message does; and the whole line, whose length it gives. The estimate is of the stage, as if it went
 * on as it did until now. */
#define CLARKE_AT_WORK "clarke at work, "
#define CLARKE_WATCH_ROOM 256
size_t clarke_watch_line(char line[CLARKE_WATCH_ROOM], const clarke_watch_at *at);

/* From here to the end work is told to stop (base/stop.h) by the limits, SIGINT and SIGTERM; a second signal ends the process.
 * When work takes more than a second, and standard error is a terminal, a bar shows there; on a pipe or in a
 * file a line after 10 s, and then the rarer the longer it takes. CLARKE_PROGRESS in the environment says after how many seconds, or
 * "off". With CLARKE_STOP_AFTER=N there work stops at its N-th check: for tests. */
void clarke_watch_begin(const clarke_watch_limits *limits);
/* No bar and no lines from here on, for something else to be printed; or a bar again. */
void clarke_watch_hide(bool hide);
void clarke_watch_end(void);

#endif
