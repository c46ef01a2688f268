module cacheroute.dev/benchmarks/backend

go 1.26
