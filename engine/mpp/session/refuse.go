package session

import "txlens/engine/mpp"

func refuse(t mpp.ProblemType, detail string) *mpp.Problem {
	return &mpp.Problem{Type: t, Detail: detail}
}
