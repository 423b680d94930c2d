package kafkalog

import (
	"context"

	"github.com/segmentio/kafka-go/protocol"
)

// heartbeatRequest and heartbeatResponse replace the client library's messages, which are
// wrong: the request does not go to the coordinator, and the response takes the throttle
// time for the error code, so a member would never notice that its group changes. Only the
// library's ConsumerGroup sends heartbeats, and it has its own messages. TestBroker checks
// that the broker accepts these.
//
// Version 3 is the first that supports instances.
type heartbeatRequest struct {
	GroupID         string `kafka:"min=v0,max=v3"`
	GenerationID    int32  `kafka:"min=v0,max=v3"`
	MemberID        string `kafka:"min=v0,max=v3"`
	GroupInstanceID string `kafka:"min=v3,max=v3,nullable"`
}

// ApiKey implements protocol.Message.
func (*heartbeatRequest) ApiKey() protocol.ApiKey { return protocol.Heartbeat }

// Group implements protocol.GroupMessage: the request goes to the coordinator.
func (r *heartbeatRequest) Group() string { return r.GroupID }

type heartbeatResponse struct {
	ThrottleTimeMS int32 `kafka:"min=v1,max=v3"`
	ErrorCode      int16 `kafka:"min=v0,max=v3"`
}

// ApiKey implements protocol.Message.
func (*heartbeatResponse) ApiKey() protocol.ApiKey { return protocol.Heartbeat }

// sendHeartbeat keeps the session alive, and reports whether the generation ends.
func (m *member) sendHeartbeat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, heartbeatTimeout)
	defer cancel()
	response, err := askGroup[*heartbeatResponse](ctx, m, &heartbeatRequest{
		GroupID: m.group, MemberID: m.member, GroupInstanceID: m.instance, GenerationID: m.generation,
	})
	if err == nil {
		err = codeError(response.ErrorCode)
	}
	m.forgetIdentity(err)
	return err
}
