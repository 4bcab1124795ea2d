# Completion of clarke's commands, their options and files, for bash. What there is to complete is what --help says, which is made of the
# commands' own tables.
_clarke()
{
  local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    words=$("${COMP_WORDS[0]}" --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p')
  elif [ "$command" = explain ]; then
    words=$("${COMP_WORDS[0]}" explain 2>/dev/null | tr 'A-Z ' 'a-z-' | sed 's/,-/ /g')
  elif [ "${word#-}" != "$word" ]; then
    words=$("${COMP_WORDS[0]}" "$command" --help 2>/dev/null | sed -n 's/^ \{2,8\}\(-., \)\{0,1\}\(--[a-z][a-z0-9-]*\).*/\2/p')
  elif [ "$command" = profile ]; then
    words="list show diff $("${COMP_WORDS[0]}" profile list 2>/dev/null | sed 's/ .*//')"
  fi
  [ -z "$words" ] || mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _clarke clarke
