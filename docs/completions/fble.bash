# SPDX-License-Identifier: MIT
# bash completion for fble

_fble() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} word
    local commands='check deps eval run memory disassemble compile test lsp' words=
    local modules='--include --package --module --help --version'
    local running='--foreign --compiled --profile --profile-live --profile-blocks --profile-metrics --profile-compact
                   --profile-max-nodes --profile-period --slice --slice-by'
    COMPREPLY=()
    if [ "$COMP_CWORD" = 1 ]; then
        COMPREPLY=($(compgen -W "$commands help --help --version" -- "$current"))
        return
    fi
    for word in "${COMP_WORDS[@]:2:COMP_CWORD-2}"; do
        if [ "$word" = -- ]; then # the program's own
            COMPREPLY=($(compgen -f -- "$current"))
            return
        fi
    done
    case $previous in
    --profile-blocks) words='functions all' ;;
    --profile-metrics) words='instructions time objects bytes' ;;
    --slice-by) words='duration instructions time objects bytes' ;;
    --profile-compact) words='loops cycles edges edges:1 edges:2 edges:3 none' ;;
    -I | --include | --emit-c | --build-dir)
        COMPREPLY=($(compgen -d -- "$current"))
        return
        ;;
    -p | --package) words=$(_fble_packages) ;;
    -m | --module | -t | --target | -w | --word | -j | --jobs | --profile-max-nodes | --profile-period | \
        --slice) return ;;
    esac
    if [ -z "$words" ]; then
        case $command in
        check) words="$modules --alone --json" ;;
        deps) words="$modules --alone --target" ;;
        eval | run | memory) words="$modules $running" ;;
        disassemble) words=$modules ;;
        test) words="$modules $running --word" ;;
        lsp) words="$modules --stdio" ;;
        compile) words="$modules --output --eval --library --emit-c --profile --profile-blocks --jobs --build-dir
                        --verbose" ;;
        help) words=$commands ;;
        esac
        if [ "$command" != help ] && [ "${current#-}" = "$current" ]; then
            COMPREPLY=($(compgen -f -- "$current"))
            return
        fi
    fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}

# The folders where -p looks, as far as a shell can know them.
_fble_packages() {
    local folder package folders
    IFS=: read -ra folders <<<"$FBLE_PACKAGE_PATH:/usr/local/share/fble:/usr/share/fble"
    for folder in "${folders[@]}"; do
        for package in "$folder"/*/; do
            [ -n "$folder" ] && [ -d "$package" ] && basename "$package"
        done
    done
}
complete -o filenames -F _fble fble
