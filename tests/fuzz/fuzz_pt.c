/* Checkpoints. Bytes that are no ZIP are taken for the pickle in one, with eight storages of 64
 * bytes beside it: a member's CRC would keep every changed pickle from the reader. */
#include "target.h"

#define STORAGE 64

typedef struct {
  unsigned char *data;
  size_t size;
} bytes;

static void
put(bytes *b, const void *data, size_t size)
{
  b->data = realloc(b->data, b->size + size + 1);
  REQUIRE(b->data != NULL);
  if (size != 0)
    memcpy(b->data + b->size, data, size);
  b->size += size;
}

static void
put_word(bytes *b, size_t word, size_t width)
{
  for (size_t k = 0; k < width; k++) {
    const unsigned char byte = (unsigned char)(word >> (8 * k));

    put(b, &byte, 1);
  }
}

/* CRC-32 (ISO 3309), four bits at a time. */
static uint32_t
crc32_of(const unsigned char *data, size_t size)
{
  uint32_t table[16], crc = ~0u;

  for (uint32_t i = 0; i < 16; i++) {
    table[i] = i;
    for (int k = 0; k < 4; k++)
      table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
  }
  for (size_t i = 0; i < size; i++) {
    crc ^= data[i];
    crc = crc >> 4 ^ table[crc & 15];
    crc = crc >> 4 ^ table[crc & 15];
  }
  return ~crc;
}

/* Appends a stored member, and its entry in the directory. */
static void
put_member(bytes *zip, bytes *directory, const char *name, const void *data, size_t size)
{
  const size_t crc = crc32_of(data, size), at = zip->size;
  bytes common = { NULL, 0 };

  put_word(&common, 20, 8); /* version, flags, method, time */
  put_word(&common, 0x21, 2);
  put_word(&common, crc, 4);
  put_word(&common, size, 4);
  put_word(&common, size, 4);
  put_word(&common, strlen(name), 4);
  put(zip, "PK\3\4", 4);
  put(zip, common.data, common.size);
  put(zip, name, strlen(name));
  put(zip, data, size);
  put(directory, "PK\1\2\24\0", 6);
  put(directory, common.data, common.size);
  put_word(directory, 0, 8);
  put_word(directory, 0, 2);
  put_word(directory, at, 4);
  put(directory, name, strlen(name));
  free(common.data);
}

static bytes
archive_around(const uint8_t *data, size_t size)
{
  unsigned char storage[STORAGE];
  bytes zip = { NULL, 0 }, directory = { NULL, 0 };
  size_t start;

  for (size_t i = 0; i < STORAGE; i++)
    storage[i] = i % 4 == 3 ? 63 : i % 2 == 1 ? 60 : 0; /* finite in every type */
  put_member(&zip, &directory, "x/data.pkl", data, size);
  put_member(&zip, &directory, "x/version", "3\n", 2);
  for (char key = '0'; key < '8'; key++) {
    const char name[] = { 'x', '/', 'd', 'a', 't', 'a', '/', key, '\0' };

    put_member(&zip, &directory, name, storage, STORAGE);
  }
  start = zip.size;
  put(&zip, directory.data, directory.size);
  put(&zip, "PK\5\6\0\0\0", 8);
  put_word(&zip, 10 << 16 | 10, 4);
  put_word(&zip, directory.size, 4);
  put_word(&zip, start, 6);
  free(directory.data);
  return zip;
}

static clarke_status
parse(const uint8_t *data, size_t size)
{
  clarke_tensors ts;
  clarke_error err = { CLARKE_OK, "" };
  clarke_status status;

  clarke_tensors_init(&ts);
  status = clarke_pt_parse(&ts, data, size, "x.pt", &err);
  if (status == CLARKE_OK)
    require_tensors(&ts);
  else
    require_refusal(status, &err, "x.pt: ");
  clarke_tensors_clear(&ts);
  return status;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  bytes zip;

  if (size >= 2 && memcmp(data, "PK", 2) == 0) {
    parse(data, size);
    return 0;
  }
  zip = archive_around(data, size);
  parse(zip.data, zip.size);
  free(zip.data);
  return 0;
}
