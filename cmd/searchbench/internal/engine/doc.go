// Package engine drives the programs that are measured: one file per program.
//
// It answers: how does this program index, answer a query, take a push?
//
//	quarry.go    quarry serve, quarry index, POST /api/search, signed webhooks
//	stream.go    POST /api/stream_search of quarry
//	zoekt.go     zoekt-git-index, zoekt-webserver -rpc, POST /api/search
//	ripgrep.go   rg over the checkouts
//
// All servers listen on loopback. An Answer is timed from the request to the last byte of the response; it is decoded afterwards, so that the time
// of this program's decoder does not count. The response of a program is bounded by maxResponseBytes.
package engine
