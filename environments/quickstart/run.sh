#!/bin/sh
# The whole pass on this machine: validate, plan three ways, provision, train; knock the run off its approved baseline
# three times and see it come back; verify the evidence. Usage: run.sh [--capture]
#
# Uses `akotf` from PATH or from the project's .venv. Works in any folder. Needs no credentials and no network.
set -eu

HERE=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
PROJECT=$(CDPATH='' cd -- "$HERE/../.." && pwd -P)
PATH=$PATH:$PROJECT/.venv/bin:$PROJECT/.tools
export PATH

CAPTURE=no
[ "${1:-}" = --capture ] && CAPTURE=yes && shift
[ $# = 0 ] || { echo "usage: run.sh [--capture]" >&2; exit 1; }

heading() { printf '\n==== %s\n' "$*"; }
note() { printf '%s\n' "---- $*"; }
fail() { printf '\nrun.sh: %s\n' "$*" >&2; exit 1; }

# With --capture the whole transcript is kept, and published when the run is verified.
if [ $CAPTURE = yes ] && [ -z "${QUICKSTART_TRANSCRIPT:-}" ]; then
    QUICKSTART_TRANSCRIPT=$(mktemp -d)
    export QUICKSTART_TRANSCRIPT
    mkfifo "$QUICKSTART_TRANSCRIPT/pipe"
    tee "$QUICKSTART_TRANSCRIPT/transcript" <"$QUICKSTART_TRANSCRIPT/pipe" &
    status=0
    sh "$HERE/run.sh" --capture >"$QUICKSTART_TRANSCRIPT/pipe" 2>&1 || status=$?
    wait
    rm -rf "$QUICKSTART_TRANSCRIPT"
    exit $status
fi

command -v akotf >/dev/null 2>&1 || fail "there is no akotf on PATH or in .venv; start with: ./dev quickstart"
PYTHON=$(command -v python3 || command -v python) || fail "there is no Python on PATH"

# A GPU does the 300 steps in seconds: too short to drift and heal in. It gets more of them.
set --
if command -v nvidia-smi >/dev/null 2>&1 && nvidia-smi -L 2>/dev/null | grep -q GPU; then
    set -- -p "steps=${STEPS:-6000}" -p checkpoint_interval=500
elif [ -n "${STEPS:-}" ]; then
    set -- -p "steps=$STEPS"
fi

APPLY=''
WORK=$(mktemp -d)
# A run that we leave behind must not go on by itself.
leave() {
    status=$?
    trap - EXIT
    rm -rf "$WORK"
    if [ -n "$APPLY" ] && kill -0 "$APPLY" 2>/dev/null; then
        kill -TERM "$APPLY" 2>/dev/null || true
        wait "$APPLY" 2>/dev/null || true
        akotf cancel "$HERE" >&2 || true
    fi
    exit $status
}
trap leave EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# ask: one look at the run, into RUN STATE STEP PID CHECKPOINTS SEEN HEALED NODE (SEEN and HEALED: fields, with commas).
ask() {
    akotf status "$HERE" --json >"$WORK/status.json" 2>/dev/null || echo '{}' >"$WORK/status.json"
    "$PYTHON" - "$WORK/status.json" >"$WORK/status" <<'PYTHON'
import json, sys

with open(sys.argv[1]) as stream:
    status = json.load(stream)
drift = status.get("drift") or {}
for value in (
    status.get("run") or "-", status.get("state") or "-", status.get("step") or 0, status.get("pid") or 0,
    len(status.get("checkpoints") or ()), f",{','.join(drift.get('seen') or ())},",
    f",{','.join(drift.get('healed') or ())},", status.get("node_directory") or "-",
):
    print(value)
PYTHON
    {
        read -r RUN; read -r STATE; read -r STEP; read -r PID; read -r CHECKPOINTS
        read -r SEEN; read -r HEALED; read -r NODE
    } <"$WORK/status"
}

# ended WHAT: akotf is gone before it happened.
ended() {
    ask
    if [ "$STATE" = succeeded ] && [ "$RUN" != "$BEFORE" ]; then
        fail "the training ended before $1: it is too short for this machine. Give it more steps: STEPS=2000 $0"
    fi
    fail "akotf ended before $1; what it says is above (run $RUN, $STATE, step $STEP)"
}

# wait_for WHAT SECONDS COMMAND...: look at the run until the command holds.
wait_for() {
    what=$1 limit=$2 begin=$(date +%s)
    shift 2
    while :; do
        ask
        "$@" && return 0
        kill -0 "$APPLY" 2>/dev/null || ended "$what"
        [ $(($(date +%s) - begin)) -lt "$limit" ] || fail "waited $limit s in vain for: $what (step $STEP, $STATE)"
        sleep 0.3
    done
}
is_warm() { [ "$RUN" != "$BEFORE" ] && [ "$STATE" = running ] && [ "$STEP" -ge 10 ] && [ "$CHECKPOINTS" -ge 1 ] && [ "$PID" -gt 0 ]; }
is_seen() { case $SEEN in *",$1,"*) true ;; *) false ;; esac; }
is_healed() { case $HEALED in *",$1,"*) true ;; *) false ;; esac; }

# expect FIELD: akotf sees the drift of this field, and heals it.
expect() {
    begun=$(date +%s)
    wait_for "akotf saw $1 drift" 60 is_seen "$1"
    note "seen within $(($(date +%s) - begun)) s: $1"
    wait_for "akotf healed $1" 120 is_healed "$1"
    note "healed after $(($(date +%s) - begun)) s: $1"
}

heading "1. Validate: the environment and the rules that judge it"
akotf validate "$HERE" "$@" || fail "the environment is not valid"

heading "2. Plan: candidates on workstation, campus and aws, the choice, Terraform's plan"
akotf plan "$HERE" "$@" || fail "no plan"

heading "3. Apply: provision, train, watch"
ask
BEFORE=$RUN
if [ "$STATE" = succeeded ]; then
    note "run $RUN has succeeded already; this starts another"
    akotf run "$HERE" -y "$@" &
else
    [ "$STATE" = running ] && BEFORE=-
    akotf apply "$HERE" -y "$@" &
fi
APPLY=$!
wait_for "the training was past its first checkpoint" 300 is_warm

heading "4. Somebody interferes, while it trains (run $RUN, step $STEP)"
note "(a) the hyperparameter file on disk is edited: learning_rate x 3"
"$PYTHON" - "$NODE/hyperparameters.json" <<'PYTHON'
import json, os, sys

path = sys.argv[1]
with open(path) as stream:
    values = json.load(stream)
values["learning_rate"] *= 3
with open(path + ".edited", "w") as stream:
    json.dump(values, stream)
os.replace(path + ".edited", path)
PYTHON
expect hyperparameters.file.learning_rate

note "(b) a soft limit of the running process is lowered: 512 open files (process $PID)"
"$PYTHON" -c '
import resource, sys
pid = int(sys.argv[1])
hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
resource.prlimit(pid, resource.RLIMIT_NOFILE, (512, hard))' "$PID"
expect limits.open_files

ask
note "(c) the learning rate that the process really uses is multiplied by ten; no file says so (process $PID)"
kill -USR2 "$PID"
expect hyperparameters.in_use.learning_rate

note "all three are healed; the training goes on to its end"
wait "$APPLY" || fail "the run did not succeed; see: akotf logs $HERE"
APPLY=''

heading "5. Records: predicted and observed"
akotf records "$HERE" || fail "no records"
akotf status "$HERE" --json >"$WORK/status.json"
EVIDENCE=$("$PYTHON" -c 'import json, sys; print(json.load(open(sys.argv[1]))["evidence"] or "")' "$WORK/status.json")
OUTPUTS=$("$PYTHON" -c 'import json, sys; print(json.load(open(sys.argv[1]))["run_directory"])' "$WORK/status.json")/outputs
[ -n "$EVIDENCE" ] || fail "the run left no evidence"

heading "6. Verify: the evidence, offline, and the validation contract"
akotf audit verify "$HERE" || fail "the journal's chain is broken"
akotf verify "$EVIDENCE" --contract "$HERE/validation.yaml" || fail "the validation contract is not met"

if [ $CAPTURE = yes ]; then
    heading "7. Capture: outputs/ and screenshots/"
    "$PYTHON" "$HERE/capture.py" "$OUTPUTS" "$EVIDENCE" "$QUICKSTART_TRANSCRIPT/transcript" || fail "no captures"
fi

heading "Done"
printf 'run       %s\nevidence  %s\noutputs   %s\n' "$RUN" "$EVIDENCE" "$OUTPUTS"
printf 'next      %s run %s    # another: its prediction is calibrated by this one\n' "$(command -v akotf)" "$HERE"
