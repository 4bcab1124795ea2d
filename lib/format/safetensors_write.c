/* Writing float64 tensors as safetensors (safetensors.c says what that is). The file appears under
 * its name only when it is whole: it is written beside it and renamed. */
#include "format/readers.h"
#include "format/text.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static clarke_status
check_tensor(const clarke_tensor *t, clarke_error *err)
{
  if (t->name == NULL || !clarke_text_valid(t->name, strlen(t->name))
      || strcmp(t->name, "__metadata__") == 0)
    return clarke_fail(err, CLARKE_EINPUT, "a tensor has no name that can be written");
  if (t->dtype != CLARKE_F64 || t->real == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "tensor \"%s\" is %s; expected float64", t->name,
                       clarke_dtype_name(t->dtype));
  for (size_t i = 0; i < t->count; i++)
    if (!isfinite(t->real[i]))
      return clarke_fail(err, CLARKE_EINPUT, "tensor \"%s\": entry %zu is not finite", t->name, i);
  return CLARKE_OK;
}

/* {"dtype":"F64","shape":[...],"data_offsets":[at,end]}; NULL out of memory. */
static json_t *
describe(const clarke_tensor *t, size_t at)
{
  json_t *shape = json_array();

  for (size_t k = 0; k < t->rank; k++)
    if (json_array_append_new(shape, json_integer((json_int_t)t->dims[k])) != 0) {
      json_decref(shape);
      return NULL;
    }
  return json_pack("{s:s, s:o, s:[I,I]}", "dtype", "F64", "shape", shape, "data_offsets",
                   (json_int_t)at, (json_int_t)(at + 8 * t->count));
}

static clarke_status
describe_all(json_t *header, const clarke_tensors *ts, clarke_error *err)
{
  size_t at = 0;

  for (size_t i = 0; i < ts->n; i++) {
    const clarke_tensor *t = &ts->tensor[i];
    clarke_status status = check_tensor(t, err);

    if (status != CLARKE_OK)
      return status;
    if (json_object_get(header, t->name) != NULL)
      return clarke_fail(err, CLARKE_EINPUT, "two tensors are named \"%s\"", t->name);
    if (json_object_set_new(header, t->name, describe(t, at)) != 0)
      return clarke_fail(err, CLARKE_ENOMEM, "no memory for the header");
    at += 8 * t->count;
  }
  return CLARKE_OK;
}

/* *text = the header as JSON. */
static clarke_status
make_header(char **text, const clarke_tensors *ts, clarke_error *err)
{
  json_t *header = json_object();
  clarke_status status;

  *text = NULL;
  if (header == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for the header");
  status = describe_all(header, ts, err);
  if (status == CLARKE_OK) {
    *text = json_dumps(header, JSON_COMPACT);
    if (*text == NULL)
      status = clarke_fail(err, CLARKE_ENOMEM, "no memory for the header");
  }
  json_decref(header);
  return status;
}

static bool
put_word(FILE *f, uint64_t word)
{
  unsigned char bytes[8];

  for (size_t k = 0; k < 8; k++)
    bytes[k] = (unsigned char)(word >> (8 * k));
  return fwrite(bytes, 1, 8, f) == 8;
}

/* The length, the header padded with spaces to a multiple of 8, the data. False: see errno. */
static bool
put_all(FILE *f, const char *header, const clarke_tensors *ts)
{
  const size_t length = strlen(header), padding = (8 - length % 8) % 8;
  bool good = put_word(f, length + padding) && fwrite(header, 1, length, f) == length
              && fwrite("       ", 1, padding, f) == padding;

  for (size_t i = 0; i < ts->n && good; i++)
    for (size_t k = 0; k < ts->tensor[i].count && good; k++) {
      uint64_t word;

      memcpy(&word, &ts->tensor[i].real[k], sizeof word);
      good = put_word(f, word);
    }
  return good && fflush(f) == 0 && fsync(fileno(f)) == 0;
}

/* Creates a new file beside path, with the permissions the user's mask gives. */
static clarke_status
create_beside(FILE **f, char **temporary, const char *path, clarke_error *err)
{
  const size_t room = strlen(path) + 40;
  int fd = -1;

  *f = NULL;
  *temporary = malloc(room);
  if (*temporary == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for a file name");
  for (unsigned k = 0; k < 100 && fd < 0; k++) {
    snprintf(*temporary, room, "%s.%ld-%u.tmp", path, (long)getpid(), k);
    fd = open(*temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno != EEXIST)
      break;
  }
  if (fd >= 0)
    *f = fdopen(fd, "wb");
  if (*f != NULL)
    return CLARKE_OK;
  clarke_fail(err, CLARKE_EINPUT, "cannot be created: %s", strerror(errno));
  if (fd >= 0) {
    close(fd);
    unlink(*temporary);
  }
  return CLARKE_EINPUT;
}

static clarke_status
write_file(const char *path, const char *header, const clarke_tensors *ts, clarke_error *err)
{
  FILE *f;
  char *temporary;
  bool good;
  clarke_status status = create_beside(&f, &temporary, path, err);

  if (status == CLARKE_OK) {
    good = put_all(f, header, ts);
    good = fclose(f) == 0 && good;
    good = good && rename(temporary, path) == 0;
    if (!good) {
      status = clarke_fail(err, CLARKE_EINPUT, "cannot be written: %s", strerror(errno));
      unlink(temporary);
    }
  }
  free(temporary);
  return status;
}

clarke_status
clarke_safetensors_write(const char *path, const clarke_tensors *ts, clarke_error *err)
{
  char *header;
  clarke_status status = make_header(&header, ts, err);

  if (status == CLARKE_OK)
    status = write_file(path, header, ts, err);
  free(header);
  return status == CLARKE_OK ? status : clarke_fail_in(err, status, "%s", path);
}
