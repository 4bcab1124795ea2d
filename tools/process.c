#define _GNU_SOURCE /* on_exit, fopencookie */
#include <stdio.h> /* before gmp.h */
#ifdef __GLIBC__
#include <stdio_ext.h>
#endif

#include "process.h"
#include "base/output.h"
#include "base/printable.h"
#include "command.h"
#include "session/json.h"

#include <cblas.h>
#include <errno.h>
#include <fcntl.h>
#include <flint/flint.h>
#include <glpk.h>
#include <gmp.h>
#include <jansson.h>
#include <openssl/crypto.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define LEAST_STACK ((rlim_t)4 << 20)    /* bytes, of this thread; others begin with as much */
#define BLAS_BUFFER ((size_t)129 << 20) /* bytes, for each of OpenBLAS's threads, with what malloc adds */

/* Is an answer wanted as JSON, and was none of it printed? */
static bool answers_json;

static void
put(int fd, const char *text)
{
  ssize_t ignored = write(fd, text, strlen(text));

  (void)ignored;
}

static void
say(const char *message)
{
  put(STDERR_FILENO, message);
}

/* In any thread, in the middle of anything: no more memory, no handlers of exit. why has nothing that JSON would escape. */
static _Noreturn void
give_up(const char *why)
{
  say("clarke: ");
  say(why);
  say("\n");
  if (answers_json) {
    put(STDOUT_FILENO, "{\n  \"error\": \"");
    put(STDOUT_FILENO, why);
    put(STDOUT_FILENO, "\"\n}\n");
  }
  _exit(EXIT_NOT_ASKED);
}

static _Noreturn void
out_of_memory(void)
{
  clarke_output_abandon();
  give_up("out of memory");
}

static void *
must_allocate(size_t n)
{
  void *p = malloc(n > 0 ? n : 1);

  if (p == NULL)
    out_of_memory();
  return p;
}

static void *
must_allocate_zeros(size_t n, size_t size)
{
  void *p = calloc(n > 0 ? n : 1, size > 0 ? size : 1);

  if (p == NULL)
    out_of_memory();
  return p;
}

static void *
must_reallocate(void *old, size_t n)
{
  void *p = realloc(old, n > 0 ? n : 1);

  if (p == NULL)
    out_of_memory();
  return p;
}

static void *
gmp_reallocate(void *old, size_t had, size_t n)
{
  (void)had;
  return must_reallocate(old, n);
}

static void
gmp_free(void *p, size_t n)
{
  (void)n;
  free(p);
}

static void *
crypto_allocate(size_t n, const char *file, int line)
{
  (void)file;
  (void)line;
  return must_allocate(n);
}

static void *
crypto_reallocate(void *old, size_t n, const char *file, int line)
{
  (void)file;
  (void)line;
  return must_reallocate(old, n);
}

static void
crypto_free(void *p, const char *file, int line)
{
  (void)file;
  (void)line;
  free(p);
}

/* FLINT has said why, on standard error. */
static __attribute__((noreturn)) void
flint_gave_up(void)
{
  clarke_output_abandon();
  give_up("FLINT gave up");
}

static void
glpk_gave_up(void *unused)
{
  (void)unused;
  out_of_memory();
}

#ifdef __GLIBC__
/* Standard output and error write by these, so that nothing that anybody prints steers a terminal. */
typedef struct {
  int fd;
  bool as_is, used;
} terminal;

static terminal output = {STDOUT_FILENO, false, false}, messages = {STDERR_FILENO, false, false};

static clarke_process_stage now;

/* The first line that was said of a command line, as far as it fits: what is wrong with it. */
static struct {
  char line[4096];
  size_t size;
  bool whole;
} heard;

static void
hear(const char *data, size_t n)
{
  for (size_t i = 0; i < n && !heard.whole; i++) {
    heard.whole = data[i] == '\n' || heard.size + 1 == sizeof heard.line;
    if (data[i] != '\n')
      heard.line[heard.size++] = data[i];
  }
}

static bool
write_all(int fd, const char *data, size_t n)
{
  while (n > 0) {
    ssize_t written = write(fd, data, n);

    if (written < 0)
      return errno == EPIPE; /* who read has seen enough, as `head` does: what is left is dropped */
    data += written;
    n -= (size_t)written;
  }
  return true;
}

/* As a stream's writer returns: how much of data was written; 0 is an error. */
static ssize_t
write_printable(void *to, const char *data, size_t n)
{
  terminal *t = to;
  char text[1024 * CLARKE_PRINTABLE_MOST];

  t->used = t->used || n > 0;
  if (t == &output && n > 0)
    answers_json = false;
  if (t == &messages && now != CLARKE_PROCESS_WORKS)
    hear(data, n);
  for (size_t at = 0, part; at < n; at += part) {
    part = n - at < 1024 ? n - at : 1024;
    if (t->as_is ? !write_all(t->fd, data + at, part) : !write_all(t->fd, text, clarke_printable(text, data + at, part)))
      return 0;
  }
  return (ssize_t)n;
}

static int
close_terminal(void *to)
{
  return close(((terminal *)to)->fd);
}

static FILE *
printable_stream(terminal *t, int buffering)
{
  FILE *f = fopencookie(t, "w", (cookie_io_functions_t){.write = write_printable, .close = close_terminal});

  if (f == NULL || setvbuf(f, NULL, buffering, BUFSIZ) != 0)
    out_of_memory();
  return f;
}

static void
print_printable(void)
{
  stdout = printable_stream(&output, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF);
  stderr = printable_stream(&messages, _IONBF);
}

void
clarke_process_print_as_is(void)
{
  fflush(stdout); /* which remembers its errors */
  output.as_is = true;
}

bool
clarke_process_has_printed(void)
{
  return output.used || __fpending(stdout) > 0;
}
#else
bool
clarke_process_has_printed(void)
{
  return true; /* it is not known */
}

static void
print_printable(void)
{
}

void
clarke_process_print_as_is(void)
{
}
#endif

void
clarke_process_now(clarke_process_stage stage)
{
  now = stage;
  errno = 0;
}

static void
close_output(void)
{
  bool failed = ferror(stdout) != 0;
  int why;

  if (now == CLARKE_PROCESS_READS && errno == ENOMEM)
    out_of_memory();
  errno = 0;
  failed = fclose(stdout) != 0 || failed;
  why = errno;
  if (!failed)
    return;
  say("clarke: standard output cannot be written: ");
  say(why != 0 ? strerror(why) : "an earlier error");
  say("\n");
  _exit(EXIT_NOT_ASKED);
}

static bool
space_is_limited(void)
{
  struct rlimit space;

  return getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY;
}

#ifdef __GLIBC__
/* "error": what was heard, behind the command's name. */
static void
answer_in_json(int status, void *unused)
{
  const char *begins = strncmp(heard.line, "clarke", strlen("clarke")) == 0 ? strstr(heard.line, ": ") : NULL;
  clarke_error err;

  (void)unused;
  if (status == EXIT_NOT_ASKED && answers_json && heard.size > 0 && now != CLARKE_PROCESS_WORKS && !clarke_process_has_printed())
    clarke_json_print(stdout, json_pack("{s:o}", "error", clarke_json_text(begins != NULL ? begins + 2 : heard.line)), JSON_INDENT(2), "\n", &err);
}

/* Whoever ends the process in the middle of work has no answer, whatever the status says: OpenBLAS exits with 1 when it gets no
 * memory. Under a limit of its address space a process may have no room for OpenBLAS's threads; its destructor waits for them
 * all the same, for ever. So the process ends before the destructors, its output being closed. */
static void
end_at_once(int status, void *unused)
{
  (void)unused;
  if (now == CLARKE_PROCESS_WORKS)
    _exit(EXIT_NOT_ASKED);
  if (space_is_limited())
    _exit(status);
}
#endif

/* Has each of the BLAS's threads room for its buffer? Where one has not, OpenBLAS tries again for ever. Buffers that some
 * have already are asked for again: too much rather than too little. */
static bool
has_room(void)
{
  size_t most = (size_t)openblas_get_num_threads() * BLAS_BUFFER;
  void *probe = mmap(NULL, most, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return probe != MAP_FAILED && munmap(probe, most) == 0;
}

/* The first product gets OpenBLAS its buffer, which it keeps: now, while there is room. */
static void
get_buffer(void)
{
  enum { N = 128 }; /* smaller ones need none on some processors */
  double *a = calloc((size_t)N * N, sizeof *a), *product = calloc((size_t)N * N, sizeof *product);

  if (a == NULL || product == NULL)
    out_of_memory();
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1, a, N, a, N, 0, product, N);
  free(product);
  free(a);
}

static void
open_standard_streams(void)
{
  static const char *const stand_in[] = {"/dev/null", "/dev/full", "/dev/full"};

  for (int fd = 0; fd < 3; fd++)
    if (fcntl(fd, F_GETFD) < 0 && open(stand_in[fd], fd == 0 ? O_RDONLY : O_WRONLY) != fd)
      _exit(EXIT_NOT_ASKED);
}

/* A byte of a mapped file is there no more. What else raises the signal ends the process as it always did. */
static void
file_is_gone(int number, siginfo_t *why, void *unused)
{
  (void)unused;
  if (why->si_code != BUS_ADRERR) {
    signal(number, SIG_DFL);
    return;
  }
  clarke_output_abandon();
  give_up("a file was cut short, or failed, while it was being read");
}

static void
watch_mapped_files(void)
{
  struct sigaction by = {.sa_sigaction = file_is_gone, .sa_flags = SA_SIGINFO};

  sigemptyset(&by.sa_mask);
  sigaction(SIGBUS, &by, NULL);
}

void
clarke_process_begin(void)
{
  open_standard_streams();
  print_printable();
  signal(SIGPIPE, SIG_IGN); /* a pipe that nobody reads ends no command: write_all */
  signal(SIGXFSZ, SIG_IGN); /* a file that may grow no more is an error of writing */
  watch_mapped_files();
  mp_set_memory_functions(must_allocate, gmp_reallocate, gmp_free);
  __flint_set_memory_functions(must_allocate, must_allocate_zeros, must_reallocate, free);
  flint_set_abort(flint_gave_up);
  json_set_alloc_funcs(must_allocate, free);
  CRYPTO_set_mem_functions(crypto_allocate, crypto_reallocate, crypto_free);
  if (glp_init_env() > 1)
    out_of_memory();
  glp_error_hook(glpk_gave_up, NULL);
#ifdef __GLIBC__
  if (on_exit(end_at_once, NULL) != 0)
    out_of_memory();
#endif
  if (atexit(close_output) != 0) /* runs before it */
    out_of_memory();
#ifdef __GLIBC__
  if (on_exit(answer_in_json, NULL) != 0) /* and this before both */
    out_of_memory();
#endif
}

void
clarke_process_answers_in_json(void)
{
  answers_json = true;
}

/* What the deepest work takes, twice: regions behind regions (region/regions_inside.h). Less ends a process without a word. */
static void
require_stack(void)
{
  struct rlimit stack;
  char message[128];

  if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= LEAST_STACK)
    return;
  snprintf(message, sizeof message, "the stack is limited to %llu KiB; %llu KiB are needed (ulimit -s)",
           (unsigned long long)stack.rlim_cur >> 10, (unsigned long long)LEAST_STACK >> 10);
  give_up(message);
}

#if defined __x86_64__ && defined __GLIBC__
extern void gotoblas_dynamic_quit(void) __attribute__((weak));
extern void gotoblas_dynamic_init(void) __attribute__((weak));

/* An OpenBLAS that is older than its processor takes it for the least of all, whose kernels are half as fast and less. It is told what the
 * processor has; users who tell it themselves are left alone. */
static void
tell_processor(void)
{
  const bool widest = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw")
                      && __builtin_cpu_supports("avx512vl");

  if (getenv("OPENBLAS_CORETYPE") != NULL || gotoblas_dynamic_quit == NULL || gotoblas_dynamic_init == NULL
      || strcmp(openblas_get_corename(), "Prescott") != 0 || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    return;
  if (setenv("OPENBLAS_CORETYPE", widest ? "SkylakeX" : "Haswell", 0) != 0)
    return;
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
}
#else
static void
tell_processor(void)
{
}
#endif

extern int blas_thread_shutdown_(void) __attribute__((weak));

/* OpenBLAS began threads when it was loaded. Each asks for work again and again, for some hundredths of a second, before it sleeps: they end. */
static void
leave_one_thread(void)
{
  openblas_set_num_threads(1);
  if (blas_thread_shutdown_ != NULL)
    blas_thread_shutdown_();
}

void
clarke_process_computes(void)
{
  const bool limited = space_is_limited();

  require_stack();
  tell_processor();

  if (limited && !has_room())
    give_up("out of memory: the limit of the address space is too low for the BLAS's buffers");
  if (getenv("OPENBLAS_NUM_THREADS") == NULL) /* so that times can be repeated; results always can */
    leave_one_thread();
  if (limited)
    get_buffer();
}
