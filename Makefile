# Quarry. `make run` to see it, `make test` to trust it, `make quick` before a commit, `make check test` before a push.
# Needed: Go, git. With a C compiler it is built with cgo, without one it is not. Logic lives in Go: cmd/internal/tasks.

GO       ?= go
FUZZTIME ?= 30s
SEED     ?=
ROUNDS   ?= 200
EVENTS   ?= 1000000
N        ?= 2000
VULNDB   ?= v0.0.0-20261105234957-e22db6528018
REF      ?= main
CORPORA  ?= .cache/corpora/bench
ZOEKT_BIN ?=
QUICK    ?=
OUT      ?= .cache/bench.md
RELEASE  ?=
VERSION  ?=
GIT_ROOT ?=
TESTFLAGS ?=
# Paths of this checkout are in no object file: tests, the binary and other checkouts share the build cache.
export GOFLAGS ?= -trimpath
# What make quick leaves out: whole servers, brokers, measurements, and tests of programs beside Quarry.
NOT_QUICK = /cmd/(e2e|harness|internal/(apitest|clienttest|dashboards|deploytest|image|tasks)|quarry/internal/server)(/|$$)|/pipeline/eventlog/kafkalog(/|$$)
SCHEMATHESIS = .cache/schemathesis-4.32.5
CLIENT_TOOLS = .cache/clients
# Versions of nfpm, Helm and kubernetes-validate.
DEPLOY_TOOLS = v2.45.1 v3.22.0 1.37.0
GENERATED = ./pipeline/discovery ./cmd/internal/apigen ./cmd/internal/config ./cmd/internal/dashboards ./cmd/internal/tasks ./cmd/quarry ./cmd/quarry/internal/server ./query/web ./schemas/failure
GOLDEN    = $(sort $(dir $(shell git grep -l cockroachdb/datadriven -- '*_test.go')))
export QUARRY_KAFKA_LIBS ?= $(CURDIR)/.cache/kafka/libs
export QUARRY_NODE_MODULES ?= $(CURDIR)/.cache/node/node_modules
export QUARRY_IMAGE_PACKAGES ?= $(CURDIR)/.cache/image/packages
export QUARRY_TEST_BINARY = $(CURDIR)/.cache/test/quarry

.DEFAULT_GOAL := help
.PHONY: help build run release image image-packages packages deploy-tools generate fmt lint security quick test-binary test race golden fuzz metamorphic e2e api-test clients-test schemathesis client-tools chaos rolling simulate distinguish cover bench bench-engine bench-compare corpora docs-check kafka collector node shots tidy clean check

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## bin/quarry and bin/searchbench; RELEASE=v1.2.3 stamps a release, else the version comes from the newest tag and the commit
	$(GO) build -trimpath -buildvcs=auto $(if $(RELEASE),-ldflags '-X github.com/quarrysearch/quarry/cmd/internal/boot.release=$(RELEASE)') -o bin/ ./cmd/quarry ./cmd/harness/searchbench

run: ## serve on 127.0.0.1:7070, with this repository and the Go standard library indexed; GIT_ROOT=DIR also lets the server read the repositories below DIR
	@echo 'Building Quarry. With empty caches, this takes 5 to 20 minutes on two cores, and 1.8 GB of disk: 570 MB of modules, a build'
	@echo 'cache of 820 MB, and 400 MB for the index and the binaries. Go names each package whose compilation begins; linking is last.'
	$(GO) build -v -buildvcs=auto -o bin/ ./cmd/quarry ./cmd/internal/tasks
	bin/tasks run $(if $(GIT_ROOT),--git-root "$(abspath $(GIT_ROOT))")

release: ## archives of VERSION=v1.2.3 in .cache/release, with checksums and bills of materials, and a tag
	$(GO) run ./cmd/internal/tasks release --version $(VERSION)

image: ## the container image for amd64 and arm64, as an OCI layout and archive in .cache/image; needs apt of Debian, no container engine; VERSION=v1.2.3
	$(GO) run ./cmd/internal/tasks image --version "$(VERSION)"

image-packages: ## fetch the Debian packages of the image
	$(GO) run ./cmd/internal/tasks image --only-packages

packages: deploy-tools ## deb and rpm packages for amd64 and arm64 in .cache/packages; VERSION=v1.2.3
	PATH="$(CURDIR)/.cache/deploy:$$PATH" $(GO) run ./cmd/internal/tasks packages --version "$(VERSION)"

deploy-tools: ## build nfpm and Helm, and fetch the schemas of Kubernetes, in .cache/deploy
	test "$$(cat .cache/deploy/versions 2>/dev/null)" = "$(DEPLOY_TOOLS)" || rm -rf .cache/deploy
	test -x .cache/deploy/nfpm || GOBIN=$(CURDIR)/.cache/deploy $(GO) install github.com/goreleaser/nfpm/v2/cmd/nfpm@$(word 1,$(DEPLOY_TOOLS))
	test -x .cache/deploy/helm || GOBIN=$(CURDIR)/.cache/deploy $(GO) install helm.sh/helm/v3/cmd/helm@$(word 2,$(DEPLOY_TOOLS))
	test -x .cache/deploy/kubernetes-validate || { python3 -m venv .cache/deploy/python && .cache/deploy/python/bin/pip install -q --disable-pip-version-check kubernetes-validate==$(word 3,$(DEPLOY_TOOLS)) && ln -sf python/bin/kubernetes-validate .cache/deploy/kubernetes-validate; }
	echo "$(DEPLOY_TOOLS)" > .cache/deploy/versions

generate: ## files that follow from others: Go of the OpenAPI document, the schema of settings, the pages with tables, scripts of the web UI (make node)
	QUARRY_GENERATE=1 $(GO) test -count=1 -run 'IsCurrent$$' $(GENERATED)

fmt: ## gofmt
	gofmt -w $$(git ls-files '*.go')

lint: ## gofmt, vet, staticcheck, repolint
	test -z "$$(gofmt -l $$(git ls-files '*.go') | tee -a /dev/stderr)"
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) test -vet=off -count=1 ./cmd/internal/repolint

security: ## known vulnerabilities that the code reaches, of the database VULNDB=VERSION (latest: before a release)
	$(GO) run ./cmd/internal/tasks security --version $(VULNDB) --accepted .ci/vulnerabilities.txt

quick: ## before each commit: gofmt and repolint; vet and tests of the packages that differ from REF=main and of those that import them, without whole servers, browsers, brokers and Java
	test -z "$$(gofmt -l $$(git ls-files '*.go') | tee -a /dev/stderr)"
	$(GO) test -vet=off ./cmd/internal/repolint
	$(GO) run ./cmd/internal/tasks quick --ref "$(REF)" --left-out '$(NOT_QUICK)'

test-binary: ## the server that tests run, with a clock that they can move; .cache/test/quarry
	$(GO) build -tags quarrychaos -ldflags '-w -X github.com/quarrysearch/quarry/cmd/internal/boot.release=v9.8.7' -o $(QUARRY_TEST_BINARY) ./cmd/quarry

# One package more than there are processors, because some tests wait for servers. Tests and
# the servers that they start have small heaps and collect garbage less often than usual; tests
# that measure memory collect as servers do. Without tables for debuggers (-w), linking the
# test programs takes half as long.
test: test-binary ## every test; those that need a missing program say so and skip
	GOGC=400 .ci/in-memory $(GO) test -vet=off -ldflags=-w -timeout 30m -p $$(($$(getconf _NPROCESSORS_ONLN) + 1)) $(TESTFLAGS) ./...

race: test-binary ## every test under the race detector
	CGO_ENABLED=1 $(GO) test -race -timeout 60m ./...

golden: test-binary ## rewrite the expected output of data-driven tests
	$(GO) test $(addprefix ./,$(GOLDEN)) -rewrite

fuzz: ## every fuzz test, FUZZTIME=30s each
	$(GO) run ./cmd/internal/tasks fuzz --time $(FUZZTIME)

metamorphic: ## random corpora and queries against a plain scan; SEED=n repeats one
	QUARRY_SEED=$(SEED) $(GO) test -count=1 -run "Metamorphic|PushByPush" -v ./projections/... ./query/... ./cmd/quarry/internal/views

e2e: test-binary ## the built binary: serve, index, push, search, kill, restart
	$(GO) test -count=1 -v -timeout 30m ./cmd/e2e

api-test: test-binary schemathesis ## Schemathesis against a running server, as owner, member, operator and nobody; SEED=n repeats one, up to 3 minutes
	QUARRY_SCHEMATHESIS=$(CURDIR)/$(SCHEMATHESIS)/bin/st QUARRY_SEED=$(SEED) .ci/in-memory $(GO) test -vet=off -ldflags=-w -count=1 -v -timeout 10m ./cmd/internal/apitest

schemathesis: ## fetch Schemathesis from PyPI
	-test -x $(SCHEMATHESIS)/bin/st || { python3 -m venv $(SCHEMATHESIS) && $(SCHEMATHESIS)/bin/pip install -q --disable-pip-version-check schemathesis==4.32.5; }

clients-test: test-binary client-tools ## clients in Go, Python and TypeScript, generated from the OpenAPI document, call every operation of a running server
	QUARRY_CLIENT_TOOLS=$(CURDIR)/$(CLIENT_TOOLS) .ci/in-memory $(GO) test -vet=off -ldflags=-w -count=1 -v -timeout 10m ./cmd/internal/clienttest

client-tools: ## fetch the generators of clients from PyPI and npm
	@mkdir -p $(CLIENT_TOOLS)
	-cmp -s deploy/clients/requirements.txt $(CLIENT_TOOLS)/requirements.txt || { python3 -m venv --clear $(CLIENT_TOOLS)/python && $(CLIENT_TOOLS)/python/bin/pip install -q --disable-pip-version-check -r deploy/clients/requirements.txt && cp deploy/clients/requirements.txt $(CLIENT_TOOLS)/; }
	-cmp -s deploy/clients/package-lock.json $(CLIENT_TOOLS)/node_modules/installed.json || { cp deploy/clients/package*.json $(CLIENT_TOOLS)/ && npm ci --prefix $(CLIENT_TOOLS) --ignore-scripts --no-audit --no-fund && cp deploy/clients/package-lock.json $(CLIENT_TOOLS)/node_modules/installed.json; }

chaos: test-binary ## kills, full disks, clock jumps, damage: ROUNDS=200 rounds, SEED=n repeats one, CHAOSFLAGS=; needs Java and jars (make kafka), root for full disks
	$(GO) build -o .cache/chaos/bin/chaos ./cmd/harness/chaos
	.cache/chaos/bin/chaos --quarry $(QUARRY_TEST_BINARY) --work .cache/chaos --rounds $(ROUNDS) $(if $(SEED),--seed $(SEED)) --out .cache/chaos.md $(CHAOSFLAGS)

simulate: ## a simulated world of webhooks, workers and projections: EVENTS=1000000 events from SEED=1 on
	QUARRY_SEED=$(SEED) QUARRY_EVENTS=$(EVENTS) $(GO) test -count=1 -v -timeout 24h -run 'TestSimulation$$' ./cmd/quarry/internal/server

distinguish: ## words of hidden repositories at a server that has them and one that does not: N=2000 pairs for each door and caller, judged by time; SEED=n repeats one
	QUARRY_DISTINGUISH=$(N) QUARRY_SEED=$(SEED) $(GO) test -vet=off -count=1 -v -timeout 24h -run 'TestHiddenWordsCannotBeTold$$' ./cmd/quarry/internal/server

cover: test-binary ## every test, and fail where packages or all statements are covered too little; go tool cover -html=.cache/cover.out shows the lines
	@mkdir -p .cache
	$(GO) test -vet=off -timeout 30m -coverpkg=./... -coverprofile=.cache/cover.out ./...
	$(GO) run ./cmd/internal/tasks cover --least 70 --all 85 --floors .ci/coverage.txt .cache/cover.out

bench: build ## the tables of docs/performance.md, to OUT=FILE; CORPORA=DIR ZOEKT_BIN=DIR QUICK=1 BENCHFLAGS=
	@mkdir -p $(dir $(OUT))
	bin/searchbench run --corpora $(CORPORA) --quarry bin/quarry --out $(OUT) $(if $(ZOEKT_BIN),--zoekt-bin $(ZOEKT_BIN)) $(if $(QUICK),--quick) $(BENCHFLAGS)

bench-engine: REF = $(or $(shell git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null),035cb01)
bench-engine: ## the gate of changes to the engine: this tree and REF=COMMIT (default: the newest release), and zoekt of ZOEKT_BIN=DIR, in turn; CORPORA=DIR SEED=n BENCHFLAGS=
	$(GO) run ./cmd/internal/tasks bench-engine --ref $(REF) --corpora $(CORPORA) $(if $(ZOEKT_BIN),--zoekt-bin $(ZOEKT_BIN)) $(if $(SEED),--seed $(SEED)) $(if $(BENCHFLAGS),"--flags=$(BENCHFLAGS)")

# The shares of v0.3.0, the newest release, have one replica each, and the test starts two.
rolling: REF = 0ee82a6d
rolling: test-binary ## roll a cluster on Kafka from REF=COMMIT to this tree, under pushes and searches
	$(GO) run ./cmd/internal/tasks rolling --ref $(REF)

bench-compare: ## Go benchmarks here and at REF=main, ten runs each
	$(GO) run ./cmd/internal/tasks bench-compare --ref $(REF)

corpora: build ## source trees to measure on, from package registries; about 10 GB in CORPORA=DIR
	bin/searchbench corpora --out $(CORPORA)

docs-check: ## links, metrics, settings, commands, requests and queries in docs are those of the code
	$(GO) test -count=1 ./cmd/internal/docscheck
	$(GO) test -count=1 -run '^TestDocumented' ./cmd/quarry ./schemas/openapi ./query/syntax
	$(GO) test -count=1 -run 'IsCurrent$$' $(GENERATED)

kafka: ## fetch an Apache Kafka broker with Maven and run it on 127.0.0.1:9092
	mvn -q -B -f deploy/kafka/pom.xml dependency:copy-dependencies -DoutputDirectory=$(QUARRY_KAFKA_LIBS)
	java -cp '$(QUARRY_KAFKA_LIBS)/*' kafka.tools.StorageTool format --ignore-formatted -t cXVhcnJ5LW1ha2Uta2Fma2 -c deploy/kafka/server.properties
	java -Xmx512m -cp '$(QUARRY_KAFKA_LIBS)/*' kafka.Kafka deploy/kafka/server.properties

collector: ## build the OpenTelemetry collector that a test runs, in .cache/otelcol
	GOBIN=$(CURDIR)/.cache/otelcol $(GO) install go.opentelemetry.io/collector/cmd/builder@v0.165.0
	.cache/otelcol/builder --config deploy/otelcol/builder.yaml

s3: ## build the S3 server that tests run, in .cache/s3
	GOBIN=$(CURDIR)/.cache/s3 $(GO) install github.com/versity/versitygw/cmd/versitygw@v1.8.0

node: ## fetch the npm packages that scripts of pages are made of, and that tests run beside Quarry
	mkdir -p .cache/node && cp deploy/node/package*.json .cache/node/
	npm ci --prefix .cache/node --ignore-scripts --no-audit --no-fund

shots: ## pictures of every page in .cache/shots, in both themes and at both widths; needs Chromium and make node
	rm -rf .cache/shots && mkdir -p .cache/shots
	QUARRY_WEB_SHOTS=$(CURDIR)/.cache/shots $(GO) test -count=1 -timeout 30m -run 'TestEveryPageInABrowser$$|TestBrowsePages$$|TestSearchInABrowser$$|TestBrowser$$' ./query/web ./cmd/quarry/internal/server

tidy: ## go.mod and go.sum
	$(GO) mod tidy

clean: ## what make made, but not the fetched jars and corpora
	rm -rf bin .cache/chaos .cache/test .cache/cover.* .cache/bench-compare .cache/bench-engine .cache/rolling

check: lint security ## what a commit must pass besides its tests
	$(GO) mod tidy -diff
	CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/quarry
