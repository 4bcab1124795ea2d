/* Compiled into the checker's files, ahead of their text, where a fuzzer has them in its own process: variables come into
 * two sections that are put back after each run; memory, files, output and the end of the process go to checker_inside.c. */
#define _GNU_SOURCE
#include <stdio.h>

#include <fcntl.h>
#include <gmp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void *inside_calloc(size_t n, size_t size);
void *inside_realloc(void *p, size_t size);
void inside_free(void *p);
int inside_open(const char *path, int flags);
FILE *inside_stream(char **text, size_t *size); /* of which nothing is kept */
_Noreturn void inside_exit(int status);
extern FILE *inside_output;

#define calloc inside_calloc
#define realloc inside_realloc
#define free inside_free
#define open inside_open
#define open_memstream inside_stream
#define _exit inside_exit
#undef stdout
#undef stderr
#define stdout inside_output
#define stderr inside_output
#define printf(...) fprintf(inside_output, __VA_ARGS__)
#define putchar(c) putc(c, inside_output)
/* There is one thread, and it may leave while it holds a lock. */
#define pthread_mutex_lock(mutex) ((void)(mutex), 0)
#define pthread_mutex_unlock(mutex) ((void)(mutex), 0)

#pragma clang section bss = "checker_bss" data = "checker_data"
