# Completion of clarke's commands, their options and words, for fish. What there is to complete is what --help says, which is made of the
# commands' own tables.
function __clarke_commands
    clarke --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\)  *\(.*\)/\1\t\2/p'
end

function __clarke_options
    set -l words (commandline -opc)
    set -q words[2]; or return
    clarke $words[2] --help 2>/dev/null | string match -r --groups-only '^ {2,8}(?:-., )?(--[a-z][a-z0-9-]*)'
end

function __clarke_words
    clarke explain 2>/dev/null | string lower | string split ', ' | string replace -a ' ' -
end

function __clarke_profiles
    printf '%s\n' list show diff
    clarke profile list 2>/dev/null | string replace -r ' .*' ''
end

function __clarke_asks
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test $words[2] = $argv[1]
end

function __clarke_is_first
    test (count (commandline -opc)) -eq 1
end

complete -c clarke -n __clarke_is_first -f -a '(__clarke_commands)'
complete -c clarke -n 'not __clarke_is_first; and string match -q -- "-*" (commandline -ct)' -f -a '(__clarke_options)'
complete -c clarke -n '__clarke_asks explain' -f -a '(__clarke_words)'
complete -c clarke -n '__clarke_asks profile' -a '(__clarke_profiles)'
