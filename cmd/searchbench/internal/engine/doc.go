// Package engine drives the programs that are measured: one file per program.
//
// It answers: how is this program told to index, to answer a query, to take a push?
//
//	quarry.go    quarry serve, quarry index, POST /api/search, signed webhooks
//	stream.go    POST /api/stream_search of quarry
//	zoekt.go     zoekt-git-index, zoekt-webserver -rpc, POST /api/search
//	ripgrep.go   rg over the checkouts
//
// All servers listen on loopback. An Answer is timed from the request to the last byte of the response; it is decoded afterwards, so that the
// decoder of this program is nobody's cost. What a program answers is bounded by maxResponseBytes.
package engine
