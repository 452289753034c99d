# SPDX-License-Identifier: MIT
# For the suites that are scripts: `. common.sh`, then `check NAME command...` per case.
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${1:?usage: $0 BUILD}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

check() {
    name=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        echo "ok $name"
    else
        echo "not ok $name"
        sed 's/^/    /' "$work/log"
        status=1
    fi
}
