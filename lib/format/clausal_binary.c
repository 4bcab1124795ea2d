/* Binary DRAT. */
#include "format/clausal_inside.h"
#include "format/dimacs.h"

#define REFUSE(file, at, err, format, ...) clarke_fail(err, CLARKE_EINPUT, "%s: byte %zu: " format, file, at, __VA_ARGS__)

/* A number in groups of 7 bits at data[*at]; false where the file ends in it, or it has no room in 32 bits. */
static bool
take_number(uint64_t *number, const unsigned char *data, size_t size, size_t *at)
{
  *number = 0;
  for (unsigned shift = 0; *at < size && shift < 35; shift += 7) {
    const unsigned char byte = data[(*at)++];

    *number |= (uint64_t)(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0)
      return *number <= UINT32_MAX;
  }
  return false;
}

clarke_status
clarke_clausal_binary(clarke_clausal *p, const unsigned char *data, size_t size, const char *file, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t at = 0; status == CLARKE_OK && at < size;) {
    const size_t begun = at;
    const unsigned char kind = data[at++];
    uint64_t number = 1;

    if (kind != 'a' && kind != 'd')
      return REFUSE(file, begun, err, "%u begins no step, expected 'a' or 'd' (a byte is 0, so the file is binary)", kind);
    status = clarke_clausal_begin(p, kind == 'd', begun, 0, err);
    while (status == CLARKE_OK && number != 0) {
      if (!take_number(&number, data, size, &at) || (number != 0 && (number < 2 || number / 2 > CLARKE_CNF_VARIABLES)))
        return REFUSE(file, at, err, "no literal or 0, in the step of byte %zu", begun);
      if (number != 0)
        status = clarke_clausal_literal(p, (number & 1) != 0 ? -(int32_t)(number / 2) : (int32_t)(number / 2), err);
    }
  }
  return status;
}
