package session

import (
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp"
)

func refuse(t mpp.ProblemType, detail string) *mpp.Problem {
	return &mpp.Problem{Type: t, Detail: detail}
}

// foreignRetryAfter is the Retry-After while the operator has to find out who else settles.
const foreignRetryAfter = time.Minute

// refuseForeign rejects a channel that somebody else settles with the payee's key. The
// payer is not at fault.
func refuseForeign(id common.Hash) *mpp.Problem {
	return &mpp.Problem{Type: mpp.InternalPaymentError, ChannelID: id, RetryAfter: foreignRetryAfter,
		Detail: "The chain has paid out more on this channel than this server knows of. It is not served until the operator has looked into it; nothing was charged."}
}
