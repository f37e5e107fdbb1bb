#!/usr/bin/env bash
# All that a machine with a GPU has to say, into one folder: the riskiest first, each step with a limit of its own.
#   scripts/gpu_check.sh FOLDER [STEP ...]      steps: ladder tests verify check (default: all)
# Another Python: PYTHON=python3.12. A rehearsal without a GPU: DEVICE=cuda-sim QUICK=1. Then commit FOLDER's JSON to
# docs/data/gpu/. Exit status: how many steps failed.
set -u

out=$(mkdir -p "${1:?a folder for the results}" && cd "$1" && pwd) && shift
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
python=${PYTHON:-python3} device=${DEVICE:-cuda} quick=${QUICK:+--quick}
steps=${*:-ladder tests verify check}
pytest=("$python" -m pytest -q -n0 -p no:cacheprovider --devices "$device") # one process has the GPU to itself
failed=0

step() {  # name, limit in seconds, command
    case " $steps " in *" $1 "*) ;; *) return ;; esac
    local name=$1 limit=$2 start=$SECONDS
    shift 2
    timeout "$limit" "$@" >"$out/$name.txt" 2>&1
    local status=$?
    echo "== $name: status $status, $((SECONDS - start)) s"
    tail -n "${TAIL:-6}" "$out/$name.txt"
    [ $status -eq 0 ] || failed=$((failed + 1))
}

"$python" -m minirnn doctor >"$out/doctor.txt" 2>&1
step ladder 300 "${pytest[@]}" tests/devices/cuda/launch/cudnn_rnn/test_gpu.py
step tests 420 "${pytest[@]}" ${QUICK:+-k "test_drivers or test_device"} tests/devices tests/ops tests/nn
step verify 420 "$python" -m minirnn verify --device "$device" --out "$out/verify.json" $quick
step check 540 "$python" -m minirnn bench --check --device "$device" --json "$out/check.json" $quick
exit $failed
