/* What the subcommands of clarke share: their table, exit statuses, names. */
#ifndef CLARKE_TOOLS_COMMAND_H
#define CLARKE_TOOLS_COMMAND_H

#include "base/status.h"

#include <argp.h>
#include <stdbool.h>

/* The answers of a command. */
enum {
  EXIT_HOLDS = 0,     /* proved to hold */
  EXIT_FAILS = 1,     /* proved not to */
  EXIT_NOT_ASKED = 2, /* usage, an unreadable file, out of memory, our own error */
  EXIT_UNDECIDED = 3,
};

int clarke_verdict_status(clarke_verdict verdict);

/* The one that a script must not overlook: in the order 2, 1, 3, 0. */
int clarke_status_worse(int a, int b);

/* Reads the command line into `to`, by the name that its messages have; where it is wrong, or memory is short, the command ends. */
void clarke_read_arguments(void *to, const struct argp *argp, char *name, int argc, char **argv, unsigned flags);

/* Options that commands share: where a command keeps what they say; NULL: it has no such option. */
typedef struct {
  const char **profile, **wrt, **proof;
  bool *json;
  const char **output;
} clarke_shared_options;

/* Is it one of them, or --limit? Then it has been taken. An empty value, or file's name, ends the command; arg may be
 * NULL. */
bool clarke_take_shared(int key, const char *arg, const struct argp_state *state, const clarke_shared_options *to);

/* The value of --threads, or the command ends; what it is without. */
size_t clarke_read_threads(const char *text, const struct argp_state *state);
size_t clarke_processors(void);

/* The value of --step, or the command ends. */
size_t clarke_read_step(const char *text, const struct argp_state *state);

/* The option --limit NAME=N of every command. */
#define CLARKE_OPTION_LIMIT 'L'
#define CLARKE_OPTION_OF_LIMIT                                                                                    \
  {"limit", CLARKE_OPTION_LIMIT, "NAME=N", 0, "take inputs that ask for more, or less: docs/formats.md has the names", 0}

/* The option --output NAME of commands that read a network. */
#define CLARKE_OPTION_OUTPUT 'O'
#define CLARKE_OPTION_OF_OUTPUT                                                                                   \
  {"output", CLARKE_OPTION_OUTPUT, "NAME", 0, "of a network with several outputs the one that is asked about", 0}

int clarke_command_audit(int argc, char **argv);
int clarke_command_certify(int argc, char **argv);
int clarke_command_check_point(int argc, char **argv);
int clarke_command_cost(int argc, char **argv);
int clarke_command_derive(int argc, char **argv);
int clarke_command_diff(int argc, char **argv);
int clarke_command_patterns(int argc, char **argv);
int clarke_command_encode(int argc, char **argv);
int clarke_command_step(int argc, char **argv);
int clarke_command_sweep(int argc, char **argv);
int clarke_command_merge(int argc, char **argv);
int clarke_command_reproduce(int argc, char **argv);
int clarke_command_report(int argc, char **argv);
int clarke_command_explain(int argc, char **argv);
int clarke_command_profile(int argc, char **argv);
int clarke_command_selftest(int argc, char **argv);

#endif
