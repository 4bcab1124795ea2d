#include "beside.h"
#include "seal.h"
#include "target.h"

#include <string.h>
#include <unistd.h>

#define MOST 12 /* files */

static char folder[] = "/tmp/clarke-fuzz-XXXXXX", written[MOST][64];

static void
remove_folder(void)
{
  for (size_t i = 0; i < MOST && *written[i] != '\0'; i++)
    unlink(written[i]);
  rmdir(folder);
}

const char *
own_folder(void)
{
  static bool made;

  if (!made) {
    REQUIRE(mkdtemp(folder) != NULL);
    atexit(remove_folder);
    made = true;
  }
  return folder;
}

void
folder_write(const char *name, const void *data, size_t size)
{
  char path[64];
  size_t i = 0;
  FILE *f;

  snprintf(path, sizeof path, "%s/%s", own_folder(), name);
  while (i < MOST && *written[i] != '\0' && strcmp(written[i], path) != 0)
    i++;
  REQUIRE(i < MOST);
  strcpy(written[i], path);
  f = fopen(path, "wb");
  REQUIRE(f != NULL && fwrite(data, 1, size, f) == size && fclose(f) == 0);
}

size_t
end_of_first(const uint8_t *data, size_t size)
{
  for (size_t i = 0; i + 4 <= size; i++)
    if ((i == 0 || data[i - 1] == '\n') && memcmp(data + i, "===\n", 4) == 0)
      return i;
  return size;
}

checker_answer
checked_beside(const uint8_t *data, size_t size, size_t n)
{
  const size_t from = n < size ? n + 4 : n;
  buffer proof = sealed_proof(own_folder(), data + from, size - from);
  const checker_proof what = {checker_file(0, proof.data, proof.size), own_folder()};
  const checker_answer answer = checker_run(checker_check, &what);

  REQUIRE(answer.status >= 0 && answer.status <= 3);
  REQUIRE(answer.status != 0 || strncmp(answer.said, "VERIFIED\n", 9) == 0);
  buffer_clear(&proof);
  return answer;
}
