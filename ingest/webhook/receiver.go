package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/gorilla/mux"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Receiver serves POST /webhooks/{kind}/{connection}.
type Receiver struct {
	o Options
	// connections are replaced as a whole.
	connections atomic.Pointer[map[string]*connection]
	router      *mux.Router
	small       *bodyBudget // for bodies up to smallBodyBytes
	large       *bodyBudget // for larger bodies
	// largeBodySlot is held while a large body is verified and translated, which occupies
	// a processor for some time.
	largeBodySlot chan struct{}
	recent        *recentDeliveries
	registered    *registeredIDs
	identities    *hostIdentities
	queued        chan queuedDelivery
	// unknownSamplers limits the log lines of deliveries to unknown connections.
	unknownSamplers logSamplers
	metrics         *metrics
}

// connection is a configured webhook with its translator.
type connection struct {
	ingest.Connection
	translator     ingest.Translator
	refusalLimiter *refusalLimiter
	// logSamplers limits the log lines of failures, by result.
	logSamplers logSamplers
}

// eventSource is the CloudEvents source of the connection's events.
func (c *connection) eventSource() string { return "/webhooks/" + string(c.Kind) + "/" + c.Name }

// New checks o and opens the translator of every connection.
func New(o Options) (*Receiver, error) {
	o.ensureDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	r := &Receiver{
		o:               o,
		small:           newBodyBudget(max(o.MaxInFlightBytes/smallShare, smallBodyBytes), smallBodyBytes),
		large:           newBodyBudget(o.MaxInFlightBytes, o.MaxBodyBytes),
		largeBodySlot:   make(chan struct{}, 1), // capacity 1: one holder
		recent:          newRecentDeliveries(o.RecentDeliveries),
		registered:      newRegisteredIDs(),
		identities:      newHostIdentities(),
		queued:          make(chan queuedDelivery, maxQueuedDeliveries),
		unknownSamplers: logSamplers{failureOf(errUnknownConnection).result: new(refusalLimiter)},
		metrics:         newMetrics(o.Registerer),
	}
	if err := r.SetConnections(o.Connections); err != nil {
		return nil, err
	}
	r.router = r.newRouter()
	return r, nil
}

// SetConnections replaces all connections, or none if it returns an error. Deliveries in
// progress finish with the previous ones. It must not be called concurrently.
func (r *Receiver) SetConnections(list []ingest.Connection) error {
	if len(list) > MaxConnections {
		return fmt.Errorf("webhook: %d connections, at most %d", len(list), MaxConnections)
	}
	former := r.connections.Load()
	next := make(map[string]*connection, len(list))
	for _, c := range list {
		if next[c.Name] != nil {
			return fmt.Errorf("webhook: connection %s is configured twice", c.Name)
		}
		opened, err := r.openConnection(c)
		if err != nil {
			return err
		}
		if former != nil {
			opened.keepBounds((*former)[c.Name])
		}
		next[c.Name] = opened
	}
	r.metrics.createSeries(next)
	r.connections.Store(&next)
	if former != nil {
		r.metrics.dropSeries(*former, next)
	}
	return nil
}

func (r *Receiver) openConnection(c ingest.Connection) (*connection, error) {
	if !connectionName.MatchString(c.Name) {
		return nil, fmt.Errorf("webhook: connection %.80q: want 1 to 64 letters, digits, dots, dashes or underscores", c.Name)
	}
	open, ok := r.o.Kinds[c.Kind]
	if !ok {
		return nil, fmt.Errorf("webhook: connection %s: kind %.40q: want one of %s", c.Name, string(c.Kind), r.kindNames())
	}
	t, err := open(c)
	if err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	return &connection{Connection: c, translator: t, refusalLimiter: new(refusalLimiter), logSamplers: newLogSamplers(connectionResults())}, nil
}

// keepBounds takes over the limiters of the previous connection of this name, which may
// be nil.
func (c *connection) keepBounds(former *connection) {
	if former != nil {
		c.refusalLimiter, c.logSamplers = former.refusalLimiter, former.logSamplers
	}
}

func (r *Receiver) kindNames() string {
	var names []string
	for kind := range r.o.Kinds {
		names = append(names, string(kind))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func (r *Receiver) newRouter() *mux.Router {
	router := mux.NewRouter()
	router.HandleFunc("/webhooks/{kind}/{connection}", r.serveDelivery).Methods(http.MethodPost)
	router.NotFoundHandler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		writeError(w, errNoRoute)
	})
	router.MethodNotAllowedHandler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Allow", http.MethodPost)
		writeError(w, errMethod)
	})
	return router
}

// ServeHTTP implements http.Handler for every path below /webhooks/.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.router.ServeHTTP(w, req)
}

// answer is the response body for a delivery that was accepted or ignored.
type answer struct {
	// Accepted is the number of events that the delivery appended to the log.
	Accepted  int              `json:"accepted"`
	Positions []event.Position `json:"positions"`
	// MinPosition names the positions as the minPosition of a search takes them, which
	// takes all of a delivery.
	MinPosition string `json:"minPosition,omitempty"`
	DeliveryID  string `json:"deliveryId"`
	// Duplicate means that the positions are those of an earlier delivery.
	Duplicate bool `json:"duplicate,omitempty"`
	// Ignored explains why nothing was appended.
	Ignored string `json:"ignored,omitempty"`
	// Hint explains what happens beyond the events.
	Hint string `json:"hint,omitempty"`
	// repository and outcome are the delivery's, for logging.
	repository code.Repository
	outcome    string
}

const _ = uint(event.MaxAwaited - ingest.MaxPushes - 1) // a registration may precede the pushes

// serveDelivery answers one delivery and counts it once.
func (r *Receiver) serveDelivery(w http.ResponseWriter, req *http.Request) {
	start := r.o.Now()
	ctx, span := r.o.Tracer.StartRequest(req)
	req = req.WithContext(ctx)
	status := http.StatusInternalServerError // of a panic
	defer func() { span.EndRequest(req.Method, "/webhooks/{kind}/{connection}", status) }()
	c, err := r.findConnection(mux.Vars(req))
	var a answer
	if err == nil {
		a, err = r.receiveDelivery(w, req, c)
	}
	if errors.Is(err, ingest.ErrUnsignedTest) {
		// Anyone can send it: it has no effect and leaves neither a record nor a log
		// line.
		status = http.StatusOK
		r.metrics.observeDelivery(c, resultIgnored, r.o.Now().Sub(start))
		writeJSON(w, status, ignoredAnswer("", "connection test: it is not signed, so it does not check the secret"))
		return
	}
	result := resultOf(a, err)
	r.metrics.observeDelivery(c, result, r.o.Now().Sub(start))
	if err != nil {
		status = failureOf(err).status
		r.logFailure(req, c, result, err)
		writeError(w, err)
		return
	}
	r.logTaken(req, c, a, r.o.Now().Sub(start))
	var texts []string
	for _, p := range a.Positions {
		texts = append(texts, p.String())
	}
	a.MinPosition = strings.Join(texts, ",")
	status = http.StatusAccepted
	if a.Ignored != "" {
		status = http.StatusOK
	}
	writeJSON(w, status, a)
}

func (r *Receiver) findConnection(vars map[string]string) (*connection, error) {
	c := (*r.connections.Load())[vars["connection"]]
	if c == nil || string(c.Kind) != vars["kind"] {
		return nil, errUnknownConnection
	}
	return c, nil
}

func (r *Receiver) receiveDelivery(w http.ResponseWriter, req *http.Request, c *connection) (answer, error) {
	if r.o.Full() {
		return answer{}, fmt.Errorf("%w: the worker backlog exceeds ingest.maxBacklog", errUnavailable)
	}
	body, place, err := r.readBody(w, req)
	if err != nil {
		return answer{}, err
	}
	defer r.releaseBody(place)
	in := &ingest.Request{Header: req.Header, Client: parseClient(req.RemoteAddr), Query: req.URL.Query(), Body: body, ReceivedAt: r.o.Now().UTC()}
	a, err := r.processDelivery(req.Context(), c, in, place)
	if !errors.Is(err, ingest.ErrUnsignedTest) {
		r.queueDelivery(c, in, a, err)
	}
	return a, err
}

// verifyAndTranslate verifies and translates a delivery. It processes one large delivery
// at a time, so that they use at most one processor.
func (r *Receiver) verifyAndTranslate(ctx context.Context, c *connection, in *ingest.Request) (ingest.Delivery, error) {
	if len(in.Body) > smallBodyBytes {
		select {
		case r.largeBodySlot <- struct{}{}:
			defer func() { <-r.largeBodySlot }()
		case <-ctx.Done():
			return ingest.Delivery{}, fmt.Errorf("%w: %w", errUnavailable, ctx.Err())
		}
	}
	if err := c.translator.Verify(in); err != nil {
		return ingest.Delivery{}, err
	}
	return c.translator.Translate(in)
}

// processDelivery accepts a delivery or returns why not.
func (r *Receiver) processDelivery(ctx context.Context, c *connection, in *ingest.Request, place *reservation) (answer, error) {
	d, err := r.verifyAndTranslate(ctx, c, in)
	if err != nil {
		return answer{}, err
	}
	place.markVerified()
	if err := r.doubtAccess(ctx, c, in, &d); err != nil {
		return answer{}, err
	}
	if d.Outcome == ingest.Ignored {
		a := ignoredAnswer(d.ID, d.Reason)
		a.repository = d.Repository
		return a, nil
	}
	return r.acceptDelivery(ctx, c, in, d)
}

// doubtAccess requests that the permissions that a delivery may have changed are reread.
// It changes the outcome of a delivery about permissions alone to Ignored.
func (r *Receiver) doubtAccess(ctx context.Context, c *connection, in *ingest.Request, d *ingest.Delivery) error {
	if d.Outcome != ingest.AccessChanged && d.Outcome != ingest.Changed {
		return nil
	}
	doubted := false
	if r.o.DoubtAccess != nil {
		ctx, cancel := context.WithTimeout(ctx, r.o.AppendTimeout)
		defer cancel()
		id := d.Repository.ID
		found, known, err := r.findRepository(ctx, c, d.Repository)
		switch {
		case err != nil:
			return err
		case known && id != 0:
			id = found.ID // it may be registered by its clone URL
		}
		if doubted, err = r.o.DoubtAccess(ctx, c.Name, id, d.RemovedUser, in.ReceivedAt); err != nil {
			return fmt.Errorf("%w: %w", errUnavailable, err)
		}
	}
	if d.Outcome == ingest.AccessChanged {
		d.Outcome = ingest.Ignored
		if doubted {
			d.Reason = "permissions: read again from the host"
		}
	}
	return nil
}

// acceptDelivery appends the events of a delivery unless they were appended recently.
func (r *Receiver) acceptDelivery(ctx context.Context, c *connection, in *ingest.Request, d ingest.Delivery) (answer, error) {
	sum := sha256.Sum256(in.Body)
	key := deliveryKey(c.Name, d.ID, sum)
	if d.ID != "" {
		if positions, ok := r.recent.get(key); ok {
			return answer{Accepted: len(positions), Positions: positions, DeliveryID: d.ID, Duplicate: true, repository: d.Repository}, nil
		}
	} else {
		d.ID = newDeliveryID()
		key = deliveryKey(c.Name, d.ID, sum)
	}
	b := batch{connection: c, id: d.ID, key: key, body: hex.EncodeToString(sum[:]), at: in.ReceivedAt}
	registering, reason, err := r.addEvents(ctx, &b, d)
	if err != nil {
		return answer{}, err
	}
	if reason != "" {
		a := ignoredAnswer(d.ID, reason)
		a.repository = d.Repository
		return a, nil
	}
	a := answer{Positions: []event.Position{}, DeliveryID: d.ID, repository: b.repository, outcome: string(d.Outcome)}
	if d.Outcome != ingest.Pushed {
		a.Hint = "the repository is read from the host"
	}
	if len(d.RefusedRefs) > 0 {
		a.Hint = ingest.Text("refs are not indexed: "+strings.Join(d.RefusedRefs, "; "), event.MaxReasonBytes)
	}
	if len(b.records) == 0 {
		return a, nil // not recalled: a repetition is another hint
	}
	if a.Positions, err = r.appendBatch(ctx, &b); err != nil {
		return answer{}, err
	}
	a.Accepted = len(a.Positions)
	r.auditBatch(ctx, &b, &d)
	r.recent.put(key, a.Positions)
	r.registered.addID(registering)
	return a, nil
}

// auditBatch records the change of existence or visibility that the events of a delivery
// make. A process without a catalog does not know whether they make one.
func (r *Receiver) auditBatch(ctx context.Context, b *batch, d *ingest.Delivery) {
	if r.o.Repositories == nil {
		return
	}
	record := audit.Record{
		Actor: account.Actor{Kind: account.ActorSystem}, TargetType: audit.TargetRepository, Target: b.repository.Name,
		Metadata: map[string]string{"cause": "delivery", "connection": b.connection.Name, "delivery": b.id},
	}
	switch {
	case b.registers:
		record.Action = audit.RegisteredRepository
		record.Metadata["cloneUrl"], record.Metadata["private"] = b.repository.CloneURL, strconv.FormatBool(b.repository.Private)
	case b.narrows(d):
		record.Action = audit.ChangedRepository
		record.Metadata["private"] = "true"
	default:
		return
	}
	r.o.Audit(ctx, record)
}

func ignoredAnswer(id, reason string) answer {
	return answer{Positions: []event.Position{}, DeliveryID: id, Ignored: reason}
}

// appendBatch appends the batch to the log and waits for the acknowledgment.
func (r *Receiver) appendBatch(ctx context.Context, b *batch) ([]event.Position, error) {
	ctx, cancel := context.WithTimeout(ctx, r.o.AppendTimeout)
	defer cancel()
	start := r.o.Now()
	positions, err := r.o.Appender.Append(ctx, event.TopicEvents, anyPartition, b.records...)
	r.metrics.appendSeconds.Observe(r.o.Now().Sub(start).Seconds())
	if err != nil {
		return nil, fmt.Errorf("%w: append %d events of delivery %s: %w", errUnavailable, len(b.records), b.id, err)
	}
	if len(positions) != len(b.records) {
		return nil, fmt.Errorf("append %d events of delivery %s: the log returned %d positions", len(b.records), b.id, len(positions))
	}
	r.metrics.events.Add(float64(len(positions)))
	return positions, nil
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		// Only Quarry's own structs are written.
		panic(fmt.Sprintf("webhook: encode %T: %v", v, err))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n'))
}

// repositoryName returns the name that messages use for a repository of a payload.
func repositoryName(r code.Repository) string {
	if r.Name != "" {
		return r.Name
	}
	return r.ID.String()
}
