package job

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const hash = "0x00000000000000000000000000000000000000000000000000000000000000aa"
