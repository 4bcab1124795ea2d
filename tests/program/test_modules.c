/* What the room's files share, module by module. */
#include "../suites.h"

MODULE(search);
MODULE(units);
MODULE(walk_inside);

int
main(void)
{
  RUN(search_suite, units_suite, walk_inside_suite);
}
