/* What the subcommands of clarke share: their table, exit statuses, names. */
#ifndef CLARKE_TOOLS_COMMAND_H
#define CLARKE_TOOLS_COMMAND_H

#include "status.h"

#include <argp.h>

/* The answers of a command (design: the command line). */
enum {
  EXIT_HOLDS = 0,     /* proved to hold */
  EXIT_FAILS = 1,     /* proved not to */
  EXIT_NOT_ASKED = 2, /* usage, an unreadable file, out of memory, our own error */
  EXIT_UNDECIDED = 3,
};

/* Ends the command when an option's value, or a file's name, is empty; arg may be NULL. */
void clarke_refuse_empty(const char *arg, const struct argp_state *state);

int clarke_command_audit(int argc, char **argv);
int clarke_command_derive(int argc, char **argv);
int clarke_command_reproduce(int argc, char **argv);

#endif
