# SPDX-License-Identifier: MIT
# fish completion for fble

set -l commands check deps eval run memory disassemble compile test lsp
set -l running eval run memory test
set -l none "not __fish_seen_subcommand_from $commands help"

complete -c fble -f
complete -c fble -n $none -l version -d 'which version'
complete -c fble -s h -l help -d 'how it is used'
complete -c fble -n $none -a check -d 'check the types of a program'
complete -c fble -n $none -a deps -d 'print the files of a program as a rule for make'
complete -c fble -n $none -a eval -d 'evaluate a module'
complete -c fble -n $none -a run -d 'run a command-line program'
complete -c fble -n $none -a memory -d 'call a function with a number, print the peak of bytes in use'
complete -c fble -n $none -a disassemble -d 'show the bytecode'
complete -c fble -n $none -a compile -d 'make an executable, or a library of compiled modules'
complete -c fble -n $none -a test -d 'run the tests of modules'
complete -c fble -n $none -a lsp -d 'serve an editor: errors, types, definitions'
complete -c fble -n $none -a help -d 'say more about a command'
complete -c fble -n '__fish_seen_subcommand_from help' -a "$commands"

set -l any "__fish_seen_subcommand_from $commands"
set -l files "__fish_seen_subcommand_from check deps eval run memory disassemble compile test"
complete -c fble -n $files -k -a '(__fish_complete_suffix .fble)'
complete -c fble -n $any -s I -l include -x -a '(__fish_complete_directories)' -d 'look for modules there'
complete -c fble -n $any -s p -l package -x -a std -d 'and in this package'
complete -c fble -n $any -s m -l module -x -d 'the main module'
complete -c fble -n '__fish_seen_subcommand_from check deps' -l alone -d 'this module only'
complete -c fble -n '__fish_seen_subcommand_from check' -l json -d 'messages as JSON'
complete -c fble -n '__fish_seen_subcommand_from deps' -s t -l target -x -d 'the target'
complete -c fble -n '__fish_seen_subcommand_from test' -a '(__fish_complete_directories)'
complete -c fble -n '__fish_seen_subcommand_from test' -s w -l word -x -d 'only tests that have the word'
complete -c fble -n '__fish_seen_subcommand_from lsp' -l stdio -d 'talk on standard input and output'

set -l runs "__fish_seen_subcommand_from $running"
complete -c fble -n $runs -l foreign -r -d 'functions in C'
complete -c fble -n $runs -l compiled -r -d 'modules that fble compile made'
complete -c fble -n $runs -l profile -r -d 'write a profile'
complete -c fble -n $runs -l profile-live -r -d 'a profile that can be looked at meanwhile'
complete -c fble -n $runs -l profile-metrics -x -a 'instructions time objects bytes' -d 'what to count'
complete -c fble -n $runs -l profile-compact -x -a 'loops cycles edges edges:1 edges:2 edges:3 none' \
    -d 'how recursion is compacted'
complete -c fble -n $runs -l profile-max-nodes -x -d 'the cap'
complete -c fble -n $runs -l profile-period -x -d 'charge so many instructions at a time'
complete -c fble -n $runs -l slice -x -d 'every call of this block is a slice'
complete -c fble -n $runs -l slice-by -x -a 'duration instructions time objects bytes' -d 'what slow slices have more of'
complete -c fble -n "__fish_seen_subcommand_from $running compile" -l profile-blocks -x -a 'functions all' \
    -d 'what the blocks are'

set -l compiles '__fish_seen_subcommand_from compile'
complete -c fble -n $compiles -s o -l output -r -d 'what to make'
complete -c fble -n $compiles -l eval -d 'a program that evaluates'
complete -c fble -n $compiles -l library -d 'a shared object'
complete -c fble -n $compiles -l emit-c -x -a '(__fish_complete_directories)' -d 'write the C there'
complete -c fble -n $compiles -l profile -d 'able to record profiles'
complete -c fble -n $compiles -s j -l jobs -x -d 'compilers at a time'
complete -c fble -n $compiles -l build-dir -x -a '(__fish_complete_directories)' -d 'keep objects there'
complete -c fble -n $compiles -l verbose -d 'show the commands'
