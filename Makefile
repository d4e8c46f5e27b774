# The commands of the project; `make` alone lists them. Set-up and checks are scripts in scripts/, so that a
# recipe stays one line. Everything built or installed goes into the target directory.

SHELL := /bin/bash
.DEFAULT_GOAL := help

TARGET := $(or $(CARGO_TARGET_DIR),target)
LOCKED := $(if $(filter true,$(CI)),--locked)

.PHONY: help
help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The demo's addresses. DataHub's clients sign in at the second one.
LISTEN ?= 127.0.0.1:8080
UI_LISTEN ?= 127.0.0.1:9002

.PHONY: run
run: ## Build and start the demo on http://localhost:8080 (LISTEN=127.0.0.1:8081 for another port)
	@scripts/set-up-system compiler
	@scripts/build-page
	cargo build $(LOCKED) --profile quick --package docent
	@mkdir -p target/demo
	$(TARGET)/quick/docent serve --demo --listen $(LISTEN) --ui-listen $(UI_LISTEN) --store sqlite:target/demo/docent.db

.PHONY: page
page: ## Serve the web page with live reload, next to a running `make run`
	@scripts/dev-page

.PHONY: build
build: ## Build the release binary, target/release/docent
	@scripts/set-up-system compiler
	@scripts/build-page
	cargo build $(LOCKED) --release --package docent

.PHONY: test
test: ## Run all tests
	@scripts/test

.PHONY: torture
torture: ## Kill, starve and overload the release build for an hour and a half (PARTS='load soak' for some)
	@scripts/torture $(PARTS)

.PHONY: check
check: ## Check format, lints, documentation, unused dependencies and licenses
	@scripts/check

.PHONY: audit
audit: ## Check the dependencies for known vulnerabilities (needs the network)
	@scripts/audit

.PHONY: fix
fix: ## Format the code and apply clippy's automatic fixes
	cargo fmt --all
	cargo clippy --fix --allow-dirty --allow-staged --workspace --all-targets --all-features

.PHONY: frontend
frontend: ## Build DataHub's web page for 'docent serve --frontend' (CHECKOUT=DIR with its sources)
	@tests/frontend/build $(CHECKOUT)

.PHONY: bench
bench: ## Run the benchmarks (see docs/PERFORMANCE.md)
	@scripts/set-up-system compiler postgresql
	@bench/run

.PHONY: dist
dist: ## Build everything that is released into target/dist: binaries, packages, images, chart, documents
	@scripts/dist/all

.PHONY: dist-test
dist-test: ## Try what `make dist` has built, each on a bare root file system (needs root)
	@scripts/test-dist

.PHONY: clean
clean: ## Remove everything built or installed here
	cargo clean
	rm -rf ui/node_modules ui/src/generated ui/test-results crates/page/files/built
