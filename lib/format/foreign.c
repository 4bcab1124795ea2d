/* Files of other programs (foreign.h). */
#include "format/foreign.h"

#include <stdbool.h>
#include <string.h>

/* A file begins so from `at` on. */
typedef struct {
  size_t at, size;
  const char *bytes;
  const char *model, *weights; /* NULL: it may be what was expected */
} beginning;

static const beginning known[] = {
  {4, 4, "TFL3", "a TensorFlow Lite model; `python -m tf2onnx.convert --tflite FILE --output net.onnx` writes it as ONNX",
   "a TensorFlow Lite model, which holds no weights by name; --params takes safetensors, .pt and .npz"},
  {0, 8, "\x89HDF\r\n\x1a\n", "an HDF5 file, as Keras writes them; `clarke audit --like keras FILE --batch B.npz` asks about a whole network in one",
   "an HDF5 file, as Keras writes them; --params takes safetensors, .pt and .npz, and --like keras whole networks of Keras"},
};

#define N_KNOWN (sizeof known / sizeof *known)

/* The name of a ZIP archive's first member: its length, 0 where it is none. */
static size_t
first_member(const char **name, const unsigned char *data, size_t size)
{
  enum { HEADER = 30, LENGTH = 26 };
  size_t n;

  if (size < HEADER || memcmp(data, "PK\3\4", 4) != 0)
    return 0;
  n = data[LENGTH] | (size_t)data[LENGTH + 1] << 8;
  *name = (const char *)data + HEADER;
  return n <= size - HEADER ? n : 0;
}

static bool
first_member_ends(const unsigned char *data, size_t size, const char *end)
{
  const char *name = NULL;
  const size_t n = strlen(end), whole = first_member(&name, data, size);

  return whole >= n && memcmp(name + whole - n, end, n) == 0;
}

static bool
first_member_is(const unsigned char *data, size_t size, const char *name)
{
  const char *first = NULL;

  return first_member(&first, data, size) == strlen(name) && memcmp(first, name, strlen(name)) == 0;
}

/* A file beside the weights, as torch.jit.save takes them: FOLDER/extra/NAME. */
static bool
is_extra(const unsigned char *data, size_t size)
{
  static const char within[] = "/extra/";
  const char *name = NULL;
  const size_t whole = first_member(&name, data, size), n = sizeof within - 1;
  const char *slash = whole > 0 ? memchr(name, '/', whole) : NULL;

  return slash != NULL && (size_t)(name + whole - slash) >= n && memcmp(slash, within, n) == 0;
}

/* torch.jit.save writes such files or FOLDER/data/0 first, torch.save FOLDER/data.pkl. */
static bool
is_checkpoint(const unsigned char *data, size_t size)
{
  return first_member_ends(data, size, "/data.pkl") || first_member_ends(data, size, "/data/0") || is_extra(data, size)
         || (size > 8 && data[8] != '{' && memcmp(data, "\x80\2", 2) == 0);
}

static bool
is_keras(const unsigned char *data, size_t size)
{
  return first_member_is(data, size, "metadata.json") || first_member_is(data, size, "config.json");
}

static const char *
begins(const void *data, size_t size, bool model)
{
  for (size_t i = 0; i < N_KNOWN; i++)
    if (size >= known[i].at + known[i].size && memcmp((const char *)data + known[i].at, known[i].bytes, known[i].size) == 0)
      return model ? known[i].model : known[i].weights;
  return NULL;
}

const char *
clarke_foreign_model(const void *data, size_t size)
{
  if (is_checkpoint(data, size))
    return "a checkpoint of PyTorch's, which has no graph; `clarke audit --like NAME FILE --batch B.npz` asks about a network by its name in a "
           "library, and torch.onnx.export writes one as ONNX";
  if (is_keras(data, size))
    return "a network of Keras; `clarke audit --like keras FILE --batch B.npz` asks about it";
  if (first_member_ends(data, size, ".npy"))
    return "an archive of arrays, as numpy.savez writes it: a minibatch or weights";
  if (size > 9 && memcmp((const char *)data + 8, "{\"", 2) == 0)
    return "a safetensors file, which has no graph; `clarke audit --like NAME FILE --batch B.npz` asks about a network by its name in a library";
  return begins(data, size, true);
}

const char *
clarke_foreign_weights(const void *data, size_t size)
{
  if (is_keras(data, size))
    return "a network of Keras; `clarke audit --like keras FILE --batch B.npz` asks about it";
  return begins(data, size, false);
}
