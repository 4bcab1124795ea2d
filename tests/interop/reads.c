/* Prints what the library reads of models and batches as `clarke-check --show` prints what it reads, so that the
 * two, and Python, can be compared: reads [--values] MODEL BATCH [MODEL BATCH]... With --values as `clarke-check --values`. */
#include "reading.h"
#include "format/file.h"

#include <string.h>

static clarke_status
show(const char *model_path, const char *batch_path, bool values, clarke_error *err)
{
  clarke_file model = { 0 }, batch = { 0 };
  clarke_status status = clarke_file_read(&model, model_path, err);

  if (status == CLARKE_OK)
    status = clarke_file_read(&batch, batch_path, err);
  if (status == CLARKE_OK)
    status = reading_show(stdout, &model, model_path, &batch, batch_path, values, err);
  clarke_file_clear(&model);
  clarke_file_clear(&batch);
  return status;
}

int
main(int argc, char **argv)
{
  const bool values = argc > 1 && strcmp(argv[1], "--values") == 0;

  for (int i = values ? 2 : 1; i + 1 < argc; i += 2) {
    clarke_error err = { CLARKE_OK, "" };

    if (show(argv[i], argv[i + 1], values, &err) != CLARKE_OK) {
      fprintf(stderr, "%s\n", err.text);
      printf("refused %s %s\n", argv[i], argv[i + 1]);
    }
    fflush(stdout);
  }
  return 0;
}
