/* Models as ONNX files and arrays as .npz files, written byte by byte: what the programs read. */
#ifndef CLARKE_TESTS_FORMAT_FILES_H
#define CLARKE_TESTS_FORMAT_FILES_H

#include "protobuf.h"
#include "../network/models.h"

/* --- models --- */

static inline void
put_external(bytes *b, const char *key, const char *value)
{
  bytes m = {NULL, 0};

  put_string(&m, 1, key);
  put_string(&m, 2, value);
  put_message(b, 13, &m);
}

/* A tensor's entries as a file has them: FLOAT where that is its type, else DOUBLE or INT64. */
static inline bytes
entries_of(const clarke_tensor *t)
{
  bytes m = {NULL, 0};

  for (size_t e = 0; t->dtype == CLARKE_F32 && e < t->count; e++) {
    const float narrow = (float)t->real[e];

    put(&m, &narrow, sizeof narrow);
  }
  if (t->dtype != CLARKE_F32)
    put(&m, t->real != NULL ? (const void *)t->real : t->integer, 8 * t->count);
  return m;
}

/* The entries go to `beside`, if that is not NULL: the file at the location. */
static inline void
put_tensor(bytes *b, unsigned field, const clarke_tensor *t, bytes *beside, const char *location)
{
  bytes m = {NULL, 0}, entries = entries_of(t);
  char number[32];

  for (size_t a = 0; a < t->rank; a++)
    put_int(&m, 1, t->dims[a]);
  put_int(&m, 2, t->dtype == CLARKE_F32 ? 1 : t->real != NULL ? 11 : 7); /* FLOAT, DOUBLE, INT64 */
  put_string(&m, 8, t->name);
  if (beside == NULL) {
    put_bytes(&m, 9, entries.data, entries.size);
  } else {
    put_int(&m, 14, 1);
    put_external(&m, "location", location);
    snprintf(number, sizeof number, "%zu", beside->size);
    put_external(&m, "offset", number);
    snprintf(number, sizeof number, "%zu", entries.size);
    put_external(&m, "length", number);
    put(beside, entries.data, entries.size);
  }
  bytes_clear(&entries);
  put_message(b, field, &m);
}

static inline void
put_attribute(bytes *b, const clarke_attr *a)
{
  bytes m = {NULL, 0};
  float f = (float)a->f;

  put_string(&m, 1, a->name);
  switch (a->type) {
  case CLARKE_ATTR_FLOAT:
    put_varint(&m, 2 << 3 | 5);
    put(&m, &f, 4);
    put_int(&m, 20, 1);
    break;
  case CLARKE_ATTR_INT:
    put_int(&m, 3, (uint64_t)a->i);
    put_int(&m, 20, 2);
    break;
  case CLARKE_ATTR_INTS:
    for (size_t i = 0; i < a->n; i++)
      put_int(&m, 8, (uint64_t)a->ints[i]);
    put_int(&m, 20, 7);
    break;
  default:
    ck_abort_msg("no such attribute in these tests");
  }
  put_message(b, 5, &m);
}

static inline void
put_node(bytes *b, const clarke_model_node *node)
{
  bytes m = {NULL, 0};

  for (size_t i = 0; i < node->n_in; i++)
    put_string(&m, 1, node->in[i]);
  for (size_t i = 0; i < node->n_out; i++)
    put_string(&m, 2, node->out[i]);
  put_string(&m, 3, node->name);
  put_string(&m, 4, node->op_type);
  for (size_t i = 0; i < node->n_attr; i++)
    put_attribute(&m, &node->attr[i]);
  put_message(b, 1, &m);
}

static inline void
put_port(bytes *b, unsigned field, const clarke_model_port *p)
{
  bytes m = {NULL, 0}, type = {NULL, 0}, tensor = {NULL, 0}, shape = {NULL, 0};

  put_string(&m, 1, p->name);
  put_int(&tensor, 1, p->dtype == CLARKE_F64 ? 11 : 1);
  for (size_t a = 0; a < p->rank; a++) {
    bytes d = {NULL, 0};

    if (p->dims[a] >= 0)
      put_int(&d, 1, (uint64_t)p->dims[a]);
    else
      put_string(&d, 2, "N");
    put_message(&shape, 1, &d);
  }
  if (p->shaped)
    put_message(&tensor, 2, &shape);
  put_message(&type, 1, &tensor);
  put_message(&m, 2, &type);
  put_message(b, field, &m);
}

static inline bytes
onnx_bytes_beside(const clarke_model *model, bytes *beside, const char *location)
{
  bytes m = {NULL, 0}, graph = {NULL, 0}, opset = {NULL, 0};

  for (size_t i = 0; i < model->n_nodes; i++)
    put_node(&graph, &model->nodes[i]);
  put_string(&graph, 2, "net");
  for (size_t i = 0; i < model->n_tensors; i++)
    put_tensor(&graph, 5, &model->tensors[i], beside, location);
  for (size_t i = 0; i < model->n_inputs; i++)
    put_port(&graph, 11, &model->inputs[i]);
  for (size_t i = 0; i < model->n_outputs; i++)
    put_port(&graph, 12, &model->outputs[i]);
  put_int(&m, 1, 8);
  put_message(&m, 7, &graph);
  put_int(&opset, 2, (uint64_t)model->opset);
  put_message(&m, 8, &opset);
  return m;
}

static inline bytes
onnx_bytes(const clarke_model *model)
{
  return onnx_bytes_beside(model, NULL, NULL);
}

/* --- .npz ------------------------------------------------------------------------------------ */

static inline uint32_t
crc32_of(const bytes *b)
{
  uint32_t crc = ~0u;

  for (size_t i = 0; i < b->size; i++) {
    crc ^= b->data[i];
    for (int k = 0; k < 8; k++)
      crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

static inline bytes
npy_bytes(const clarke_tensor *t)
{
  bytes b = {NULL, 0};
  char header[256], shape[128] = "";

  for (size_t a = 0; a < t->rank; a++)
    snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%zu,", t->dims[a]);
  snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
           t->real != NULL ? "<f8" : "<i8", shape);
  put(&b, "\x93NUMPY\1\0", 8);
  put_word(&b, 118, 2);
  snprintf(header + strlen(header), sizeof header - strlen(header), "%*s",
           (int)(117 - strlen(header)), "");
  put_text(&b, header);
  put_text(&b, "\n");
  put(&b, t->real != NULL ? (const void *)t->real : t->integer, 8 * t->count);
  return b;
}

/* What a local header and a central one share. */
static inline void
put_zip_entry(bytes *b, const bytes *data, size_t name_length)
{
  put_word(b, 20, 2);
  put_word(b, 0, 2);
  put_word(b, 0, 2); /* stored */
  put_word(b, 0x210000, 4);
  put_word(b, crc32_of(data), 4);
  put_word(b, data->size, 4);
  put_word(b, data->size, 4);
  put_word(b, name_length, 2);
  put_word(b, 0, 2);
}

/* An archive in the making: its members so far, their entries in its directory. */
typedef struct {
  bytes members, central;
  size_t n;
} zip;

/* The data are consumed. */
static inline void
put_member(zip *z, const char *name, bytes *data)
{
  size_t at = z->members.size;

  put_text(&z->members, "PK\3\4");
  put_zip_entry(&z->members, data, strlen(name));
  put_text(&z->members, name);
  put(&z->members, data->data, data->size);
  put_text(&z->central, "PK\1\2");
  put_word(&z->central, 20, 2);
  put_zip_entry(&z->central, data, strlen(name));
  put_word(&z->central, 0, 6); /* no comment, the one disk, no attributes */
  put_word(&z->central, 0, 4);
  put_word(&z->central, at, 4);
  put_text(&z->central, name);
  z->n++;
  bytes_clear(data);
}

/* The archive is consumed. */
static inline bytes
zip_bytes(zip *z)
{
  bytes b = z->members;
  size_t start = b.size;

  put(&b, z->central.data, z->central.size);
  put_text(&b, "PK\5\6");
  put_word(&b, 0, 4);
  put_word(&b, z->n, 2);
  put_word(&b, z->n, 2);
  put_word(&b, z->central.size, 4);
  put_word(&b, start, 4);
  put_word(&b, 0, 2);
  bytes_clear(&z->central);
  return b;
}

static inline bytes
npz_bytes(const clarke_tensor *const *t, size_t n)
{
  zip z = {{NULL, 0}, {NULL, 0}, 0};

  for (size_t i = 0; i < n; i++) {
    bytes data = npy_bytes(t[i]);
    char name[64];

    snprintf(name, sizeof name, "%s.npy", t[i]->name);
    put_member(&z, name, &data);
  }
  return zip_bytes(&z);
}

/* --- .pt ------------------------------------------------------------------------------------- */

static inline void
put_pickled_text(bytes *b, const char *text)
{
  put_text(b, "X");
  put_word(b, strlen(text), 4);
  put_text(b, text);
}

/* A tuple of small numbers. */
static inline void
put_pickled_sizes(bytes *b, const size_t *sizes, size_t n)
{
  put_text(b, "(");
  for (size_t k = 0; k < n; k++) {
    put_text(b, "K");
    put_word(b, sizes[k], 1);
  }
  put_text(b, "t");
}

/* A state dict of small tensors of float64, as torch.save writes it. */
static inline bytes
pt_bytes(const clarke_tensor *t, size_t n)
{
  zip z = {{NULL, 0}, {NULL, 0}, 0};
  bytes pickle = {NULL, 0}, version = {NULL, 0};

  put(&pickle, "\x80\2}", 3);
  for (size_t i = 0; i < n; i++) {
    size_t strides[CLARKE_MAX_RANK], step = 1;
    char key[2] = {(char)('0' + i), '\0'}, name[16];
    bytes data = {NULL, 0};

    for (size_t k = t[i].rank; k-- > 0; step *= t[i].dims[k])
      strides[k] = step;
    put_pickled_text(&pickle, t[i].name);
    put_text(&pickle, "ctorch._utils\n_rebuild_tensor_v2\n((");
    put_pickled_text(&pickle, "storage");
    put_text(&pickle, "ctorch\nDoubleStorage\n");
    put_pickled_text(&pickle, key);
    put_pickled_text(&pickle, "cpu");
    put_text(&pickle, "K");
    put_word(&pickle, t[i].count, 1);
    put(&pickle, "tQK\0", 4);
    put_pickled_sizes(&pickle, t[i].dims, t[i].rank);
    put_pickled_sizes(&pickle, strides, t[i].rank);
    put_text(&pickle, "\x89" "ccollections\nOrderedDict\n)RtRs");
    put(&data, t[i].real, 8 * t[i].count);
    snprintf(name, sizeof name, "pt/data/%s", key);
    put_member(&z, name, &data);
  }
  put_text(&pickle, ".");
  put_text(&version, "3\n");
  put_member(&z, "pt/data.pkl", &pickle);
  put_member(&z, "pt/version", &version);
  return zip_bytes(&z);
}

/* --- on disk --------------------------------------------------------------------------------- */

/* The bytes are consumed. */
static inline void
save_bytes(const char *where, const char *name, bytes *b)
{
  char path[512];
  FILE *f;

  snprintf(path, sizeof path, "%s/%s", where, name);
  f = fopen(path, "wb");
  ck_assert_ptr_nonnull(f);
  ck_assert_uint_eq(fwrite(b->data, 1, b->size, f), b->size);
  ck_assert_int_eq(fclose(f), 0);
  bytes_clear(b);
}

static inline void
save_model(const char *where, const char *name, const clarke_model *m)
{
  bytes b = onnx_bytes(m);

  save_bytes(where, name, &b);
}

/* The weights go to NAME.data. */
static inline void
save_model_and_data(const char *where, const char *name, const clarke_model *m)
{
  bytes data = {NULL, 0}, b;
  char location[64];

  snprintf(location, sizeof location, "%s.data", name);
  b = onnx_bytes_beside(m, &data, location);
  save_bytes(where, name, &b);
  save_bytes(where, location, &data);
}

/* y may be NULL. */
static inline void
save_batch(const char *where, const char *name, const clarke_tensor *x, const clarke_tensor *y)
{
  const clarke_tensor *t[2] = {x, y};
  bytes b = npz_bytes(t, y != NULL ? 2 : 1);

  save_bytes(where, name, &b);
}

#endif
