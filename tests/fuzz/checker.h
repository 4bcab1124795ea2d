/* The checker as a fuzz target calls it. A fuzzer has it compiled into its own process, whose edges libFuzzer counts: the
 * checker's memory and its variables are then put back after each run (checker_inside.c). A replay calls it in a child
 * (checker_apart.c). */
#ifndef CLARKE_TESTS_FUZZ_CHECKER_H
#define CLARKE_TESTS_FUZZ_CHECKER_H

#include <stddef.h>
#include <stdint.h>

/* How it ended (session.h: 0 verified, 1 failed, 2 refused, 3 undecided), and all that it wrote, NUL-terminated, which is valid
 * until the next run. */
typedef struct {
  int status;
  const char *said;
} checker_answer;

checker_answer checker_run(void (*work)(const void *what), const void *what);

/* Work (checker_work.c). */
typedef struct {
  const uint8_t *data;
  size_t size;
} checker_bytes;
typedef struct {
  const char *model, *batch;
} checker_pair;
typedef struct {
  const char *proof, *folder;
} checker_proof;
void checker_tensors(const void *bytes); /* prints the tensors of a file of numbers, one a line */
void checker_batch(const void *bytes);   /* prints x and y */
void checker_show(const void *pair);     /* clarke-check --show, of two paths */
void checker_check(const void *proof);   /* clarke-check, at 64 bits alone */

/* The path under which these bytes can be read, until the next call with the same place (0 to 3). */
const char *checker_file(int place, const void *data, size_t size);

#endif
