#!/usr/bin/env bash
# All that a machine with a GPU has to say, into one folder: the most telling first, each step with a limit of its own of at
# most 8 minutes. A step that passed is not done again, so the same command goes on where the last one was cut off.
#   scripts/gpu_check.sh FOLDER [STEP ...]      steps: rungs ladder verify tests times (default: all)
# rungs: is each rung of CudnnRNN right; ladder: its times next to cuDNN's, and where cuDNN keeps its weights; verify: every op in
# every way; tests: all that ask for a GPU; times: kernels, launches, products.
# Tests run in JOBS processes (default 8), which also compile kernels side by side; measurements have the GPU to themselves.
# Another Python: PYTHON=python3.12. Rehearsals without a GPU: DEVICE=cuda-sim QUICK=1, or all of it through
# scripts/with_stand_in_gpu.sh with QUICK=1. Then commit FOLDER's JSON to docs/data/gpu/. Exit status: how many steps failed.
set -u

all="rungs ladder verify tests times"
out=$(mkdir -p "${1:?a folder for the results}" && cd "$1" && pwd) && shift
steps=${*:-$all}
for name in $steps; do
    case " $all " in *" $name "*) ;; *) echo "gpu_check: there is no step $name; expected: $all" >&2; exit 2 ;; esac
done
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2
python=${PYTHON:-python3} device=${DEVICE:-cuda} quick=${QUICK:+--quick} jobs=${JOBS:-8}
pytest=("$python" -m pytest -q -n "$jobs" -p no:cacheprovider --devices "$device")
bench=("$python" -m minirnn bench --check --device "$device" $quick)
# The lowest rung, but where rungs are what is looked at: persistent kernels are compiled for each size of a layer.
lowest=(env "MINIRNN_CUDNN_RNN=${MINIRNN_CUDNN_RNN:-steps}")
asking=(-m "cuda and not slow" tests)  # all tests that ask for a GPU
if [ "$device" != cuda ] || [ -n "$quick" ]; then asking=(tests/devices tests/ops tests/nn); fi
failed=0

step() {  # name, limit in seconds, command
    case " $steps " in *" $1 "*) ;; *) return ;; esac
    local name=$1 limit=$2 start=$SECONDS
    shift 2
    [ ! -f "$out/$name.passed" ] || { echo "== $name: has passed before"; return; }
    timeout --kill-after=20 "$limit" "$@" >"$out/$name.txt" 2>&1
    local status=$?
    echo "== $name: status $status, $((SECONDS - start)) s"
    tail -n "${TAIL:-6}" "$out/$name.txt"
    if [ $status -eq 0 ]; then touch "$out/$name.passed"; else failed=$((failed + 1)); fi
}

"$python" -m minirnn doctor >"$out/doctor.txt" 2>&1
step rungs 480 "${pytest[@]}" ${QUICK:+-k "stored and lstm"} tests/devices/cuda/launch/cudnn_rnn/test_gpu.py
step ladder 480 "${bench[@]}" --part ladder --part layout --json "$out/ladder.json"
step verify 480 "${lowest[@]}" "$python" -m minirnn verify --device "$device" --out "$out/verify.json" $quick
step tests 480 "${lowest[@]}" "${pytest[@]}" ${QUICK:+-k "test_drivers or test_device"} "${asking[@]}"
step times 480 "${bench[@]}" --part times --json "$out/times.json"
exit $failed
