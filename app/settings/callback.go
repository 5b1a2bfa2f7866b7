package settings

import (
	"errors"
	"fmt"

	"txlens/actors/webhook"
	"txlens/transport/client"
)

// Callback says whom a server may tell of the end of a job.
type Callback struct {
	Allow      []string `name:"callback-allow"       placeholder:"ORIGIN" env:"TXLENS_CALLBACK_ALLOW"       sep:"," help:"Origin, such as https://hooks.example.org, that callbackUrl of a job may have; repeatable, or comma-separated. Private addresses are never called."`
	SecretFile string   `name:"callback-secret-file" placeholder:"FILE"   env:"TXLENS_CALLBACK_SECRET_FILE" secret:"no" help:"File with the secret that signs the messages, whsec_ and 24 to 64 bytes in base64; only its owner may read it." type:"path"`
}

// maxCallbackSecret is the largest size of the file in bytes.
const maxCallbackSecret = 256

// Options converts the settings; nil means that no callbacks are sent.
func (f *Callback) Options() (*webhook.Options, error) {
	if len(f.Allow) == 0 {
		if f.SecretFile != "" {
			return nil, InputError{Err: errors.New("--callback-secret-file: name whom to call with --callback-allow, or leave it out")}
		}
		return nil, nil
	}
	o := new(webhook.Options)
	for _, text := range f.Allow {
		origin, err := webhook.ParseOrigin(text)
		if err != nil {
			return nil, InputError{Err: fmt.Errorf("--callback-allow: %q %w", text, err)}
		}
		o.Allow = append(o.Allow, origin)
	}
	if f.SecretFile == "" {
		return nil, InputError{Err: errors.New("--callback-allow needs --callback-secret-file: receivers know messages by their signature")}
	}
	text, err := client.ReadSecret(f.SecretFile, maxCallbackSecret)
	if err == nil {
		o.Secret, err = webhook.ParseSecret(text)
	}
	if err != nil {
		return nil, InputError{Err: fmt.Errorf("--callback-secret-file: %w", err)}
	}
	return o, nil
}
