package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/navigate"
	"github.com/quarrysearch/quarry/schemas/audit"
)

// Name is the server name that clients see.
const Name = "quarry"

// Server serves the tools.
type Server struct {
	o         Options
	navigator *navigate.Navigator
	slots     *callSlots
	metrics   *metrics
	sdk       *sdk.Server
	byName    map[string]*tool
	transport http.Handler
	sessions  *sessions
}

// New returns a Server with the given options.
func New(o Options) (*Server, error) {
	o.ensureDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &Server{o: o, navigator: navigate.New(o.Searcher, o.Outline).WithPrecise(o.Precise), slots: newCallSlots(), metrics: newMetrics(o.Registerer), byName: map[string]*tool{}}
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: Name, Title: "Quarry code search", Version: o.Version}, &sdk.ServerOptions{
		Instructions: instructions,
		Logger:       o.Logger,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}, // the list of tools never changes
	})
	for _, t := range allTools() {
		s.byName[t.name] = t
		s.sdk.AddTool(t.describeTool(), func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return s.answerCall(ctx, t, r.Params.Arguments), nil
		})
	}
	s.sdk.AddReceivingMiddleware(s.filterTools)
	s.transport = newTransport(s.sdk, o.Logger)
	s.sessions = newSessions(o.Secret, o.Now)
	return s, nil
}

// filterTools lists only the tools that the credential permits. It refuses notification
// streams, which would stay open without use.
func (s *Server) filterTools(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if method == "subscriptions/listen" {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this server sends no notifications"}
		}
		result, err := next(ctx, method, r)
		if list, ok := result.(*sdk.ListToolsResult); ok && err == nil {
			p := auth.From(ctx)
			list.Tools = slices.DeleteFunc(slices.Clone(list.Tools), func(t *sdk.Tool) bool { return s.byName[t.Name].unlisted || p.Need(s.byName[t.Name].scope) != nil })
		}
		return result, err
	}
}

// call is the state of one tool call.
type call struct {
	*Server
	args arguments
	out  answerText
}

// answerCall runs a call and returns its result.
func (s *Server) answerCall(ctx context.Context, t *tool, raw json.RawMessage) *sdk.CallToolResult {
	started := time.Now()
	outcome := outcomeAnswered
	c := &call{Server: s}
	c.out.setMaxTokens(DefaultTokens)
	err := s.runRecovered(ctx, t, c, raw)
	if err != nil {
		outcome = outcomeFailed
		c.out = answerText{most: c.out.most}
		c.addLinef("%s", c.adviseOnError(ctx, t, err))
	}
	if err := s.recordCall(ctx, t, c.args, outcome); err != nil {
		s.o.Logger.ErrorContext(ctx, "tool call not recorded in the audit log", "tool", t.name, "error", err)
		c.out, outcome = answerText{most: c.out.most}, outcomeFailed
		c.addLinef("The audit log is unavailable, and calls that cannot be recorded are not answered. Call again later.")
	}
	body := c.out.b.String()
	s.metrics.seconds.WithLabelValues(t.name, outcome).Observe(time.Since(started).Seconds())
	s.metrics.bytes.WithLabelValues(t.name).Observe(float64(len(body)))
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: body}}, IsError: outcome == outcomeFailed}
}

// runRecovered runs a call and converts a panic to an error: the library calls tools in
// its own goroutines, where a panic would end the process.
func (s *Server) runRecovered(ctx context.Context, t *tool, c *call, raw json.RawMessage) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.metrics.panics.Inc()
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return s.runTool(ctx, t, c, raw)
}

// runTool runs a tool within the bounds of calls.
func (s *Server) runTool(ctx context.Context, t *tool, c *call, raw json.RawMessage) (err error) {
	p := auth.From(ctx)
	if err := p.Need(t.scope); err != nil {
		return err
	}
	if c.args, err = parse(t.params, raw); err != nil {
		return err
	}
	if n, ok := c.args["maxTokens"].(int); ok && n != unset {
		c.out.setMaxTokens(n)
	}
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	// The library does not end calls when their client is gone.
	if request, ok := ctx.Value(requestKey{}).(context.Context); ok {
		defer context.AfterFunc(request, cancel)()
	}
	leave, err := s.slots.acquireSlot(ctx, callerKey(p))
	if err != nil {
		return err
	}
	defer leave()
	if err := c.completeRepository(ctx); err != nil {
		return err
	}
	return t.call(c, ctx)
}

// recordCall records a call in the audit log.
func (s *Server) recordCall(ctx context.Context, t *tool, args arguments, outcome string) error {
	metadata := map[string]string{"outcome": outcome}
	for _, name := range []string{"repo", "pattern", "symbol", "path", "ref", "query", "base", "head"} {
		if v, ok := args[name].(string); ok && v != "" {
			metadata[name] = cutText(v, audit.MaxMetadataBytes)
		}
	}
	return s.o.Note(ctx, audit.Record{
		At: s.o.Now().UTC(), Action: audit.CalledTool, Actor: auth.From(ctx).Actor, TargetType: audit.TargetTool, Target: t.name, Metadata: metadata,
	})
}
