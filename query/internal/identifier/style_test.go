package identifier

import (
	"strings"
	"testing"
)

func TestAccentVariants(t *testing.T) {
	for word, want := range map[string]string{
		"naive": "näive naíve naivé naïve", "Resume": "résumé résume", "naïve": "naive", "über": "uber", "xyzw": "xýzw xyžw",
		"abc": "", "two_words": "", "TwoWords": "", "kmalloc2": "", "世界世界": "",
	} {
		forms := accentVariants(word)
		for w := range strings.FieldsSeq(want) {
			found := false
			for _, f := range forms {
				found = found || f == w
			}
			if !found {
				t.Errorf("%s: %q is not among %q", word, w, forms)
			}
		}
		if want == "" && len(forms) > 0 || len(forms) > maxAccented {
			t.Errorf("%s: %d forms, %q", word, len(forms), forms)
		}
	}
}
