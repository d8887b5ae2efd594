# Every check of this project is a target here, and runs the same for a developer and
# for CI (.ci/run).

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -ec
.DEFAULT_GOAL := help
.PHONY: help test check deps fmt format vet lint tidy unit race cross bench-once bench perf bpf \
	fuzz-short fuzz-long model-long soak-full runs interop interop-full chroot-test clean

# Inputs per fuzz target: of Go's fuzzer in fuzz-short, of the counted driver
# (internal/fuzzing) in fuzz-long.
FUZZ_SHORT ?= 20000
FUZZ_LONG ?= 20000000

# Lists all packages but the interoperability tests, which boot virtual machines and
# are Linux's alone.
packages = go list ./... | grep -v /interop

# Prints the kernels that the guests boot: kernel, suite, package, version, hash.
pinned_kernels = grep -v '^\#' interop/guest/guest.lock

# Makes the failures and skips of go test -json readable. Where features are required
# (package testenv), only what .ci/skips allows may skip.
report = go run ./internal/testreport $(if $(TEST_SKIPS),-skips $(TEST_SKIPS)) \
	$(if $(ROCE_TEST_REQUIRE),-allow .ci/skips)

help: ## print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

test: ## everything that this machine can run; says at the end what ran and what did not
	@scripts/sections deps fmt vet lint tidy cross unit race bench-once fuzz-short interop

check: ## the quick half, before a commit: fmt vet lint tidy
	@scripts/sections fmt vet lint tidy

deps: ## install the Debian packages that tests use (as root), or say what is missing
	@scripts/deps

fmt: ## fail if a file is not formatted: gofmt, imports of this module apart
	@scripts/golangci-lint fmt --diff || { echo "run make format"; exit 1; }

format: ## rewrite the files that fmt complains of
	scripts/golangci-lint fmt

vet: ## go vet over every package
	go vet ./...

lint: ## golangci-lint, as on linux, darwin and windows (.golangci.yml)
	@echo "-- linux"; scripts/golangci-lint run ./...
	@for system in darwin windows; do \
		export GOOS=$$system; echo "-- $$system"; \
		p=$$($(packages)); folders=$$(go list -f '{{.Dir}}' $$p); \
		scripts/golangci-lint run $$folders; \
	done

tidy: ## fail if go.mod or go.sum is not what go mod tidy writes
	go mod tidy -diff

cross: ## build and vet for other systems; run the tests of the protocol as 32-bit code
	@scripts/cross

# One package's tests at a time: many of them spin, as RDMA programs do, and a peer that
# gets no processor for half a second is given up.
unit: ## every test but interop, in random order; as root also those in network namespaces
	@go build ./...; p=$$($(packages)); go test -json -p 1 -shuffle=on $$p | $(report)

race: ## the same under the race detector, and with xdp's ledger of frames
	@go build -race -tags xdpdebug ./...; p=$$($(packages)); \
		go test -json -race -tags xdpdebug -p 1 -shuffle=on $$p | $(report)

bench-once: ## run every benchmark once, to see that it works
	@p=$$($(packages)); go test -run '^$$' -bench . -benchtime 1x $$p | grep -vE '^PASS|no test files'

bpf: ## compile the XDP program again: bpf/filter.c (clang 14)
	go generate ./bpf

fuzz-short: ## Go's fuzzer on every fuzz target, FUZZ_SHORT inputs each
	@scripts/fuzz $(FUZZ_SHORT)

interop: ## against the Linux kernel's rdma_rxe, in virtual machines
	@$(pinned_kernels)
	@go test -json -count=1 -timeout 30m ./interop/... | $(report)

interop-full: ## the whole matrix of interop: every kernel, MTU and operation
	@$(pinned_kernels)
	@export ROCE_FULL=1; go test -json -count=1 -timeout 0 ./interop/... | $(report)

fuzz-long: ## go on fuzzing where the ledger ends, FUZZ_LONG new inputs each, and log it
	@export ROCE_LEDGER=1 ROCE_FUZZ_N=$(FUZZ_LONG); \
	p=$$($(packages)); go test -json -count=1 -timeout 0 -run '^TestDrive' $$p | $(report)

model-long: ## ten million new operations of the model test, logged in the ledger
	@export ROCE_FULL=1 ROCE_LEDGER=1; \
	go test -json -count=1 -timeout 0 -run '^TestModel$$' ./transport/rc | $(report)

soak-full: ## the long form of the soak tests, logged in the ledger
	@export ROCE_FULL=1 ROCE_LEDGER=1; \
	p=$$($(packages)); go test -json -count=1 -timeout 0 -run '^TestSoak' $$p | $(report)

runs: ## what the ledger of long runs adds up to (docs/runs.jsonl)
	@go run ./internal/ledger/runs

bench: ## measure: all benchmarks, ten times each, for benchstat
	@p=$$($(packages)); go test -run '^$$' -bench . -benchmem -count 10 $$p

perf: ## measure against plain sockets, and write docs/perf.md (Linux; keep the machine idle)
	@go run ./internal/perfpage/perf -measure

chroot-test: ## run .ci/run on the last commit in a fresh Debian 12 (root; DIR=folder keeps it)
	@scripts/chroot-test $(DIR)

clean: ## remove what builds leave: bin and the linter's cache
	rm -rf bin .cache
