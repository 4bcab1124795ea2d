/* What the subcommands of clarke share: their table, exit statuses, names. */
#ifndef CLARKE_TOOLS_COMMAND_H
#define CLARKE_TOOLS_COMMAND_H

#include "status.h"

/* The answers of a command (design: the command line). */
enum {
  EXIT_HOLDS = 0,     /* proved to hold */
  EXIT_FAILS = 1,     /* proved not to */
  EXIT_NOT_ASKED = 2, /* usage, an unreadable file, out of memory, our own error */
  EXIT_UNDECIDED = 3,
};

int clarke_command_audit(int argc, char **argv);
int clarke_command_derive(int argc, char **argv);
int clarke_command_reproduce(int argc, char **argv);

#endif
