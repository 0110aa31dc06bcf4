# One line for each thing there is to do. `make` alone lists them.
# The tools: cargo, and a C compiler for zstd and as the linker (`make cc` installs it by apt).

CARGO ?= cargo
export RUST_BACKTRACE = 1
export PATH := $(PATH):/usr/sbin
BATON := $(or $(CARGO_TARGET_DIR),target)/release/baton
AS_ROOT := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
APT = $(AS_ROOT) apt-get update -qq && $(AS_ROOT) apt-get install -y -qq

.DEFAULT_GOAL := help
.PHONY: help demo test check figures claims bench bench-relay bench-sim fuzz doc cc

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' $(MAKEFILE_LIST) | \
		awk -F'|' '{ printf "make %-12s %s\n", $$1, $$2 }'

demo: cc ## the main job: build, then replay a real trace under six policies (installs: see cc)
	$(CARGO) build --release --locked
	$(BATON) demo

test: cc ## every test of every crate (installs: see cc)
	$(CARGO) test --workspace --locked

check: cc ## format, lints, documentation, source rules; warnings are errors (installs: see cc)
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --document-private-items --locked
	$(CARGO) test --locked --test tidy --test docs

figures: cc ## make the papers' figures again: docs/figures and docs/RESULTS.md (installs: see cc)
	$(CARGO) build --release --locked
	$(BATON) figures

claims: cc ## say which claims of the papers the simulator reproduces (installs: see cc)
	$(CARGO) build --release --locked
	$(BATON) claims

bench: cc ## what single operations cost: a decision, a head, a judgement, a node (installs: see cc)
	$(CARGO) bench --workspace --benches --locked

bench-relay: cc ## the relay beside HAProxy and nginx (installs haproxy, nginx-light and wrk by apt)
	@missing=; \
		command -v haproxy >/dev/null || missing="$$missing haproxy"; \
		command -v nginx >/dev/null || missing="$$missing nginx-light"; \
		command -v wrk >/dev/null || missing="$$missing wrk"; \
		[ -z "$$missing" ] || { echo "installing$$missing by apt"; $(APT) $$missing; }
	$(CARGO) bench --locked --bench relay

bench-sim: cc ## simulated requests a second, and 10,000,000 log lines under 8 policies (installs: see cc)
	$(CARGO) build --release --locked
	$(CARGO) bench --locked -p sim --bench replay
	benches/sim/ten_million.sh $(BATON)

fuzz: cc ## the fuzzers' corpora on stable Rust (installs: see cc); CONTRIBUTING.md says how to explore
	$(CARGO) test --locked -p wire --test corpus
	$(CARGO) test --locked -p workload --test corpus
	$(CARGO) test --locked -p baton --test config_corpus

doc: cc ## the documentation of every crate, private items too, in target/doc (installs: see cc)
	$(CARGO) doc --workspace --no-deps --document-private-items --locked

cc: ## install a C compiler by apt, if there is none
	@command -v cc >/dev/null || { \
		echo "no C compiler: installing gcc and libc6-dev by apt"; \
		$(APT) gcc libc6-dev; }
