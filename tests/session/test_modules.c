/* What the tools stand on, module by module. */
#include "../suites.h"

MODULE(audits);

int
main(void)
{
  RUN(audits_suite);
}
