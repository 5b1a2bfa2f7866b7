package settings

import (
	"fmt"
	"os"
	"strings"

	"txlens/transport/client"
)

// maxSecret is the largest size of a key in bytes; real ones have less than 200.
const maxSecret = 4096

// Secret returns the key that a variable of the environment or a file holds, empty if there is
// none. flag names the file. No flag holds a key itself: other accounts can read command lines.
func Secret(flag, file, variable string) (string, error) {
	text := os.Getenv(variable)
	if file != "" {
		if text != "" {
			return "", fmt.Errorf("%s: %s holds a key, too; leave one of them away", flag, variable)
		}
		var err error
		if text, err = client.ReadSecret(file, maxSecret); err != nil {
			return "", fmt.Errorf("%s: %w", flag, err)
		}
		if strings.TrimSpace(text) == "" {
			return "", fmt.Errorf("%s: %s is empty", flag, file)
		}
	}
	return strings.TrimSpace(text), nil
}
