package kafkalog

import (
	"sync"

	"github.com/segmentio/kafka-go/protocol"
)

// registerMessages registers the messages that the client library lacks, or has wrong,
// before anything is sent. Their fields are in the order of
// https://kafka.apache.org/protocol.
var registerMessages = sync.OnceFunc(func() {
	protocol.Register(&heartbeatRequest{}, &heartbeatResponse{})
	protocol.Register(&deleteRecordsRequest{}, &deleteRecordsResponse{})
})
