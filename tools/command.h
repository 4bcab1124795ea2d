/* What the subcommands of clarke share: their table, exit statuses, names. */
#ifndef CLARKE_TOOLS_COMMAND_H
#define CLARKE_TOOLS_COMMAND_H

#include "base/status.h"

#include <argp.h>

/* The answers of a command. */
enum {
  EXIT_HOLDS = 0,     /* proved to hold */
  EXIT_FAILS = 1,     /* proved not to */
  EXIT_NOT_ASKED = 2, /* usage, an unreadable file, out of memory, our own error */
  EXIT_UNDECIDED = 3,
};

/* Ends the command when an option's value, or a file's name, is empty; arg may be NULL. */
void clarke_refuse_empty(const char *arg, const struct argp_state *state);

/* The option --limit NAME=N of every command, and what it does; an error ends the command. */
#define CLARKE_OPTION_LIMIT 'L'
#define CLARKE_OPTION_OF_LIMIT                                                                                    \
  {"limit", CLARKE_OPTION_LIMIT, "NAME=N", 0, "take inputs that ask for more, or less: docs/formats.md has the names", 0}
void clarke_take_limit(const char *arg, const struct argp_state *state);

int clarke_command_audit(int argc, char **argv);
int clarke_command_derive(int argc, char **argv);
int clarke_command_reproduce(int argc, char **argv);

#endif
