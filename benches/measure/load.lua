-- Prints the summary of a run as one line of exact numbers. `done` runs once, at the end: no script
-- runs while the clock does. Latencies and the duration are microseconds.
done = function(summary, latency)
    local e = summary.errors
    print(string.format(
        "summary requests=%d duration_us=%d bytes=%d p50_us=%d p99_us=%d "
            .. "connect=%d read=%d write=%d timeout=%d status=%d",
        summary.requests, summary.duration, summary.bytes,
        latency:percentile(50), latency:percentile(99),
        e.connect, e.read, e.write, e.timeout, e.status))
end
