package session

import (
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp"
)

func refuse(t mpp.ProblemType, detail string) *mpp.Problem {
	return &mpp.Problem{Type: t, Detail: detail}
}

// foreignRetryAfter is told to a client while the operator has to find out who else settles.
const foreignRetryAfter = time.Minute

// refuseForeign is the refusal of a channel that somebody else settles with the payee's
// key. It is the payee's fault.
func refuseForeign(id common.Hash) *mpp.Problem {
	return &mpp.Problem{Type: mpp.InternalPaymentError, ChannelID: id, RetryAfter: foreignRetryAfter,
		Detail: "The chain has paid out more on this channel than this server knows of. It is not served until the operator has looked into it; nothing was charged."}
}
