# SPDX-License-Identifier: MIT
# For the suites that are shell scripts:
#
#     . "$(dirname "$0")/../support/suite.sh"
#     check the_program_is_there test -x "$build/ouro"
#     finish
#
# `check NAME command...` prints `ok NAME` or `not ok NAME`, as tools/run_tests counts it; a command that fails is shown
# with its exit status and all that it printed. `$root` is the tree, `$build` the build folder, `$work` an empty folder
# that goes away.
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:?usage: $0 BUILD}" && pwd) || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

check() {
    name=$1
    shift
    "$@" >"$work/log" 2>&1
    code=$?
    if [ "$code" = 0 ]; then
        passed=$((passed + 1))
        echo "ok $name"
    else
        failed=$((failed + 1))
        echo "not ok $name"
        printf '    expected the exit status 0, got %s: %s\n' "$code" "$*"
        sed 's/^/    /' "$work/log"
    fi
}

finish() {
    echo "# $passed passed, $failed failed"
    exit $((failed > 0))
}
