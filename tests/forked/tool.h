/* clarke's main by a name of its own, beside another's main. */
int clarke_tool(int argc, char **argv);
#define main clarke_tool
