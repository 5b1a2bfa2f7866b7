package webhook

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"txlens/engine/api"
)

// ParseOrigin reads an origin that an operator allows: scheme and host, with a port where it
// is not the usual one.
func ParseOrigin(text string) (string, error) {
	u, origin, err := parseURL(text)
	if err != nil {
		return "", err
	}
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" {
		return "", fmt.Errorf("want scheme and host alone, such as https://hooks.example.org")
	}
	return origin, nil
}

// parseURL reads an absolute address of HTTP, and its origin.
func parseURL(text string) (u *url.URL, origin string, err error) {
	if len(text) > api.MaxCallback {
		return nil, "", fmt.Errorf("is longer than %d bytes", api.MaxCallback)
	}
	u, err = url.Parse(text)
	switch {
	case err != nil, u.Scheme != "https" && u.Scheme != "http", u.Hostname() == "":
		return nil, "", fmt.Errorf("must be an absolute address that begins with https:// or http://")
	case u.User != nil:
		return nil, "", fmt.Errorf("must not have a user or a password")
	case u.Fragment != "" || strings.ContainsRune(text, '#'):
		return nil, "", fmt.Errorf("must not have a fragment")
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return u, u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port, nil
}

// notPublic are the networks of IPv4 that are not the public internet; see the registry of
// special-purpose addresses of IANA.
var notPublic = func() (list []netip.Prefix) {
	for _, text := range []string{
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
		"192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
		// of IPv6 within 2000::/3: Teredo, ORCHID and benchmarks, documentation, 6to4
		"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
	} {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}()

// globalUnicast is what IPv6 assigns to the public internet.
var globalUnicast = netip.MustParsePrefix("2000::/3")

// public reports whether an address belongs to the public internet.
func public(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsValid() || a.Zone() != "" || a.Is6() && !globalUnicast.Contains(a) {
		return false
	}
	for _, p := range notPublic {
		if p.Contains(a) {
			return false
		}
	}
	return true
}
