/* Checkpoints. Bytes that are no ZIP, nor begin as files before torch 1.6 do, are taken for the pickle in one, with eight storages of 64
 * bytes beside it: a member's CRC would keep every changed pickle from the reader. */
#include "buffer.h"
#include "mutate.h"
#include "target.h"
#include "format/pt.h"
#include "format/pt_inside.h"

#define STORAGE 64

MUTATED_AS(mutate_archive)

static void
add(member *m, const char *name, const void *content, size_t size)
{
  *m = (member){.deflated = false};
  buffer_put(&m->name, name, strlen(name));
  buffer_put(&m->content, content, size);
}

static buffer
archive_around(const uint8_t *data, size_t size)
{
  unsigned char storage[STORAGE];
  member *members = calloc(10, sizeof *members);
  buffer zip = {0};

  REQUIRE(members != NULL);
  for (size_t i = 0; i < STORAGE; i++)
    storage[i] = i % 4 == 3 ? 63 : i % 2 == 1 ? 60 : 0; /* finite in every type */
  add(&members[0], "x/data.pkl", data, size);
  add(&members[1], "x/version", "3\n", 2);
  for (size_t key = 0; key < 8; key++) {
    const char name[] = {'x', '/', 'd', 'a', 't', 'a', '/', (char)('0' + key), '\0'};

    add(&members[2 + key], name, storage, STORAGE);
  }
  archive_seal(&zip, members, 10);
  members_free(members, 10);
  return zip;
}

static clarke_status
parse_under(const char *key, const uint8_t *data, size_t size)
{
  clarke_tensors ts;
  clarke_error err = { CLARKE_OK, "" };
  clarke_status status;

  clarke_tensors_init(&ts);
  status = clarke_pt_parse(&ts, key, data, size, "x.pt", &err);
  if (status == CLARKE_OK)
    require_tensors(&ts);
  else
    require_refusal(status, &err, "x.pt: ");
  clarke_tensors_clear(&ts);
  return status;
}

static void
parse(const uint8_t *data, size_t size)
{
  parse_under(NULL, data, size);
  parse_under("state_dict", data, size);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  buffer zip;

  if ((size >= 2 && memcmp(data, "PK", 2) == 0) || clarke_pt_is_legacy(data, size)) {
    parse(data, size);
    return 0;
  }
  zip = archive_around(data, size);
  parse(zip.data, zip.size);
  buffer_clear(&zip);
  return 0;
}
