/* clarke: what does automatic differentiation (AD) return where a network is not differentiable, and is it a derivative of
 * anything? This is the whole interface of the library; docs/api.md has a program that uses it.
 *
 * Ownership. What a function gives through its first argument belongs to the caller: handles are freed by the functions
 * below (which take NULL), texts and arrays by free(). Arguments are copied or read during the call; nothing is kept of
 * them. An answer owns all that it needs, and outlives what it was asked of.
 *
 * Errors are values: any status but CLARKE_OK leaves a message in *err (which may be NULL), *out NULL, and what a handle
 * held unchanged. Where memory runs out that is CLARKE_ENOMEM, but in libraries that return no error: then GMP, MPFR, FLINT and
 * GLPK abort the process, OpenBLAS exits, or waits for room where the address space is limited. A host that must go on sets what
 * GMP and FLINT call then (mp_set_memory_functions, flint_set_abort), or asks in a process of its own, as the commands do.
 *
 * Threads. A handle is used by one thread at a time; different handles may be used in different threads, but files are
 * written by one at a time. A host that computes with OpenBLAS keeps its number of BLAS threads; answers do not depend on
 * it. */
#ifndef CLARKE_H
#define CLARKE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Semantic versioning: what is here keeps its meaning while the first number, or the second while the first is 0, does. */
#define CLARKE_VERSION "0.1.0"
const char *clarke_version(void); /* of the library, which is linked */

typedef enum {
  CLARKE_OK = 0,
  CLARKE_EINPUT,    /* the question could not be asked: a bad file, shape, name or option */
  CLARKE_ENOMEM,    /* out of memory, or past a stated limit on size */
  CLARKE_EINTERNAL, /* our own error */
  CLARKE_ESTOPPED,  /* the work was told to stop; of answers, that is a reason to be undecided */
  CLARKE_EVAGUE,    /* at the highest precision a number has no bounds: of answers, a reason to be undecided, too */
} clarke_status;

typedef struct {
  clarke_status code;
  char text[1024]; /* what is wrong, where (file, tensor, node, line), and what was expected */
} clarke_error;

/* Where AD's output lies. Each but the last is proved. */
typedef enum {
  CLARKE_IN_BOULIGAND,  /* a limit of true gradients */
  CLARKE_IN_CLARKE,     /* a convex combination of such limits */
  CLARKE_NOT_IN_CLARKE, /* neither */
  CLARKE_UNDECIDED,
} clarke_verdict;

const char *clarke_verdict_name(clarke_verdict v); /* "in-bouligand", ...; "unknown" of what is none */

typedef struct clarke_batch clarke_batch;
typedef struct clarke_network clarke_network;
typedef struct clarke_program clarke_program;
typedef struct clarke_answer clarke_answer;

/* --- a minibatch: a .npz file with inputs x and targets y, or a .npy file with the inputs alone ---------- */

clarke_status clarke_batch_open(clarke_batch **batch, const char *path, clarke_error *err);
void clarke_batch_free(clarke_batch *batch);

/* --- a network: an ONNX file ---------------------------------------------------------------------------- */

clarke_status clarke_network_open(clarke_network **network, const char *path, clarke_error *err);

/* Takes the weights of a later checkpoint: .safetensors, .npz, a state dict of torch.save (FILE, or FILE:KEY where it is under a
 * key), or an index of shards (.index.json). NULL: the model's own. The file is read here, and understood, shards with it, when
 * it is asked about. */
clarke_status clarke_network_load(clarke_network *network, const char *path, clarke_error *err);

/* Options, by name; value NULL is the default:
 *   profile  AD's numbers at kinks: pytorch-2.13 (default), pytorch-2.14, jax-0.10, tensorflow-2, or a profile file
 *   loss     ce, mse or sum; default: by the batch's y
 *   wrt      parameters to differentiate in, with commas between; default: all
 *   output   of a model with several, the one that is asked about; default: it has one
 *   whole    yes: no axis of the input is the batch (--batch-axis none): each sample of x is a whole input where it declares 1 first,
 *            else x is one; default: no
 *   exact    yes: without the floating-point filter, slower; default: no
 *   ranks    yes: the rank before every layer; default: no
 *   provable yes: refuse what no proof can speak of, before any work; default: no
 *   threads  how many at most (1 to 256); default: 1. The answer is the same
 *   nearest  so many kinks of each layer that come nearest without being touched, in the answer's JSON; default: none
 *   touched  yes: every touched kink in the answer's JSON; default: no */
clarke_status clarke_network_set(clarke_network *network, const char *option, const char *value, clarke_error *err);

/* Can the question be asked of this batch? All that is read before a checkpoint is checked. */
clarke_status clarke_network_check(const clarke_network *network, const clarke_batch *batch, clarke_error *err);

/* Is AD's gradient of the loss on the batch a generalized derivative? */
clarke_status clarke_network_ask(clarke_answer **answer, const clarke_network *network, const clarke_batch *batch,
                                 clarke_error *err);
void clarke_network_free(clarke_network *network);

/* --- a program (docs/programs.md), or a small network as one: a .prog or .onnx file ---------------------- */

clarke_status clarke_program_open(clarke_program **program, const char *path, clarke_error *err);

/* Options: profile, wrt (inputs; of a network its input, or parameters), and output (of a network), as above. */
clarke_status clarke_program_set(clarke_program *program, const char *option, const char *value, clarke_error *err);

/* Value, AD's output, generalized derivatives and verdict at a point: n texts NAME=V,V,..., one for each input, or the path
 * of a .npz file. Of a network: the path of its sample. */
clarke_status clarke_program_ask(clarke_answer **answer, const clarke_program *program, const char *const *at, size_t n,
                                 clarke_error *err);
void clarke_program_free(clarke_program *program);

/* --- an answer ------------------------------------------------------------------------------------------ */

clarke_verdict clarke_answer_verdict(const clarke_answer *answer);
const char *clarke_answer_reason(const clarke_answer *answer); /* the answer's own; a sentence */

/* All that was found, as `clarke audit --json` and `clarke derive --json` print it. Exact numbers are strings. A network's
 * loss is in it once its gradient was asked for. */
clarke_status clarke_answer_json(char **json, const clarke_answer *answer, clarke_error *err);

/* Writes the proof of a decided answer, for clarke-check: whole, or not at all. */
clarke_status clarke_answer_prove(const clarke_answer *answer, const char *path, clarke_error *err);

/* AD's output in the entries of one parameter, or of one input of a program (of several outputs, one after another), in
 * doubles: rounded, and of what is known in an enclosure the middle. Of a large network asked without `exact` an entry is within
 * a bound of it, `gradient_within` in JSON (docs/gradient.md). An error where AD's slope at some argument could not
 * be told. */
clarke_status clarke_answer_gradient(double **gradient, size_t *n, clarke_answer *answer, const char *name,
                                     clarke_error *err);

/* Saves a network's gradient, all of it, as float64 tensors: a .safetensors file. */
clarke_status clarke_answer_save_gradient(clarke_answer *answer, const char *path, clarke_error *err);

void clarke_answer_free(clarke_answer *answer);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
