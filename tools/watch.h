/* Who watches a command at work: signals, time and memory may stop it, and a bar tells on a terminal how far it is. */
#ifndef CLARKE_TOOLS_WATCH_H
#define CLARKE_TOOLS_WATCH_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct {
  const char *timeout, *memory; /* as they were given; NULL: none */
  double seconds;
  size_t bytes; /* of the process, in memory */
} clarke_watch_limits;

/* The options --timeout and --memory. */
#define CLARKE_OPTION_TIMEOUT 'T'
#define CLARKE_OPTION_MEMORY 'M'
#define CLARKE_OPTIONS_OF_WATCH                                                                                         \
  {"timeout", CLARKE_OPTION_TIMEOUT, "SECONDS", 0, "stop after so many seconds: undecided, with what is known", 0},     \
  {"memory", CLARKE_OPTION_MEMORY, "SIZE", 0, "stop when so many bytes of memory are used (K, M, G): undecided, too", 0}

/* Is it one of them? Then it has been taken. */
bool clarke_watch_take(int key, const char *arg, const struct argp_state *state, clarke_watch_limits *to);

/* From here to the end work is told to stop (base/stop.h) by the limits, SIGINT and SIGTERM; a second signal ends the process.
 * When work takes more than a second, and standard error is a terminal, a bar shows there. With CLARKE_STOP_AFTER=N in the
 * environment work stops at its N-th check: for tests. */
void clarke_watch_begin(const clarke_watch_limits *limits);
/* No bar from here on, for something else to be printed; or a bar again. */
void clarke_watch_hide(bool hide);
void clarke_watch_end(void);

#endif
