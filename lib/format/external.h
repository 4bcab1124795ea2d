/* Entries of tensors that an ONNX model keeps in files beside it (TensorProto.external_data). Only
 * files in the model's own folder and the folders in it are opened, by one name after another from
 * the folder's descriptor: no "..", no absolute path, no symbolic link. */
#ifndef CLARKE_FORMAT_EXTERNAL_H
#define CLARKE_FORMAT_EXTERNAL_H

#include "format/wire.h"

/* A file met so far. */
typedef struct {
  char *location;
  size_t size;
} clarke_external_file;

typedef struct {
  const char *path; /* the model's */
  int folder;       /* a descriptor, -1: not opened yet */
  size_t n, capacity;
  clarke_external_file *file;
  size_t held, claimed; /* bytes of these files; bytes that tensors asked for */
} clarke_external;

void clarke_external_init(clarke_external *x, const char *path);
void clarke_external_clear(clarke_external *x);

/* Where a tensor's entries are, as its external_data says. */
typedef struct {
  clarke_wire_span location;
  bool placed, sized; /* is there an offset, a length? */
  size_t offset, length;
} clarke_external_range;

/* Takes one key and value of external_data (a StringStringEntryProto). */
clarke_status clarke_external_entry(clarke_external_range *r, clarke_wire_span span,
                                    clarke_error *err);

/* Is the range stated wholly, and of as many bytes as the tensor needs, as far as it tells? */
clarke_status clarke_external_check(const clarke_external_range *r, size_t bytes,
                                    clarke_error *err);

/* *data = these bytes (malloc). Where no length is stated, the file must end with them. Errors name
 * the file. x == NULL: there is no folder to look in. */
clarke_status clarke_external_read(unsigned char **data, clarke_external *x,
                                   const clarke_external_range *r, size_t bytes,
                                   clarke_error *err);

#endif
