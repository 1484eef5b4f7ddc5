#!/usr/bin/env bash
# parts.sh: the plan of ./test and what it counts, without building anything.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
bad=0 scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export NNEX_TEST_DRY=1
unset NNEX_TEST_TURN NNEX_EXPLORE
fault() { echo "  $1"; [ -z "${2:-}" ] || sed 's/^/    /' <<<"$2" | head -n 12; bad=1; }
parts=$(./test --list | awk '{print $1}')
for part in $parts; do
  [ -x "tests/parts/$part" ] || fault "tests/parts/$part is no program"
  bash -n "tests/parts/$part" || bad=1
done
for file in tests/parts/*; do
  case $(basename "$file") in LIST | common) continue ;; esac
  grep -qx "$(basename "$file")" <<<"$parts" || fault "$file is not in tests/parts/LIST"
done
# Every part has its turn within three runs, whatever the number of commits, and an hour is enough for each.
for start in 0 1 7 1000; do
  : >"$scratch/all"
  for turn in "$start" $((start + 1)) $((start + 2)); do
    plan=$(NNEX_TEST_TURN=$turn ./test --minutes 60) || fault "the plan of turn $turn"
    grep '^would run' <<<"$plan" >>"$scratch/all"
    [ "$(tail -n 1 <<<"$plan" | cut -d ' ' -f 1)" -le 60 ] || fault "turn $turn takes more than an hour" "$plan"
    [ "$(grep -c '^would' <<<"$plan")" = "$(wc -w <<<"$parts")" ] || fault "turn $turn does not name every part" "$plan"
  done
  for part in $parts; do grep -q "^would run $part " "$scratch/all" || fault "$part runs in none of the turns from $start on"; done
done
[ "$(./test --full | grep -c '^would run')" = "$(wc -w <<<"$parts")" ] || fault "--full leaves something out"
[ "$(./test --only format 2>&1; echo $?)" != 0 ] || fault "an unknown part is run"
[ "$(./test --only texts oracle | grep -c '^would run')" = 2 ] || fault "--only runs something else" "$(./test --only texts oracle)"
for words in "--only" "--minutes" "--minutes x" "--minutes 0" "--fulll"; do
  ./test $words >/dev/null 2>&1
  [ $? = 2 ] || fault "./test $words is no usage error"
done
# No hour: what is left out is named.
plan=$(NNEX_TEST_TURN=0 ./test --minutes 27)
grep -q 'would leave out aarch64' <<<"$plan" || fault "27 minutes are enough for everything" "$plan"
# What the parts count: failures and skipped programs, and a part that runs out of its time.
unset NNEX_TEST_DRY
mkdir -p "$scratch/tests/parts" "$scratch/scripts"
cp test "$scratch/test"; cp tests/parts/common "$scratch/tests/parts"
printf '#!/bin/sh\n' >"$scratch/scripts/prepare"
printf '%s\n' 'good 1 0 a' 'bad 1 0 b' 'dead 1 0 c' 'program 1 0 f' 'texts 1 0 g' 'slow 1 1 d' 'late 99 2 e' >"$scratch/tests/parts/LIST"
part() { printf '#!/usr/bin/env bash\n. "$(dirname "$0")/common"\n%s\n' "$2" >"$scratch/tests/parts/$1"; chmod +x "$scratch/tests/parts/$1"; }
part good 'step one true; step two true; skip three "no reason"'
part bad 'step four false'
part dead 'exit 3'
part slow 'step five true'
part program 'sleep 0.3; step six true; step seven false'
part texts 'step eight true'
part late 'sleep 99'
chmod +x "$scratch/scripts/prepare"
out=$("$scratch/test" --full 2>&1 --minutes 1; echo "exit $?")
for line in "skipped: three" "FAILED  dead: exit code 3" "left out, for another run or ./test --full: late (99 minutes)" "ok      eight" "FAILED  seven" "5 passed, 3 failed" "exit 1"; do
  grep -qF -- "$line" <<<"$out" || fault "needed '$line' in:" "$out"
done
[ "$(tail -n 2 <<<"$out" | head -n 1)" = "5 passed, 3 failed" ] || fault "the counts do not stand last" "$out"
# Programs of tests: all cases skipped, some, none there; another that has no report.
mkdir "$scratch/reports"
cat >"$scratch/reports/ctest" <<'XML'
<testsuite><testcase name="all" status="run"/><testcase name="some" status="run"/><testcase name="none" status="run"/>
<testcase name="plain" status="run"/><testcase name="broken" status="fail"/></testsuite>
XML
skipped='<skipped message="f.cpp:1&#x0A;no models"/>'
echo "<testsuites><testsuite><testcase name='a' classname='A' result='skipped'>$skipped</testcase></testsuite></testsuites>" >"$scratch/reports/all.xml"
echo "<testsuites><testsuite><testcase name='a' classname='A' result='completed'/><testcase name='b' classname='A' result='skipped'>$skipped</testcase></testsuite></testsuites>" \
  >"$scratch/reports/some.xml"
echo "<testsuites><testsuite/></testsuites>" >"$scratch/reports/none.xml"
out=$(tests/skipped.py "$scratch/reports")
wanted=$(printf '2 1\nall\tno models\nsome A.b\tno models\nnone\tit has no cases')
[ "$out" = "$wanted" ] || fault "skipped.py says:" "$out"
exit $bad
