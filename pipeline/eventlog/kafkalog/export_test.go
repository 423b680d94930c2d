package kafkalog

import "net"

// Wrapped returns the options with wrap around every connection to a broker.
func (o Options) Wrapped(wrap func(net.Conn) net.Conn) Options {
	o.wrap = wrap
	return o
}
