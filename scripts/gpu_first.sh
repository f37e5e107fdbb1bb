#!/usr/bin/env bash
# The first minutes on a machine with a GPU: are all kernels right, and how fast are they? The most telling steps come first. The
# whole takes at most LIMIT seconds (default 540), each step is a process with its own limit, and a step that fails or hangs
# does not stop the next ones.
#   scripts/gpu_first.sh FOLDER [EARLIER.tgz] [STEP ...]      default: all steps, in this order
#     compile    the machine code that was not carried here, by all cores
#     doctor     what this machine has, in the time that a hanging driver is given
#     alive      all rungs, plain and recorded, against float64; new memory is full of NaN
#     litmus     is the device's memory as strong as the kernels need it
#     latencies  message, barrier, launch, node of a graph, products
#     ratios     the default and the fast rungs next to torch's cuDNN: nine sizes, three precisions, learners' sizes first
#     sanitizer  four tools of NVIDIA on a tiny layer of each rung
#     ncu        what the kernels that decide the time spend it on
#     verify     a few cases of every other op, stored values of TensorFlow and torch included
# Results are lines of FOLDER/evidence.jsonl, written at once. FOLDER/evidence.tgz, renewed after each step, has them and what
# each step said. EARLIER.tgz is the archive of an earlier call: what passed then is not done again. Both ways of coming back
# work: with the same FOLDER, or with its archive on a fresh machine.
# Before, where there is no GPU: python -m scripts.gpu.carried build/gpu, and scripts/evidence/gpu_wheels.sh --pycuda build/gpu/whl
# for a machine without PyCUDA or compute-sanitizer. CARRIED names another folder than build/gpu. Afterwards: python -m scripts.gpu.tables EVIDENCE.tgz.
# Another Python: PYTHON=python3.12. A rehearsal: QUICK=1 scripts/with_stand_in_gpu.sh scripts/gpu_first.sh FOLDER.
# Exit status: how many steps failed or were not reached.
set -u

all="compile doctor alive litmus latencies ratios sanitizer ncu verify"
out=$(mkdir -p "${1:?a folder for the results}" && cd "$1" && pwd) && shift
case ${1:-} in *.tgz) tar -xzf "$1" -C "$out" || exit 2; shift ;; esac
steps=${*:-$all}
for name in $steps; do
    case " $all " in *" $name "*) ;; *) echo "gpu_first: there is no step $name; expected: $all" >&2; exit 2 ;; esac
done
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2
python=${PYTHON:-python3}
export CARRIED=${CARRIED:-$PWD/build/gpu} DEVICE=${DEVICE:-cuda} EVIDENCE=$out/evidence.jsonl PYTHONUNBUFFERED=1
export PYTHONPATH=$PWD${PYTHONPATH:+:$PYTHONPATH} MINIRNN_QUIET=1
export MINIRNN_CACHE=$CARRIED
if ls "$CARRIED"/whl/*.whl >/dev/null 2>&1; then # without an index: only what this Python lacks
    timeout 60 "$python" -m pip install -q --no-index --no-deps --no-compile --upgrade --target "$CARRIED/site" "$CARRIED"/whl/*.whl &&
        PYTHONPATH+=:$CARRIED/site PATH+=:$CARRIED/site/nvidia/cu13/bin # where compute-sanitizer is
fi
touch "$EVIDENCE"
said=$out/said end=$((SECONDS + ${LIMIT:-540})) failed=0
mkdir -p "$said"

mended() { [ ! -s "$EVIDENCE" ] || [ -z "$(tail -c 1 "$EVIDENCE")" ] || echo >>"$EVIDENCE"; } # a line that was cut off
mended
packed() { tar -czf "$out/evidence.new" -C "$out" evidence.jsonl said && mv "$out/evidence.new" "$out/evidence.tgz"; }

step() { # name, limit in seconds, command
    case " $steps " in *" $1 "*) ;; *) return ;; esac
    local name=$1 limit=$2 start=$SECONDS status
    shift 2
    if grep -q "\"done\": \"$name\", \"status\": 0," "$EVIDENCE"; then echo "== $name: has passed before"; return; fi
    [ "$limit" -le $((end - SECONDS)) ] || limit=$((end - SECONDS))
    if [ "$limit" -lt 5 ]; then
        status=125
    else
        printf '{"step": "begun", "begun": "%s"}\n' "$name" >>"$EVIDENCE"
        timeout --kill-after=5 "$limit" "$@" >"$said/$name.txt" 2>&1 </dev/null
        status=$?
    fi
    mended
    printf '{"step": "done", "done": "%s", "status": %d, "seconds": %d, "limit": %d}\n' \
        "$name" "$status" $((SECONDS - start)) "$limit" >>"$EVIDENCE"
    case $status in 0) ;; 69) echo "== $name: not here" ;; 125) echo "== $name: not reached" ;; *) echo "== $name: FAILED" ;; esac
    echo "== $name: status $status, $((SECONDS - start)) s"
    [ $status -eq 125 ] || tail -n "${TAIL:-3}" "$said/$name.txt" | cut -c 1-300
    case $status in 0 | 69) ;; *) failed=$((failed + 1)) ;; esac
    packed
}

slow=1
[ -z "${QUICK:-}" ] || slow=10 # the simulator takes longer than a GPU
arch=$(timeout 20 nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .)
export python
step compile $((90 * slow)) "$python" -m scripts.gpu.carried "$CARRIED" --arch "sm_${arch:-90}"
step doctor $((45 * slow)) bash -c 'nvidia-smi; "$python" -m minirnn doctor && "$python" -m scripts.gpu.evidence'
step alive $((80 * slow)) "$python" -m scripts.gpu.alive
step litmus $((30 * slow)) "$python" -m tests.devices.cuda.gpu.litmus --device "$DEVICE" ${QUICK:+--quick}
step latencies $((40 * slow)) "$python" -m scripts.gpu.latencies
step ratios $((210 * slow)) "$python" -m scripts.gpu.ratios
step sanitizer $((80 * slow)) "$python" -m scripts.gpu.profiled sanitizer
step ncu $((90 * slow)) "$python" -m scripts.gpu.profiled ncu
step verify $((120 * slow)) env "MINIRNN_CUDNN_RNN=steps" "$python" -m tests.verified --device "$DEVICE" --quick
"$python" -m scripts.gpu.tables --brief "$EVIDENCE" || true
exit $failed
