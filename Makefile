# The commands of the project; `make` alone lists them. Set-up and checks are scripts in scripts/, so that a recipe
# stays one line. Everything built or installed lands in the target directory.

SHELL := /bin/bash
.DEFAULT_GOAL := help

TARGET := $(or $(CARGO_TARGET_DIR),target)
LOCKED := $(if $(filter true,$(CI)),--locked)

.PHONY: help
help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Where the demo listens; the second address is the one at which DataHub's clients sign in.
LISTEN ?= 127.0.0.1:8080
UI_LISTEN ?= 127.0.0.1:9002

.PHONY: run
run: ## Build and start the demo on http://localhost:8080 (LISTEN=127.0.0.1:8081 chooses another port)
	@scripts/set-up-system compiler
	@scripts/build-page
	cargo build $(LOCKED) --release --package docent
	@mkdir -p target/demo
	$(TARGET)/release/docent serve --demo --listen $(LISTEN) --ui-listen $(UI_LISTEN) --store sqlite:target/demo/docent.db

.PHONY: page
page: ## Serve the web page while it is being changed, beside `make run`
	@scripts/dev-page

.PHONY: build
build: ## Build the release binary
	@scripts/set-up-system compiler
	@scripts/build-page
	cargo build $(LOCKED) --release --package docent

.PHONY: test
test: ## Run every test
	@scripts/test

.PHONY: check
check: ## Format, lints, documentation, unused dependencies, licenses
	@scripts/check

.PHONY: fix
fix: ## Format the code and apply what clippy can repair by itself
	cargo fmt --all
	cargo clippy --fix --allow-dirty --allow-staged --workspace --all-targets --all-features

.PHONY: bench
bench: ## Measure speed (see docs/PERFORMANCE.md)
	@scripts/set-up-system compiler postgresql
	@bench/run

.PHONY: clean
clean: ## Remove everything that was built or installed here
	cargo clean
	rm -rf ui/node_modules ui/src/generated ui/test-results crates/page/files/built
