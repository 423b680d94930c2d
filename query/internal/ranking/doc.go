// Package ranking has the weights of the score of a file, which docs/ranking.md explains.
//
// It answers the question "how much is this worth?", for what is known of a document before its
// file is shown (package match), and of the file (package search).
package ranking
