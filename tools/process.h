/* What a process of clarke needs to end well: its standard streams, and what happens when memory runs out. */
#ifndef CLARKE_TOOLS_PROCESS_H
#define CLARKE_TOOLS_PROCESS_H

#include <stdbool.h>

/* Call it first in main. From then on
 * - the descriptors 0, 1 and 2 are open, so that no file is opened as one of them; writing to one that was closed fails;
 * - standard output and error show printable ASCII alone (base/printable.h);
 * - a file that others cut short while it is being read ends the process with status 2 and a message (format/file.h);
 * - at exit, output that could not be written ends the process with status 2 and a message;
 * - GMP, MPFR, FLINT, jansson and libcrypto, which return no error or crash, end it so when memory runs out (GLPK too, in
 *   this thread), and leave no temporary file behind. */
void clarke_process_begin(void);

/* From here on standard output shows all bytes as they are: for a file's text that is asked for, to be a file again. */
void clarke_process_print_as_is(void);

/* Was anything of standard output printed, or is it to be? */
bool clarke_process_has_printed(void);

/* The answer is wanted as JSON: where the process ends with status 2 before a command works, or because memory ran out, and nothing was
 * printed, standard output has an object {"error": why}. */
void clarke_process_answers_in_json(void);

/* Before a command computes: ends with status 2 where a limit of the stack is too low for the deepest work, or one of the address
 * space leaves too little for the BLAS; where there
 * is one, the BLAS has its buffer from here on. It has one thread, unless the user's environment asks for more. */
void clarke_process_computes(void);

/* What a command does from here on. While it works, a library that ends the process gives no answer: status 2. While it reads the
 * command line, argp may end it with a help from which texts are missing, for which there was no memory: so that is status 2, too. */
typedef enum { CLARKE_PROCESS_ENDS, CLARKE_PROCESS_READS, CLARKE_PROCESS_WORKS } clarke_process_stage;
void clarke_process_now(clarke_process_stage stage);

#endif
