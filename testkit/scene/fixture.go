package scene

import (
	"txlens/engine/classify"
	"txlens/engine/facts"
	"txlens/engine/narrate"
)

// Judged is a verdict with its text.
type Judged struct {
	*classify.Verdict
	narrate.Text
	Words narrate.Words
}

func Judge(f *facts.Input) *Judged {
	a := facts.Read(f)
	v := classify.Classify(a)
	return &Judged{v, narrate.Describe(a, v), narrate.NewWords(a)}
}

// ReasonTexts are those why the confidence is not high.
func (j *Judged) ReasonTexts() (list []string) {
	for _, why := range j.Reasons {
		list = append(list, narrate.Sentence(j.Words, why))
	}
	return list
}
