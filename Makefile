# One line for each thing there is to do. `make` alone lists them.
# The tools: cargo; a C compiler for zstd and as the linker (`make cc` installs it by apt); clang,
# libelf and zlib for the kernel's side (`make bpf`); for tests in network namespaces, which need root,
# iproute2, nginx, tcpdump and bpftool (`make bed`).

CARGO ?= cargo
export RUST_BACKTRACE = 1
export PATH := $(PATH):/usr/sbin
BATON := $(or $(CARGO_TARGET_DIR),target)/release/baton
AS_ROOT := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
APT = $(AS_ROOT) apt-get update -qq && $(AS_ROOT) apt-get install -y -qq

.DEFAULT_GOAL := help
.PHONY: help demo test oneway-demo oneway-test check figures claims fidelity bench bench-relay \
	bench-load bench-sim bench-oneway experiments experiments-quick peers fuzz doc cc bpf bed

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' $(MAKEFILE_LIST) | \
		awk -F'|' '{ printf "make %-12s %s\n", $$1, $$2 }'

demo: bpf ## the main job: build, then replay a real trace under six policies (installs: bpf)
	$(CARGO) build --release --locked
	$(BATON) demo

test: bpf bed ## every test of every crate, one-way delivery too if root (installs: bpf, bed)
	$(CARGO) test --workspace --locked

oneway-demo: bpf bed ## one connection that several servers answer, packet by packet; root (installs: bpf, bed)
	$(CARGO) build --release --locked
	$(BATON) testbed demo

oneway-test: bpf bed ## what needs root and network namespaces, alone; a skipped test is a failure (installs: bpf, bed)
	BATON_NO_SKIP=1 $(CARGO) test --locked -p testbed -p handoff -p agent
	BATON_NO_SKIP=1 $(CARGO) test --locked -p baton --lib oneway
	BATON_NO_SKIP=1 $(CARGO) test --locked -p baton --test testbed --test oneway \
		--test oneway_demo --test oneway_forward --test splice --test agent \
		--test agent_takes_over

check: bpf ## format, lints, documentation, source rules; warnings are errors (installs: bpf)
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --document-private-items --locked
	$(CARGO) test --locked --test tidy --test docs

figures: bpf ## make the papers' figures again: docs/figures and docs/RESULTS.md (installs: bpf)
	$(CARGO) build --release --locked
	$(BATON) figures

fidelity: bpf ## the same experiments live and in the simulator, and how far apart they are (installs: bpf)
	$(CARGO) build --release --locked
	$(BATON) fidelity

claims: bpf ## say which claims of the papers the simulator reproduces (installs: bpf)
	$(CARGO) build --release --locked
	$(BATON) claims

bench: bpf ## what single operations cost: a decision, a head, a judgement, a node (installs: bpf)
	$(CARGO) bench --workspace --benches --locked

bench-relay: bpf ## the relay beside HAProxy and nginx (installs haproxy, nginx-light and wrk by apt)
	@missing=; \
		command -v haproxy >/dev/null || missing="$$missing haproxy"; \
		command -v nginx >/dev/null || missing="$$missing nginx-light"; \
		command -v wrk >/dev/null || missing="$$missing wrk"; \
		[ -z "$$missing" ] || { echo "installing$$missing by apt"; $(APT) $$missing; }
	$(CARGO) bench --locked --bench relay

bench-load: ## baton load's client beside wrk (installs nginx-light and wrk by apt)
	@missing=; \
		command -v nginx >/dev/null || missing="$$missing nginx-light"; \
		command -v wrk >/dev/null || missing="$$missing wrk"; \
		[ -z "$$missing" ] || { echo "installing$$missing by apt"; $(APT) $$missing; }
	$(CARGO) bench --locked -p load --bench speed

bench-oneway: bpf bed ## one-way delivery beside direct, relay and HAProxy; root (installs haproxy, wrk, bpftool by apt)
	@missing=; \
		command -v haproxy >/dev/null || missing="$$missing haproxy"; \
		command -v wrk >/dev/null || missing="$$missing wrk"; \
		command -v bpftool >/dev/null || missing="$$missing bpftool"; \
		[ -z "$$missing" ] || { echo "installing$$missing by apt"; $(APT) $$missing; }
	$(CARGO) bench --locked --bench oneway

bench-sim: bpf ## simulated requests a second, and 10,000,000 log lines under 8 policies (installs: bpf)
	$(CARGO) build --release --locked
	$(CARGO) bench --locked -p sim --bench replay
	benches/sim/ten_million.sh $(BATON)

experiments: bpf peers ## the papers' prototypes, live: about half an hour on a quiet machine (installs: bpf, peers)
	$(CARGO) build --release --locked
	$(BATON) experiment
	$(BATON) experiment --page

experiments-quick: bpf peers ## their shape in five minutes, in target/experiments (installs: bpf, peers)
	$(CARGO) build --release --locked
	$(BATON) experiment --quick --out $(or $(CARGO_TARGET_DIR),target)/experiments

fuzz: bpf ## the fuzzers' corpora on stable Rust (installs: bpf); CONTRIBUTING.md says how to explore
	$(CARGO) test --locked -p wire --test corpus
	$(CARGO) test --locked -p workload --test corpus
	$(CARGO) test --locked -p baton --test config_corpus

doc: bpf ## the documentation of every crate, private items too, in target/doc (installs: bpf)
	$(CARGO) doc --workspace --no-deps --document-private-items --locked

cc: ## install a C compiler by apt, if there is none
	@command -v cc >/dev/null || { \
		echo "no C compiler: installing gcc and libc6-dev by apt"; \
		$(APT) gcc libc6-dev; }

bpf: cc ## install clang, libelf and zlib by apt, where they are missing
	@missing=; \
		command -v clang >/dev/null || missing="$$missing clang"; \
		[ -e /usr/include/libelf.h ] || missing="$$missing libelf-dev"; \
		[ -e /usr/include/zlib.h ] || missing="$$missing zlib1g-dev"; \
		command -v pkg-config >/dev/null || missing="$$missing pkg-config"; \
		[ -e /usr/include/linux/bpf.h ] || missing="$$missing linux-libc-dev"; \
		[ -z "$$missing" ] || { echo "installing$$missing by apt"; $(APT) $$missing; }

bed: ## install what tests in network namespaces need by apt, if this is root
	@missing=; \
		command -v ip >/dev/null || missing="$$missing iproute2"; \
		command -v nsenter >/dev/null || missing="$$missing util-linux"; \
		command -v nginx >/dev/null || missing="$$missing nginx-light"; \
		command -v tcpdump >/dev/null || missing="$$missing tcpdump"; \
		command -v bpftool >/dev/null || missing="$$missing bpftool"; \
		[ -z "$$missing" ] || [ -n "$(AS_ROOT)" ] || { echo "installing$$missing by apt"; $(APT) $$missing; }

peers: ## install HAProxy, nginx and Apache, which experiments compare with, by apt, if there are none
	@missing=; \
		command -v haproxy >/dev/null || missing="$$missing haproxy"; \
		command -v nginx >/dev/null || missing="$$missing nginx-light"; \
		command -v apache2 >/dev/null || missing="$$missing apache2-bin"; \
		[ -z "$$missing" ] || { echo "installing$$missing by apt"; $(APT) $$missing; }
