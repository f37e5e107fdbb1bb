#!/usr/bin/env bash
# All that a machine with a GPU has to say, into one folder: the most telling first, each step with a limit of its own of at
# most 8 minutes. A step that passed is not done again, so the same command goes on where the last one was cut off. A step
# that fails does not stop the next ones.
#   scripts/gpu_check.sh FOLDER [STEP ...]      default: all steps, in this order
#     litmus    is the device's memory as strong as the kernels need it
#     rungs     a small layer on each rung of CudnnRNN, in processes that can be ended; under compute-sanitizer where that is
#     ops       every op in every way, as tests.verified has them
#     layers    each rung against torch's stored values and the CPU, large layers, a hundred runs
#     train     a character model learns
#     ratios    times of the rungs next to cuDNN's, and where cuDNN keeps its weights
#     times     kernels, launches, products
#     tests     all other tests that ask for a GPU
# After each step FOLDER/STEP.status.json says what came of it, FOLDER/summary.json has all of them, STEP.txt what was said,
# and STEP.json the results where there are numbers.
# Tests run in JOBS processes (default 8), which also compile kernels side by side; measurements have the GPU to themselves.
# Another Python: PYTHON=python3.12. Rehearsals without a GPU: DEVICE=cuda-sim QUICK=1, or all of it through
# scripts/with_stand_in_gpu.sh with QUICK=1. Then commit FOLDER's JSON to docs/data/gpu/. Exit status: how many steps failed.
set -u

all="litmus rungs ops layers train ratios times tests"
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
of_rungs=tests/devices/cuda/launch/sequence/test_gpu.py
asking=(-m "cuda and not slow" tests --ignore "$of_rungs") # all tests that ask for a GPU
if [ "$device" != cuda ] || [ -n "$quick" ]; then asking=(tests/devices tests/ops tests/nn); fi
layers=(-m "slow or not slow") # all networks on all rungs
[ -z "$quick" ] || layers=(-k "stored and lstm and steps")
training=(--steps 300)
[ -z "$quick" ] || training=(--steps 3 --hidden 16 --length 8 --batch 4)
failed=0

noted() { # name, limit, status, seconds: as JSON
    local said
    said=$(tail -n 1 "$out/$1.txt" | tr -d '\000-\037' | sed 's/["\\]/\\&/g')
    printf '{"step": "%s", "status": %d, "seconds": %d, "limit": %d, "device": "%s", "quick": %s, "said": "%s"}\n' \
        "$1" "$3" "$4" "$2" "$device" "$([ -n "$quick" ] && echo true || echo false)" "$said" >"$out/$1.status.json"
    local name found=""
    for name in $all; do
        [ ! -f "$out/$name.status.json" ] || found+="${found:+, }$(cat "$out/$name.status.json")"$'\n'
    done
    printf '[%s]\n' "$found" >"$out/summary.json.new" && mv "$out/summary.json.new" "$out/summary.json"
}

step() { # name, limit in seconds, command
    case " $steps " in *" $1 "*) ;; *) return ;; esac
    local name=$1 limit=$2 start=$SECONDS
    shift 2
    [ ! -f "$out/$name.passed" ] || { echo "== $name: has passed before"; return; }
    timeout --kill-after=20 "$limit" "$@" >"$out/$name.txt" 2>&1
    local status=$?
    echo "== $name: status $status, $((SECONDS - start)) s"
    tail -n "${TAIL:-6}" "$out/$name.txt"
    noted "$name" "$limit" "$status" $((SECONDS - start))
    if [ $status -eq 0 ]; then touch "$out/$name.passed"; else failed=$((failed + 1)); fi
}

"$python" -m minirnn doctor >"$out/doctor.txt" 2>&1
step litmus 120 "$python" -m tests.devices.cuda.gpu.litmus --device "$device" --json "$out/litmus.json" $quick
step rungs 480 "$python" -m tests.devices.cuda.gpu.first_layers --device "$device" --json "$out/rungs.json" $quick
step ops 480 "${lowest[@]}" "$python" -m tests.verified --device "$device" --out "$out/ops.json" $quick
step layers 480 "${pytest[@]}" "${layers[@]}" "$of_rungs"
[ -f "$out/train.passed" ] || rm -rf "$out/trained" # half a run would be refused
step train 480 "$python" -m minirnn train --device "$device" "${training[@]}" --out "$out/trained"
step ratios 480 "${bench[@]}" --part ladder --part layout --json "$out/ratios.json"
step times 480 "${bench[@]}" --part times --json "$out/times.json"
step tests 480 "${lowest[@]}" "${pytest[@]}" ${QUICK:+-k "test_drivers or test_device"} "${asking[@]}"
exit $failed
