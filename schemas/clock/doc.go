// Package clock waits.
//
// It answers the question "how long until the next try, unless it is stopped before that?".
// Its one function is what every loop with a pause needs: time.Sleep that ends with a
// context.
package clock
