# SPDX-License-Identifier: MIT
# bash completion for ouro

_ouro() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
    local filters='--select --exclude --fold --select-match --exclude-match --fold-match --label'
    local commands='view report diff convert merge push store serve'
    commands="$commands lua lua5.1 lua5.3 lua5.4 lua5.5 luajit python run record cc c++"
    local reading='--from --compact --limit --help --version' words=
    local choosing='--store --where --paths --strict'
    COMPREPLY=()
    if [ "$COMP_CWORD" = 1 ]; then
        words="$commands help --help --version"
        COMPREPLY=($(compgen -W "$words" -- "$current"))
        return
    fi
    case $previous in
    --from) words='ouro pprof speedscope cpuprofile perf pstats folded' ;;
    --to) words='pprof speedscope folded callgrind html report svg json' ;;
    --compact) words='loops cycles edges edges:1 edges:2 edges:3 none' ;;
    --limit) words='1G 4G 16G' ;;
    --colour) words='auto always never' ;;
    --clock) words='cpu wall off' ;;
    --source | --root)
        COMPREPLY=($(compgen -d -- "$current"))
        return
        ;;
    --port | --host | --metric | --select | --exclude | --fold | --select-match | --exclude-match | --fold-match | \
        --label | --block | --top | --min | --period | --fail-above | --hz | --max-nodes | --where | --with | \
        --paths | --service | --build | --keep | --every | --listen | --token | --slice | --slice-by | \
        --without) return ;;
    esac
    if [ -z "$words" ]; then
        case $command in
        view)
            words="--no-open --no-secret --port --host --source --source-extension --source-map --metric $filters"
            words="$words --period --min $choosing --with $reading"
            ;;
        report) words="--self --overall --sequences --tree --block --knots --slices --metric $filters --top --json --csv
                       --min --colour $choosing $reading" ;;
        diff) words="--fail-above --metric $filters --top --json --csv --colour $choosing --with $reading" ;;
        convert) words="--to --metric $filters --period --min $choosing $reading" ;;
        push) words="--store --service --build --label --root --follow --every --once $reading" ;;
        store) words='--keep --top --json --strict --limit --help --version' ;;
        serve) words='--store --listen --token-file --token --limit --help --version' ;;
        merge) words="--output --to --metric --period --min $reading" ;;
        lua | lua5.1 | lua5.3 | lua5.4 | lua5.5 | luajit)
            words='--output --view --quiet --hz --cpu --precise --instructions --memory --live --max-nodes --compact
                   --slice --slice-by --luajit --help --version'
            ;;
        python) words='--output --view --quiet --hz --precise --memory --gil --wall --cpu --live --max-nodes --compact
                    --slice --slice-by --python --help --version' ;;
        run) words='--output --view --quiet --memory --clock --hz --compact --max-nodes --live --debug-folder
                    --symbolise --pid --duration --cpu --wall --sample --timer --by --off --tiny --without
                    --slice --slice-by --help --version' ;;
        record) words='on off --help' ;;
        cc | c++) words='--hooks --tiny --all --xray --help' ;;
        help) words=$commands ;;
        esac
        if [ "$command" != help ] && [ "${current#-}" = "$current" ]; then
            COMPREPLY=($(compgen -f -- "$current"))
            return
        fi
    fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o filenames -F _ouro ouro
