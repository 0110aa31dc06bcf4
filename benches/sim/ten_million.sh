#!/bin/sh
# What a whole question costs: a log of 10,000,000 lines, made from the synthetic twin of the Rice
# trace, under 8 policies with 16 servers. Printed are time and peak memory. The goal: 60 s and 2 GiB
# on two cores, reading of the log included. The log is deleted afterwards.
set -eu
baton=${1:-target/release/baton}
lines=${LINES:-10000000}
policies=wrr,least-loaded,p2c,target-hash,bounded-hash,maglev,lard,lard-r
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
log=$folder/rice.log

echo "making a log of $lines lines"
"$baton" trace synth rice --requests "$lines" --rate 2000 -o - |
	"$baton" trace convert - --to clf -o "$log"
ls -l "$log" | awk '{ printf "%.0f MB\n", $5 / 1e6 }'

start=$(date +%s.%N)
"$baton" sim "$log" --servers 16 --cache 85MiB --policy "$policies" --seeds 1 --hit 0.5ms \
	--miss 10ms --closed > "$folder/table" &
sim=$!
while [ -r "/proc/$sim/status" ]; do
	awk '/VmHWM/ { print $2 }' "/proc/$sim/status" 2>/dev/null >> "$folder/peak" || true
	sleep 0.2
done
wait "$sim"
end=$(date +%s.%N)
sed -n '/^servers/,/^$/p' "$folder/table"
sort -n "$folder/peak" | tail -1 | awk -v from="$start" -v to="$end" -v lines="$lines" '{
	s = to - from
	printf "sim/ten_million: %.1f s (goal 60), %.0f MiB (goal 2048), ", s, $1 / 1024
	printf "%.0f simulated requests/s on all cores\n", 8 * lines / s }'
