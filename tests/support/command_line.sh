# What tests of the command line say, sourced by them: a folder of their own, `bad` for their exit code, commands and what must come of them.
set -uo pipefail
bad=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fault() {  # fault SENTENCE [OUTPUT]
  echo "  $1"; bad=1
  [ $# = 1 ] || sed 's/^/    /' <<<"$2" | cat -v | head -n 8
}
expect() {  # expect CODE TEXT COMMAND...
  local code=$1 text=$2; shift 2
  local out; out=$("$@" 2>&1); local got=$?
  [ $got = "$code" ] && grep -qF -- "$text" <<<"$out" || fault "$*: exit $got (needed $code), '$text' in:" "$out"
}
lacks() {  # lacks TEXT COMMAND...
  local text=$1; shift
  local out; out=$("$@" 2>&1)
  ! grep -qF -- "$text" <<<"$out" || fault "$*: found '$text'"
}
