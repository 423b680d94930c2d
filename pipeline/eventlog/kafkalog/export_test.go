package kafkalog

import "net"

// Wrapped returns options that apply wrap to every connection to a broker.
func (o Options) Wrapped(wrap func(net.Conn) net.Conn) Options {
	o.wrap = wrap
	return o
}
