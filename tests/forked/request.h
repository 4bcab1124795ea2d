/* What a started clarke sends the server that forks for it. Both ends are of one build, so that the bytes are the structure's. */
#ifndef CLARKE_TESTS_FORKED_REQUEST_H
#define CLARKE_TESTS_FORKED_REQUEST_H

#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <string.h>

/* Names the server's socket, in the environment of what it runs. */
#define SERVER "CLARKE_FORKED"

enum { PASSED = 4 }; /* descriptors: standard input, output and error, and the folder in which the command was begun */

/* Then follow the words of the command and those of the environment, each with its 0. */
typedef struct {
  uint32_t words, variables, size; /* size: bytes of both */
  mode_t mask;
  struct rlimit limits[RLIM_NLIMITS];
} request;

/* The address in the abstract space, its length in *n. */
static inline struct sockaddr_un
server_address(const char *name, socklen_t *n)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const size_t most = sizeof address.sun_path - 1, length = strlen(name) < most ? strlen(name) : most;

  memcpy(address.sun_path + 1, name, length);
  *n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
  return address;
}

#endif
