# Everything that CI runs is here; CI itself runs .ci/run. Tools are pinned in tools/go.mod and built on first use.

GO      ?= go
TOOL     = $(GO) tool -modfile=tools/go.mod
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
FUZZTIME ?= 30s
# The release of Envoy that make conformance installs and runs.
ENVOY_VERSION ?= 1.40.0
# Packages that are tested with the race detector.
RACE    ?= ./...

.PHONY: build test check docs generate fuzz bench conformance e2e-istio

# grpcnotrace leaves out gRPC's tracing pages, whose templates keep the linker from leaving methods out: five megabytes.
build:
	CGO_ENABLED=0 $(GO) build -trimpath -tags grpcnotrace -ldflags '-s -w -X main.version=$(VERSION)' -o bin/edsctl ./cmd/edsctl

test:
	$(GO) test -shuffle=on ./...
	@cat testdata/vectors/*.golden

check:
	@sh .ci/check-format
	$(GO) vet ./...
	GOOS=windows GOARCH=amd64 $(GO) vet ./cmd/... ./pkg/...
	GOOS=darwin GOARCH=arm64 $(GO) vet ./cmd/... ./pkg/...
	$(TOOL) staticcheck ./...
	@sh .ci/check-words
	@sh .ci/check-generated
	$(GO) test -race -short -shuffle=on -timeout 25m $(RACE)

docs:
	UPDATE=1 $(GO) test -count=1 -run '^TestDocs' ./pkg/... ./cmd/...

generate:
	cp "$$($(GO) list -m -f '{{.Dir}}' github.com/envoyproxy/protoc-gen-validate)/validate/validate.proto" pkg/api/proto/validate/validate.proto
	chmod u+w pkg/api/proto/validate/validate.proto
	$(TOOL) buf generate

fuzz:
	@GO='$(GO)' sh .ci/fuzz $(FUZZTIME)

bench:
	$(GO) run ./bench $(BENCHFLAGS)

# The verdicts, then the traffic: both run, also when the first finds a disagreement.
conformance:
	@failed=0; \
	$(GO) run ./conformance -version $(ENVOY_VERSION) $(CONFORMANCEFLAGS) || failed=1; \
	$(GO) run ./conformance/traffic -version $(ENVOY_VERSION) -envoy .conformance/$(ENVOY_VERSION)/bin/envoy $(TRAFFICFLAGS) || failed=1; \
	EDSCTL_ENVOY=$(CURDIR)/.conformance/$(ENVOY_VERSION)/bin/envoy $(GO) test -count=1 -run '^TestEnvoy' ./pkg/xds/serve || failed=1; \
	exit $$failed

# istiod in the test's process: a module of its own, which takes about 15 minutes to build for the first time.
e2e-istio:
	cd conformance/istio && $(GO) test -count=1 -v .
