/* What certification is made of, module by module. */
#include "../suites.h"

MODULE(stages);

int
main(void)
{
  RUN(stages_suite);
}
