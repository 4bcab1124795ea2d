/* What the room's files share, module by module. */
#include "../suites.h"

MODULE(walk_inside);

int
main(void)
{
  RUN(walk_inside_suite);
}
