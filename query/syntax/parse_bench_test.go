package syntax

import "testing"

func BenchmarkParse(b *testing.B) {
	for name, text := range map[string]string{"term": "kmalloc", "filters": `kmalloc lang:c -file:^drivers/ repo:^github\.com/acme/`, "operators": "(open or close) -kfree not foo case:yes"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Parse(text, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
