// Package engine drives the measured programs, with one file per program.
//
// It answers: how does this program index, answer a query, handle a push?
//
//	quarry.go    quarry serve, quarry index, POST /api/search, signed webhooks
//	stream.go    POST /api/stream_search of Quarry
//	zoekt.go     zoekt-git-index, zoekt-webserver -rpc, POST /api/search
//	ripgrep.go   rg over the checkouts
//
// All servers listen on loopback. The time of an Answer runs from the request to the last
// byte of the response. The response is decoded afterwards, so that this program's
// decoder does not count. maxResponseBytes bounds a response.
package engine
